"""The merges of one word: what the page draws as a tree and lists in order."""

from __future__ import annotations

from dataclasses import dataclass

from piecework.errors import InputError

__all__ = ["LONGEST_WORD", "Step", "WordMerges", "too_long"]

LONGEST_WORD = 400
"""In characters, or in bytes for a byte-level tokenizer."""


@dataclass(frozen=True, slots=True)
class Step:
    """One merge: `left` and `right` become `piece`."""

    left: str
    right: str
    piece: str
    id: int
    rank: int | None
    """The rank of the merge, from 1; None if the pieces are not in the order of training."""
    score: float | None
    frequency: int | None
    """How often training saw the pair when it merged it, if known."""
    first_size: int | None
    """The smallest vocabulary size at which this merge happens in the word; 0 if it happens at every size."""
    left_node: int
    right_node: int
    """The parts that it joins: the index of a leaf, or the number of leaves plus the index of a step."""


@dataclass(frozen=True, slots=True)
class WordMerges:
    """The merges of one word."""

    text: str
    leaves: tuple[str, ...]
    """Its characters, or its bytes for a byte-level tokenizer; ▁ for a space."""
    steps: tuple[Step, ...]
    tokens: tuple[int, ...]
    """The nodes that remain at the end."""


def too_long(length: int) -> InputError:
    """The error for a word that has too many merges to draw."""
    return InputError(f"a word of {length:,} characters or bytes; merges are available for up to {LONGEST_WORD:,}")
