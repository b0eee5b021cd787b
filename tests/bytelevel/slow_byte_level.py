"""A slow and obvious byte-level trainer, as a second oracle: it counts all pairs again before each merge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

import piecework as pw
from piecework.tokenizer.byte_characters import byte_by_character, characters_of_bytes


def slow_train(words: Mapping[str, int], recipe: pw.ByteLevelRecipe) -> list[tuple[str, str]]:
    """The merges, written with characters for bytes. Each word is one pre-token."""
    ids: dict[str, int] = {}
    for text in (*recipe.special_tokens, *sorted(byte_by_character())):
        ids.setdefault(text, len(ids))
    texts = list(ids)
    longest = recipe.max_token_length or 1 << 60
    symbols = {word: [ids[c] for c in characters_of_bytes(word.encode())] for word in words}
    merges: list[tuple[str, str]] = []
    while len(ids) < recipe.vocab_size:
        pairs: Counter[tuple[int, int]] = Counter()
        for word, row in symbols.items():
            for pair in pairwise(row):
                length = len(texts[pair[0]]) + len(texts[pair[1]])
                if length == 2 or length < longest:
                    pairs[pair] += words[word]
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        if pairs[best] < max(recipe.min_frequency, 1):
            break
        left, right = texts[best[0]], texts[best[1]]
        if left + right not in ids:
            ids[left + right] = len(texts)
            texts.append(left + right)
        merges.append((left, right))
        for word, row in symbols.items():
            symbols[word] = _merged(row, best, ids[left + right])
    return merges


def _merged(row: list[int], pair: tuple[int, int], number: int) -> list[int]:
    out: list[int] = []
    at = 0
    while at < len(row):
        if tuple(row[at : at + 2]) == pair:
            out.append(number)
            at += 2
        else:
            out.append(row[at])
            at += 1
    return out
