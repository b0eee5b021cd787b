"""Why a word was cut so: its merges in order, each with what it joined, its rank, and how often training saw it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from piecework.errors import InputError
from piecework.playground.catalogue import NativeTokenizer
from piecework.tokenizer.columns import Column, MergeColumns, merge_columns
from piecework.tokenizer.pieces import SPACE

__all__ = ["Step", "WordMerges", "word_merges"]

LONGEST = 400
WORD = re.compile(f"[ {SPACE}]*[^\\s{SPACE}]+|[ {SPACE}]+|\\s")


@dataclass(frozen=True, slots=True)
class Step:
    """One merge: `left` and `right` become `piece`."""

    left: str
    right: str
    piece: str
    id: int
    rank: int | None
    """The number of the merge, from 1; None where the pieces of the model are in no order of training."""
    score: float
    frequency: int | None
    """How often training saw the pair at that moment, where it is known."""
    first_size: int | None
    """The smallest vocabulary size at which the word is merged so far; 0 where it is so at every size."""
    left_node: int
    right_node: int
    """Which parts it joins: a leaf by its number, or the leaves' count plus the number of the step that made it."""


@dataclass(frozen=True, slots=True)
class WordMerges:
    """How one word came about."""

    text: str
    leaves: tuple[str, ...]
    """Its characters, ▁ for a space."""
    steps: tuple[Step, ...]
    tokens: tuple[int, ...]
    """The parts that are left at the end, as nodes."""


def word_merges(
    shown: NativeTokenizer, text: str, *, at: int, frequencies: Mapping[str, int] | None = None
) -> WordMerges:
    """The merges of the word at this place of a text, with the spaces before it that are encoded together with it.

    >>> import piecework as pw
    >>> tokenizer = pw.train(pw.count_words(["ha hade hade"]), pw.Recipe(vocab_size=12))
    >>> word = word_merges(NativeTokenizer(tokenizer, name="small"), "ha hade", at=4)
    >>> word.leaves, [(step.left, step.right, step.rank) for step in word.steps]
    (('▁', 'h', 'a', 'd', 'e'), [('h', 'a', 1), ('▁', 'ha', 2), ('d', 'e', 3), ('▁ha', 'de', 4)])
    """
    if not 0 <= at < len(text):
        raise InputError(f"place {at:,} lies outside a text of {len(text):,} characters")
    tokenizer = shown.tokenizer
    merges = merge_columns(tokenizer, text)
    start, end = _word_around(text, at)
    prefix = start == 0 and bool(tokenizer.settings().get("add_dummy_prefix", True))
    chosen = np.flatnonzero((merges.starts >= start) & (merges.ends <= end))
    sizes = _first_sizes(shown, merges)

    characters = [SPACE if character in (" ", SPACE) else character for character in text[start:end]]
    leaves = [SPACE, *characters] if prefix else characters
    offset = start - (1 if prefix else 0)
    # Which node starts at a leaf at this moment, and where it ends. The prefix lies at -1, since it has no width.
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
                None if sizes is None else shown.sized().rank(piece.id),
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
    """The word at a place, with the spaces before it.

    >>> [_word_around("ja  nej\\n", place) for place in (1, 2, 6, 7)]
    [(0, 2), (2, 7), (2, 7), (7, 8)]
    """
    found = next(match for match in WORD.finditer(text) if match.end() > at)
    if found.end() - found.start() > LONGEST:
        raise InputError(
            f"a word of {found.end() - found.start():,} characters; merges are shown for up to {LONGEST:,}"
        )
    return found.span()


def _first_sizes(shown: NativeTokenizer, merges: MergeColumns) -> Column | None:
    try:
        return shown.sized().first_sizes(merges)
    except InputError:
        return None
