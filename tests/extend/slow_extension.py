"""Continued BPE, slow and obvious: before each merge all text is encoded again with all pieces so far."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from oracle import Options, _alternatives, _is_valid, _required_characters, encode

BOUNDARY = "\x1f"


def slow_extend(
    scores: Mapping[str, float], other_pieces: Iterable[str], words: Mapping[str, int], *, add: int, **options: Any
) -> list[str]:
    """The new pieces in order. `scores` has the normal pieces. A word in `words` includes its ▁, if it has one."""
    o = Options(**options)
    others = set(other_pieces)
    forms = _forms(words, others)
    texts = [text for text, count in forms.items() for _ in range(count)]
    added = [c for c in _required_characters(texts, o) if c not in scores and c not in others][:add]
    known = dict(scores)
    lowest = min(scores.values())
    unreachable = [piece for piece in scores if len(piece) > 1 and _encode(scores, piece) != [piece]]
    parts = Counter[str]()
    for text, count in forms.items():
        for part in text.split(BOUNDARY):
            parts[part] += count
    while True:
        for rank, piece in enumerate(added):
            known[piece] = lowest - 1 - rank
        if len(added) >= add:
            return added
        pairs: Counter[tuple[str, str]] = Counter()
        for part, count in parts.items():
            for pair in pairwise(_encode(known, part)):
                pairs[pair] += count
        allowed = [
            pair
            for pair in pairs
            if all(each in known and _is_valid(each, o) for each in pair)
            and _is_valid("".join(pair), o)
            and "".join(pair) not in known
            and "".join(pair) not in others
            and not _completes("".join(pair), unreachable, known)
        ]
        if not allowed:
            return added
        added.append("".join(min(allowed, key=lambda pair: (-pairs[pair], len("".join(pair)), "".join(pair)))))


def _forms(words: Mapping[str, int], meta: Iterable[str]) -> Counter[str]:
    pattern = _alternatives(meta)
    forms: Counter[str] = Counter()
    for word, count in words.items():
        forms[re.sub(pattern, BOUNDARY, word)] += count
    return forms


def _encode(scores: Mapping[str, float], text: str) -> list[str]:
    return encode(scores, text, add_dummy_prefix=False, byte_fallback=True)


def _completes(piece: str, unreachable: Sequence[str], known: Mapping[str, float]) -> bool:
    """Whether the piece and a neighbour together spell an old piece that merges could not make before."""
    for old in unreachable:
        rests = [old[len(piece) :]] * old.startswith(piece) + [old[: -len(piece)]] * old.endswith(piece)
        if any(rest and (len(rest) == 1 or rest in known or rest == piece) for rest in rests):
            return True
    return False


Merge = tuple[bytes, bytes]


def slow_extend_bytes(
    tokens: Sequence[bytes],
    merges: Sequence[Merge] | None,
    words: Mapping[bytes, int],
    *,
    add: int,
    cut_out: Iterable[bytes] = (),
    whole: bool = False,
) -> list[Merge]:
    """The new merges of a byte-level tokenizer in order. If `merges` is None, the position of a token is its rank."""
    order = {token: number for number, token in enumerate(tokens) if token}
    cut = set(cut_out)
    unreachable = []
    if merges is None:
        unreachable = [t for t in order if len(t) > 1 and merge_bytes(t, _by_rank(order)) != [t]]
    new: list[Merge] = []
    while len(new) < add:
        rank = _by_rank(order) if merges is None else _by_pair([*merges, *new])
        pairs: Counter[Merge] = Counter()
        for word, count in words.items():
            for part in _parts(word, cut):
                row = [part] if whole and part in order else merge_bytes(part, rank)
                for pair in pairwise(row):
                    pairs[pair] += count
        allowed = [
            (left, right)
            for left, right in pairs
            if left + right not in order
            and left + right not in cut
            and not any(
                rest and (rest in order or rest == left + right)
                for old in unreachable
                for rest in (
                    old[len(left + right) :] if old.startswith(left + right) else b"",
                    old[: -len(left + right)] if old.endswith(left + right) else b"",
                )
            )
        ]
        if not allowed:
            break
        best = min(allowed, key=lambda pair: (-pairs[pair], order[pair[0]], order[pair[1]]))
        order[best[0] + best[1]] = len(tokens) + len(new)
        new.append(best)
    return new


def merge_bytes(word: bytes, rank: Callable[[bytes, bytes], int | None]) -> list[bytes]:
    row = [bytes([byte]) for byte in word]
    while True:
        ranks = [(found, at) for at, pair in enumerate(pairwise(row)) if (found := rank(*pair)) is not None]
        if not ranks:
            return row
        _, at = min(ranks)
        row[at : at + 2] = [row[at] + row[at + 1]]


def _by_rank(order: Mapping[bytes, int]) -> Callable[[bytes, bytes], int | None]:
    return lambda left, right: order.get(left + right)


def _by_pair(merges: Sequence[Merge]) -> Callable[[bytes, bytes], int | None]:
    ranks = {pair: number for number, pair in enumerate(merges)}
    return lambda left, right: ranks.get((left, right))


def _parts(word: bytes, cut_out: Iterable[bytes]) -> list[bytes]:
    """The parts of a pre-token between its special tokens. At each position the longest special token is cut out."""
    parts, start, at = [], 0, 0
    longest_first = sorted(cut_out, key=len, reverse=True)
    while at < len(word):
        found = next((token for token in longest_first if word.startswith(token, at)), None)
        if found is None:
            at += 1
        else:
            parts.append(word[start:at])
            start = at = at + len(found)
    return [part for part in [*parts, word[start:]] if part]
