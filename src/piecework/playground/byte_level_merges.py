"""Why a byte-level tokenizer splits a pre-token as it does: its merges, from bytes to tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from weakref import WeakKeyDictionary

import numpy as np

from piecework.playground.byte_level_cuts import SizedByteLevel
from piecework.playground.merge_steps import LONGEST_WORD, Step, WordMerges, too_long
from piecework.tokenizer.any_tokenizer import readable
from piecework.tokenizer.byte_characters import characters_of_bytes
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.byte_level_reachable import MergeOrder
from piecework.tokenizer.tokens import Column

__all__ = ["pre_token_merges"]

# The tables of a tokenizer, for the words that it looks up as a whole; they take a second for 200,000 tokens.
_ORDERS: WeakKeyDictionary[ByteLevelTokenizer, MergeOrder] = WeakKeyDictionary()
_RANKS: WeakKeyDictionary[ByteLevelTokenizer, Column] = WeakKeyDictionary()


def pre_token_merges(
    tokenizer: ByteLevelTokenizer,
    text: str,
    *,
    at: int,
    sized: SizedByteLevel | None,
    frequencies: Mapping[str, int] | None = None,
) -> WordMerges:
    """The merges of the pre-token at offset `at` of a text. `sized` gives the smallest size with each merge.

    >>> import piecework as pw
    >>> counts = pw.count_pre_tokens(["på på på och"], pre_tokenizer="gpt2")
    >>> tokenizer = pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=259, special_tokens=[]))
    >>> word = pre_token_merges(tokenizer, "och på", at=4, sized=SizedByteLevel(tokenizer))
    >>> word.leaves, [(step.left, step.right, step.piece, step.first_size) for step in word.steps][:1]
    (('▁', 'p', '<0xC3>', '<0xA5>'), [('p', '<0xC3>', '<0x70><0xC3>', 257)])
    """
    part, token_id = _part_at(tokenizer, text, at)
    if token_id is not None:
        return WordMerges(part, (part,), (), (0,))
    data = part.encode()
    if len(data) > LONGEST_WORD:
        raise too_long(len(data))
    node_at = {i: (i, i + 1) for i in range(len(data))}  # the node that starts at each byte now, and its end
    tokens = tokenizer.model.tokens
    steps: list[Step] = []
    for begin, middle, end, rank, from_merges, made in _merges(tokenizer, data):
        left, right = node_at[begin][0], node_at.pop(middle)[0]
        node_at[begin] = (len(data) + len(steps), end)
        parts = data[begin:middle], data[middle:end]
        pair = " ".join(map(characters_of_bytes, parts))
        steps.append(
            Step(
                readable(parts[0]),
                readable(parts[1]),
                readable(tokens[made] or data[begin:end]),
                made,
                _training_rank(tokenizer, rank),
                None,
                frequencies.get(pair) if frequencies else None,
                None if sized is None else sized.first_size(from_merges),
                left,
                right,
            )
        )
    leaves = tuple(readable(data[i : i + 1]) for i in range(len(data)))
    return WordMerges(part, leaves, tuple(steps), tuple(node for _, (node, _) in sorted(node_at.items())))


def _part_at(tokenizer: ByteLevelTokenizer, text: str, at: int) -> tuple[str, int | None]:
    end = 0
    for part, token_id in tokenizer.pre_tokens(text):
        end += len(part)
        if end > at:
            return part, token_id
    raise AssertionError("pre-tokens cover the text")


def _merges(tokenizer: ByteLevelTokenizer, data: bytes) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Begin, middle, end, rank, number of merges with which it happens, and id, in order."""
    found = tokenizer._encoder.merges(data)
    if found or len(data) == 1:
        yield from found
        return
    # A pre-token that is a token is looked up as a whole. It has the merges that its bytes alone would have.
    if tokenizer not in _ORDERS:
        _ORDERS[tokenizer] = MergeOrder(tokenizer.model)
    token_ends = [*range(1, len(data) + 1)]
    highest = 0
    merges = list(_ORDERS[tokenizer].merges(data))
    if not merges or tokenizer.model.tokens[merges[-1][2][2]] != data:
        return
    for rank, left, (_, _, made) in merges:
        highest = max(highest, rank + 1)
        begin = token_ends[left - 1] if left else 0
        yield begin, token_ends[left], token_ends[left + 1], rank, highest, made
        del token_ends[left]


def _training_rank(tokenizer: ByteLevelTokenizer, rank: int) -> int:
    """The rank of a merge, from 1. Without a list of merges, the rank is an id, and single bytes do not count."""
    if tokenizer.model.merges is not None:
        return rank + 1
    if tokenizer not in _RANKS:
        _RANKS[tokenizer] = np.cumsum([len(token) > 1 for token in tokenizer.model.tokens])
    return int(_RANKS[tokenizer][rank])
