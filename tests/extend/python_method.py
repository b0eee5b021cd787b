"""Continued BPE as published tools do it in Python: counts of pairs that are updated at each merge, and a queue.

The method is that of "Teaching Old Tokenizers New Words" (arXiv 2512.03989): tokens of the old tokenizer are the
symbols, and the most frequent pair is merged. Written from its description, with the order of ties of Piecework.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

Pair = tuple[int, int]


def continued_bpe(
    rows: Mapping[tuple[int, ...], int], tokens: Sequence[bytes], *, add: int, taken: Iterable[bytes] = ()
) -> list[Pair]:
    """The new merges; ids of new tokens follow the old ones. `rows` are encoded words with their counts."""
    texts = list(tokens)
    known = {*texts, *taken}
    words = [list(row) for row in rows]
    counts = list(rows.values())
    pairs: Counter[Pair] = Counter()
    where: defaultdict[Pair, set[int]] = defaultdict(set)
    for number, word in enumerate(words):
        for pair in pairwise(word):
            pairs[pair] += counts[number]
            where[pair].add(number)
    queue = [(-count, pair) for pair, count in pairs.items()]
    heapq.heapify(queue)
    merges: list[Pair] = []
    while queue and len(merges) < add:
        count, pair = heapq.heappop(queue)
        if pairs[pair] != -count:
            if pairs[pair] > 0:
                heapq.heappush(queue, (-pairs[pair], pair))
            continue
        text = texts[pair[0]] + texts[pair[1]]
        if not count or text in known:
            continue
        known.add(text)
        merged = len(texts)
        texts.append(text)
        merges.append(pair)
        touched: set[Pair] = set()
        for number in where.pop(pair):
            word = words[number]
            for old in pairwise(word):
                pairs[old] -= counts[number]
            words[number] = word = _merged(word, pair, merged)
            for new in pairwise(word):
                pairs[new] += counts[number]
                if merged in new:
                    where[new].add(number)
                    touched.add(new)
        for new in touched:
            heapq.heappush(queue, (-pairs[new], new))
    return merges


def _merged(word: list[int], pair: Pair, merged: int) -> list[int]:
    out: list[int] = []
    at = 0
    while at < len(word):
        if at + 1 < len(word) and (word[at], word[at + 1]) == pair:
            out.append(merged)
            at += 2
        else:
            out.append(word[at])
            at += 1
    return out


def encoded_rows(encoded: Iterable[Sequence[int]], counts: Iterable[int]) -> Counter[tuple[int, ...]]:
    """Encoded words with their counts. Words of one token are left out."""
    rows: Counter[tuple[int, ...]] = Counter()
    for ids, count in zip(encoded, counts, strict=True):
        if len(ids) > 1:
            rows[tuple(ids)] += count
    return rows
