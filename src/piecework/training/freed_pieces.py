"""Which old pieces can give their ids to new ones: the least used, of those that no kept merge needs."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence

import orjson

from piecework.errors import InputError, ModelError
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["freed_pieces"]

Merge = tuple[int, int, int]


def freed_pieces(
    tokenizer: Tokenizer | ByteLevelTokenizer, usage: Sequence[int], *, count: int, keep: Collection[int]
) -> list[int]:
    """The ids of `count` pieces to drop, apart from those in `keep`; `usage` has how often each is a token.

    If the last merges of a vocabulary are dropped, all others stay reachable: a piece that is a part of no kept merge
    is not needed to make a kept piece.
    """
    if not count:
        return []
    if isinstance(tokenizer, ByteLevelTokenizer):
        merges, candidates = _byte_level(tokenizer)
    else:
        merges, candidates = _words(tokenizer)
    found = _least_used(merges, {number: int(usage[number]) for number in candidates if number not in keep}, count)
    if len(found) < count:
        raise InputError(f"only {len(found):,} old pieces can be replaced, not {count:,}; add fewer")
    return sorted(found)


def _least_used(merges: Iterable[Merge], usage: Mapping[int, int], count: int) -> list[int]:
    """The candidates that go, one by one: always the least used that no remaining merge needs.

    >>> _least_used([(0, 1, 10), (10, 1, 11), (0, 0, 12)], {10: 1, 11: 5, 12: 3}, 3)
    [12, 11, 10]
    """
    made_from: dict[int, list[tuple[int, int]]] = {}
    needed: dict[int, int] = {}
    for left, right, merged in merges:
        made_from.setdefault(merged, []).append((left, right))
        for part in (left, right):
            needed[part] = needed.get(part, 0) + 1
    # Of equally used ones the last id goes first.
    free = [(used, -number) for number, used in usage.items() if not needed.get(number)]
    heapq.heapify(free)
    gone: list[int] = []
    while free and len(gone) < count:
        number = -heapq.heappop(free)[1]
        gone.append(number)
        for pair in made_from.get(number, ()):
            for part in pair:
                needed[part] -= 1
                if not needed[part] and part in usage and part != number:
                    heapq.heappush(free, (usage[part], -part))
    return gone


def _words(tokenizer: Tokenizer) -> tuple[list[Merge], list[int]]:
    ids = tokenizer._ids
    pairs: list[list[str]] = orjson.loads(tokenizer._encoder.merges_json())
    # A part that is a character need not be a piece.
    merges = [(ids.get(left, -1), ids.get(right, -1), ids[left + right]) for left, right in pairs]
    candidates = [
        piece.id
        for piece in tokenizer.pieces
        if piece.type == "normal" and len(piece.text) > 1 and piece.text.strip(SPACE)
    ]
    return merges, candidates


def _byte_level(tokenizer: ByteLevelTokenizer) -> tuple[list[Merge], list[int]]:
    model = tokenizer.model
    if model.merges is None:
        raise ModelError(
            "old tokens cannot be replaced where an id is a rank: a new token with a low id would come before old ones;"
            " extend a tokenizer.json of it, or add tokens without replacing"
        )
    special = {*model.special_tokens.values(), *model.added_tokens.values()}
    candidates = [number for number, token in enumerate(model.tokens) if len(token) > 1 and number not in special]
    return list(model.merges), candidates
