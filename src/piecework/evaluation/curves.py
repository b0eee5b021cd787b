"""Every vocabulary size at once: the sizes of a tokenizer, and the curve of a metric over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args
from weakref import WeakKeyDictionary

import numpy as np

from piecework.common.terms import RunOrder
from piecework.errors import InputError
from piecework.evaluation.metrics import Array, Metric, divide
from piecework.evaluation.piece_columns import PieceColumns, piece_columns
from piecework.evaluation.tables import Table
from piecework.tokenizer import assembly
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.schema import NORMAL
from piecework.tokenizer.tokenizer import Tokenizer
from piecework.tokenizer.trained import TrainedTokenizer

__all__ = ["Curve", "Sizes", "is_smaller_size"]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The vocabulary sizes of a tokenizer: with no merge, with one, … with all; and the requested ones."""

    merges: list[int]
    """The ids of the pieces that merges make, in order."""
    smallest: int
    """The vocabulary size without any merge: special pieces, bytes, characters, whitespace runs."""
    wanted: list[int]
    """The requested vocabulary sizes."""
    merge_counts: Array
    """The number of merges at each size, from the smallest on. A byte-level tokenizer has more merges than pieces where
    a merge spells a special token."""

    @classmethod
    def of(cls, tokenizer: TrainedTokenizer, wanted: Sequence[int] = (), *, name: str = "the tokenizer") -> Sizes:
        """The sizes of a tokenizer. An InputError says why a smaller or a requested size does not exist.

        >>> import piecework as pw
        >>> tokenizer = pw.train(pw.count_words(["a rose is a rose"]), pw.Recipe(vocab_size=14))
        >>> sizes = Sizes.of(tokenizer, [12])
        >>> sizes.smallest, len(sizes.merges)
        (10, 4)
        >>> Sizes.of(tokenizer, [20], name="roses")
        Traceback (most recent call last):
        piecework.errors.InputError: size 20 of "roses": its vocabulary has 14 pieces; choose sizes from 10 to 14
        """
        merges = _merges(tokenizer, name=name)
        smallest = tokenizer.vocab_size - len(merges.ids)
        for size in wanted:
            if size > tokenizer.vocab_size or size < smallest:
                what = (
                    f"its vocabulary has {tokenizer.vocab_size:,} pieces"
                    if size > tokenizer.vocab_size
                    else f"special pieces, bytes, characters and whitespace runs alone take {smallest:,}"
                )
                raise InputError(
                    f'size {size:,} of "{name}": {what}; choose sizes from {smallest:,} to {tokenizer.vocab_size:,}'
                )
        if not merges.in_order:
            raise InputError(
                f'"{name}" has no smaller sizes: its pieces are not in the order of training,'
                " so the first ones do not make a smaller vocabulary"
            )
        return cls(merges.ids, smallest, sorted(set(wanted)), merges.counts)

    @property
    def vocab_sizes(self) -> Array:
        """Every size, from the smallest to the full vocabulary."""
        return np.arange(self.smallest, self.smallest + len(self.merges) + 1)

    @property
    def wanted_merges(self) -> list[int]:
        """The number of merges at each requested size."""
        return [int(self.merge_counts[size - self.smallest]) for size in self.wanted]

    @property
    def all_merges(self) -> list[int]:
        """A piece for each merge. For byte-level tokenizers the core asks only for their number."""
        return [*self.merges, *([0] * (int(self.merge_counts[-1]) - len(self.merges)))]


@dataclass(frozen=True, slots=True)
class _Merges:
    ids: list[int]
    in_order: bool
    counts: Array


# Cached: it reads the whole model, and a comparison asks for it once per other tokenizer.
_MERGES: WeakKeyDictionary[TrainedTokenizer, _Merges] = WeakKeyDictionary()


def _merges(tokenizer: TrainedTokenizer, *, name: str) -> _Merges:
    if isinstance(tokenizer, ByteLevelTokenizer):
        return _byte_level_merges(tokenizer, name=name)
    if tokenizer not in _MERGES and tokenizer.extended_from is not None:
        _MERGES[tokenizer] = _new_merges(tokenizer, tokenizer.extended_from)
    if tokenizer not in _MERGES:
        columns = piece_columns(tokenizer)
        in_order = _in_order(columns, np.array(tokenizer._vocabulary.scores))
        ids = np.flatnonzero(columns.are("regular")).tolist()
        _MERGES[tokenizer] = _Merges(ids, in_order, np.arange(len(ids) + 1))
    return _MERGES[tokenizer]


def _byte_level_merges(tokenizer: ByteLevelTokenizer, *, name: str) -> _Merges:
    """The merges, if special tokens and bytes come first and every merge makes the next id or one that exists."""
    counts = tokenizer.merge_counts
    if counts is None:
        raise InputError(f'"{name}" has no smaller sizes: its ids are not in the order of training')
    smallest = tokenizer.vocab_size - len(counts) + 1
    return _Merges(list(range(smallest, tokenizer.vocab_size)), True, np.array(counts))


def _new_merges(tokenizer: Tokenizer, base_size: int) -> _Merges:
    """The merges of an extension. Every size has the new characters, and the pieces before new runs of ▁."""
    texts, scores = tokenizer._texts, np.array(tokenizer._vocabulary.scores)
    new = range(base_size, tokenizer.vocab_size)
    # The core assumes that every size has the same whitespace runs.
    fixed = [number for number in new if len(texts[number]) == 1 or not texts[number].strip(SPACE)]
    first = max(fixed, default=base_size - 1) + 1
    ids = list(range(first, tokenizer.vocab_size))
    old = scores[:base_size][np.frombuffer(tokenizer._vocabulary.types, np.uint8)[:base_size] == NORMAL]
    falling = bool((np.diff(scores[base_size:]) < 0).all())
    in_order = falling and (not ids or not len(old) or bool(scores[first] < old.min()))
    return _Merges(ids, in_order, np.arange(len(ids) + 1))


def _in_order(columns: PieceColumns, scores: Array) -> bool:
    """Whether pieces and scores are in the order of training, so that the first merges make a smaller vocabulary.

    Whitespace runs come last. Resizing such a vocabulary to its own size changes nothing.
    """
    merges, characters, runs = (np.flatnonzero(columns.are(group)) for group in ("regular", "character", "whitespace"))
    learned = np.concatenate([merges, characters])
    given = list(zip(columns.texts.take(runs).to_pylist(), scores[runs].tolist(), strict=True))
    fitting = [assembly.whitespace_runs(order, first_score=-len(learned)) for order in get_args(RunOrder)]
    return (
        bool((np.diff(np.concatenate([learned, runs])) > 0).all())
        and np.array_equal(scores[learned], -np.arange(len(learned), dtype=float))
        and given in ([], *fitting)
    )


def is_smaller_size(small: TrainedTokenizer, large: TrainedTokenizer) -> bool:
    """Whether resizing `large` gives `small`. Then the pass of `large` gives the result of both.

    Not used for byte-level and for extended tokenizers: each size has a pass of its own.

    >>> import piecework as pw
    >>> large = pw.train(pw.count_words(["a rose is a rose"]), pw.Recipe(vocab_size=14))
    >>> other = pw.train(pw.count_words(["bab bab"]), pw.Recipe(vocab_size=8))
    >>> is_smaller_size(large.resize(12), large), is_smaller_size(other, large)
    (True, False)
    """
    if small.vocab_size >= large.vocab_size or isinstance(small, ByteLevelTokenizer):
        return False
    if isinstance(large, ByteLevelTokenizer) or large.extended_from is not None:
        return False
    merges = _merges(large, name="")
    kept = small.vocab_size - large.vocab_size + len(merges.ids)
    if kept < 0 or not merges.ids or not merges.in_order:
        return False
    if small._resized_from is not None and small._resized_from() is large:
        return True
    # Different tokenizers nearly always differ in the first pieces.
    few = merges.ids[0] + min(kept, 100)
    if small._texts[:few] != large._texts[:few]:
        return False
    try:
        return large.resize(small.vocab_size).model_bytes == small.model_bytes
    except InputError:  # symbols that were added at the end leave no room at that size
        return False


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A metric at every vocabulary size of a tokenizer: exact values, with numerators and denominators."""

    metric: Metric
    vocab_sizes: Array
    numerators: Array
    denominators: Array

    @property
    def values(self) -> Array:
        """The metric at each of `vocab_sizes`; NaN without text."""
        return divide(self.numerators, self.denominators)

    def at(self, vocab_size: int) -> float:
        """The metric at one size."""
        first, last = int(self.vocab_sizes[0]), int(self.vocab_sizes[-1])
        if not first <= vocab_size <= last:
            raise InputError(f"size {vocab_size:,}: the curve goes from {first:,} to {last:,}")
        return float(self.values[vocab_size - first])

    def gains(self, pieces: int = 1000) -> Array:
        """How much the metric improves with `pieces` more pieces, for each of `vocab_sizes[:-pieces]`.

        The metric's direction says what an improvement is; without a direction, the gain is the increase.
        """
        if pieces < 1:
            raise InputError(f"pieces must be 1 or more, not {pieces}")
        rise = self.values[pieces:] - self.values[:-pieces]
        return -rise if self.metric.direction == "lower" else rise

    def table(self, step: int = 1000) -> Table:
        """The curve at each multiple of `step` and at both ends, with the gain of `step` more pieces."""
        sizes, values = self.vocab_sizes, self.values
        gains = np.full(len(sizes), np.nan)
        gains[: max(len(sizes) - step, 0)] = self.gains(step)
        listed = np.flatnonzero((sizes % step == 0) | (sizes == sizes[0]) | (sizes == sizes[-1]))
        rows = (
            (
                int(sizes[i]),
                _or_none(values[i]),
                _or_none(gains[i]),
                float(self.numerators[i]),
                float(self.denominators[i]),
            )
            for i in listed
        )
        names = ["vocab_size", "value", f"gain_of_{step}", "numerator", "denominator"]
        return Table.of(names, rows, title=f"{self.metric.title} by vocabulary size")


def _or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
