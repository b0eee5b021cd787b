"""Why a word is split as it is: its merges in order, each with its parts, its rank and its frequency in training."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from piecework.errors import InputError
from piecework.playground.byte_level_merges import pre_token_merges
from piecework.playground.catalogue import NativeTokenizer
from piecework.playground.cuts import SizedTokenizer
from piecework.playground.merge_steps import LONGEST_WORD, Step, WordMerges, too_long
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.columns import MergeColumns, merge_columns
from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.tokens import Column

__all__ = ["word_merges"]

WORD = re.compile(f"[ {SPACE}]*[^\\s{SPACE}]+|[ {SPACE}]+|\\s")


def word_merges(
    lane_tokenizer: NativeTokenizer, text: str, *, at: int, frequencies: Mapping[str, int] | None = None
) -> WordMerges:
    """The merges of the word at offset `at` of a text, with the spaces before it, which are encoded together with it.

    >>> import piecework as pw
    >>> tokenizer = pw.train(pw.count_words(["ha hade hade"]), pw.Recipe(vocab_size=12))
    >>> word = word_merges(NativeTokenizer(tokenizer, name="small"), "ha hade", at=4)
    >>> word.leaves, [(step.left, step.right, step.rank) for step in word.steps]
    (('▁', 'h', 'a', 'd', 'e'), [('h', 'a', 1), ('▁', 'ha', 2), ('d', 'e', 3), ('▁ha', 'de', 4)])
    """
    if not 0 <= at < len(text):
        raise InputError(f"offset {at:,} is outside a text of {len(text):,} characters")
    tokenizer = lane_tokenizer.tokenizer
    if isinstance(tokenizer, ByteLevelTokenizer):
        sized = lane_tokenizer.sized() if lane_tokenizer.smallest is not None else None
        assert not isinstance(sized, SizedTokenizer)
        return pre_token_merges(tokenizer, text, at=at, sized=sized, frequencies=frequencies)
    merges = merge_columns(tokenizer, text)
    start, end = _word_around(text, at)
    prefix = start == 0 and bool(tokenizer.settings().get("add_dummy_prefix", True))
    chosen = np.flatnonzero((merges.starts >= start) & (merges.ends <= end))
    sizes = _first_sizes(lane_tokenizer, merges)

    characters = [SPACE if character in (" ", SPACE) else character for character in text[start:end]]
    leaves = [SPACE, *characters] if prefix else characters
    offset = start - (1 if prefix else 0)
    # The node that starts at each leaf now, and its end. The prefix is at -1, since it has no width.
    node_at = {i: (i, i + 1) for i in range(len(leaves))}
    steps: list[Step] = []
    texts = list(leaves)
    for i in chosen.tolist():
        middle = int(merges.middles[i]) - offset
        last = int(merges.ends[i]) - offset
        first = next(leaf for leaf, (_, stop) in node_at.items() if stop == middle)
        left, right = node_at[first][0], node_at.pop(middle)[0]
        node_at[first] = (len(leaves) + len(steps), last)
        piece = tokenizer.pieces[int(merges.pieces[i])]
        steps.append(
            Step(
                texts[left],
                texts[right],
                piece.text,
                piece.id,
                None if sizes is None else lane_tokenizer.sized().rank(piece.id),
                piece.score,
                frequencies.get(piece.text) if frequencies else None,
                None if sizes is None else int(sizes[i]),
                left,
                right,
            )
        )
        texts.append(piece.text)
    tokens = tuple(node for _, (node, _) in sorted(node_at.items()))
    return WordMerges(text[start:end], tuple(leaves), tuple(steps), tokens)


def _word_around(text: str, at: int) -> tuple[int, int]:
    """The start and end of the word at an offset, with the spaces before it.

    >>> [_word_around("ja  nej\\n", at) for at in (1, 2, 6, 7)]
    [(0, 2), (2, 7), (2, 7), (7, 8)]
    """
    found = next(match for match in WORD.finditer(text) if match.end() > at)
    if found.end() - found.start() > LONGEST_WORD:
        raise too_long(found.end() - found.start())
    return found.span()


def _first_sizes(tokenizer: NativeTokenizer, merges: MergeColumns) -> Column | None:
    try:
        sized = tokenizer.sized()
        return sized.first_sizes(merges) if isinstance(sized, SizedTokenizer) else None
    except InputError:
        return None
