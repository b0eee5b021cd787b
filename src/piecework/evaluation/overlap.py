"""The overlap of vocabularies: at full size, and at every size of one of them.

Only the pieces that training learns are compared: merges and characters. The recipe puts special pieces, user symbols,
bytes and whitespace runs into every vocabulary, so sharing them means nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa

from piecework.errors import InputError
from piecework.evaluation.curves import Sizes
from piecework.evaluation.evaluate import Tokenizers, named_tokenizers
from piecework.evaluation.evaluation import Evaluation
from piecework.evaluation.metrics import Array, divide
from piecework.evaluation.piece_columns import piece_columns
from piecework.evaluation.tables import Table
from piecework.tokenizer.trained import TrainedTokenizer

__all__ = ["OverlapCurve", "Overlaps", "overlap_curve", "vocabulary_overlap"]


def vocabulary_overlap(tokenizers: Tokenizers, *, evaluation: Evaluation | None = None) -> Table:
    """The overlap of every two vocabularies, in both directions.

    `shared` is the number of pieces in both, `relative` is `shared` / pieces of the first, `jaccard` is `shared` /
    pieces in either. `weighted` needs an evaluation: the share of the first tokenizer's tokens whose piece is also in
    the second. It is counted on the text of the language that the first tokenizer is named after, or on all text if
    there is no such language. Only tokens of learned pieces are counted, so bytes are not.

    >>> import piecework as pw
    >>> train = lambda text: pw.train(pw.count_words([text]), pw.Recipe(vocab_size=15, hard_vocab_limit=False))
    >>> table = vocabulary_overlap({"sv": train("en hund en hund"), "da": train("en hund og en kat")})
    >>> [(row["first"], row["shared"], row["first_pieces"]) for row in table.rows()]
    [('sv', 7, 12), ('da', 7, 12)]
    """
    return Overlaps(named_tokenizers(tokenizers), evaluation=evaluation).table()


class Overlaps:
    """The overlaps of a set of tokenizers. Their pieces are numbered once, so that each overlap is quick."""

    def __init__(self, tokenizers: Mapping[str, TrainedTokenizer], *, evaluation: Evaluation | None = None) -> None:
        self._tokenizers = tokenizers
        self._evaluation = evaluation
        self._learned = dict(zip(tokenizers, _learned(tokenizers.values()), strict=True))

    def table(self) -> Table:
        """The table of `vocabulary_overlap`."""
        uses: dict[str, Array] = {}
        if self._evaluation is not None:
            uses = {name: _use(name, self._evaluation)[learned.ids] for name, learned in self._learned.items()}
        has = {name: learned.has() for name, learned in self._learned.items()}
        rows = []
        for first, second in permutations(self._learned, 2):
            is_shared = has[second][self._learned[first].numbers]
            shared = int(np.count_nonzero(is_shared))
            pieces = [len(self._learned[name]) for name in (first, second)]
            either = sum(pieces) - shared
            rows.append(
                (
                    first,
                    second,
                    *pieces,
                    shared,
                    shared / pieces[0] if pieces[0] else None,
                    shared / either if either else None,
                    _weighted(uses[first], is_shared) if uses else None,
                )
            )
        names = ["first", "second", "first_pieces", "second_pieces", "shared", "relative", "jaccard", "weighted"]
        return Table.of(names, rows, title="Vocabulary overlap", types={name: pa.float64() for name in names[5:]})

    def curve(self, name: str, other: str) -> OverlapCurve:
        """The curve of `overlap_curve` for two of the tokenizers."""
        use = None if self._evaluation is None else _use(other, self._evaluation)
        learned, others = self._learned[name], self._learned[other]
        return _curve(self._tokenizers[name], self._tokenizers[other], learned, others, use)


@dataclass(frozen=True, slots=True, eq=False)
class OverlapCurve:
    """The overlap of a tokenizer, at each of its sizes, with another tokenizer."""

    vocab_sizes: Array
    pieces: Array
    """Learned pieces at each size."""
    other_pieces: int
    """Learned pieces of the other tokenizer, at its full size."""
    shared: Array
    """Pieces that are also in the other, at its full size."""
    weighted: Array | None
    """The share of the other's tokens on its text whose piece is in both; None without an evaluation."""
    shared_at_equal_size: Array | None
    """Pieces that are also in the other at the same size; NaN where the other has no such size."""

    @property
    def relative(self) -> Array:
        """Shared pieces / pieces of the tokenizer."""
        return divide(self.shared, self.pieces)

    @property
    def relative_to_other(self) -> Array:
        """Shared pieces / pieces of the other."""
        return divide(self.shared, np.full(len(self.shared), self.other_pieces))

    @property
    def jaccard(self) -> Array:
        """Shared pieces / pieces in either."""
        return divide(self.shared, self.pieces + self.other_pieces - self.shared)

    def table(self, step: int = 1000) -> Table:
        """The curve at each multiple of `step`, and at both ends."""
        sizes = self.vocab_sizes
        listed = np.flatnonzero((sizes % step == 0) | (sizes == sizes[0]) | (sizes == sizes[-1]))
        columns = {
            "vocab_size": sizes,
            "pieces": self.pieces,
            "shared": self.shared,
            "relative": self.relative,
            "relative_to_other": self.relative_to_other,
            "jaccard": self.jaccard,
        }
        if self.weighted is not None:
            columns["weighted"] = self.weighted
        return Table.of(columns, zip(*(column[listed].tolist() for column in columns.values()), strict=True))


def overlap_curve(
    tokenizer: TrainedTokenizer,
    other: TrainedTokenizer,
    *,
    evaluation: Evaluation | None = None,
    other_name: str | None = None,
) -> OverlapCurve:
    """The overlap of `tokenizer`, at each of its sizes, with `other`: one pass over the merges gives all sizes.

    With an evaluation, `other_name` is the name of the other tokenizer in it.
    """
    use = None
    if evaluation is not None:
        if other_name is None:
            raise InputError("overlap_curve(..., evaluation=...) also needs other_name, the other's name in it")
        use = _use(other_name, evaluation)
    learned, others = _learned([tokenizer, other])
    return _curve(tokenizer, other, learned, others, use)


def _curve(
    tokenizer: TrainedTokenizer, other: TrainedTokenizer, learned: _Learned, others: _Learned, use: Array | None
) -> OverlapCurve:
    """`use` is how often each piece of the other is a token, or None."""
    sizes = Sizes.of(tokenizer)
    # In the order in which pieces enter the vocabulary: the id of the same piece in the other, or -1.
    characters = len(learned) - len(sizes.merges)
    id_of = np.full(others.numbered, -1)
    id_of[others.numbers] = others.ids
    ids = id_of[learned.numbers]
    is_shared = ids >= 0
    weighted = None
    if use is not None:
        steps = np.where(is_shared, use[ids], 0)
        weighted = divide(_totals(steps, characters), np.asarray(use[others.ids].sum()))
    return OverlapCurve(
        vocab_sizes=sizes.vocab_sizes,
        pieces=np.arange(characters, len(ids) + 1),
        other_pieces=len(others),
        shared=_totals(is_shared.astype(int), characters),
        weighted=weighted,
        shared_at_equal_size=_at_equal_size(sizes, ids, other, others.ids),
    )


def _totals(steps: Array, start: int) -> Array:
    """The sum of the first `start` steps, and after each further step."""
    return np.cumsum(np.pad(steps, (1, 0)))[start:]


def _at_equal_size(sizes: Sizes, ids: Array, other: TrainedTokenizer, others_ids: Array) -> Array | None:
    """`ids` are the same pieces in the other, or -1. In both, merges come after characters."""
    try:
        others = Sizes.of(other)
    except InputError:
        return None
    # A piece is in the vocabulary from the size of its merge on; a character is in every size.
    points = len(sizes.vocab_sizes)
    since = sizes.smallest + np.maximum(np.arange(points - len(ids), points), 0)
    merges = len(others.merges)
    others_since = np.full(other.vocab_size, others.smallest)
    others_since[others_ids[len(others_ids) - merges :]] += np.arange(1, merges + 1)
    both = np.maximum(since, others_since[ids])[ids >= 0]
    arrivals = np.bincount(both - sizes.smallest, minlength=points)
    shared = np.cumsum(arrivals)[:points].astype(float)
    shared[(sizes.vocab_sizes < others.smallest) | (sizes.vocab_sizes > other.vocab_size)] = np.nan
    return shared


@dataclass(frozen=True, slots=True, eq=False)
class _Learned:
    """The pieces that training learns: characters first, then merges in order."""

    ids: Array
    numbers: Array
    """The number of each piece. Equal pieces of different vocabularies have equal numbers."""
    numbered: int
    """The number of distinct pieces in all compared vocabularies."""

    def __len__(self) -> int:
        return len(self.ids)

    def has(self) -> Array:
        """For each number, whether the vocabulary has that piece."""
        there = np.zeros(self.numbered, bool)
        there[self.numbers] = True
        return there


def _learned(tokenizers: Iterable[TrainedTokenizer]) -> list[_Learned]:
    columns = list(map(piece_columns, tokenizers))
    ids = [np.concatenate([np.flatnonzero(each.are(group)) for group in ("character", "regular")]) for each in columns]
    texts: Any = pa.concat_arrays([each.texts.take(chosen) for each, chosen in zip(columns, ids, strict=True)])
    encoded = texts.dictionary_encode()
    numbers = np.split(np.from_dlpack(encoded.indices).astype(int), np.cumsum(list(map(len, ids)))[:-1])
    return [_Learned(*each, len(encoded.dictionary)) for each in zip(ids, numbers, strict=True)]


def _use(name: str, evaluation: Evaluation) -> Array:
    """How often each piece is a token, on the text of the language of that name, or on all text."""
    frequencies = evaluation.frequency_array(name)
    rows = [evaluation.groups.index(name)] if name in evaluation.groups else slice(None)
    return np.asarray(frequencies[rows].sum(axis=0))


def _weighted(use: Array, has: Array) -> float | None:
    total = int(use.sum())
    return int(use @ has) / total if total else None
