"""How much of their vocabularies tokenizers share, at their full sizes and at every size of one of them.

Compared are the pieces that training learns: merges and characters. Special pieces, symbols, bytes and whitespace runs
are put in by the recipe, so sharing them says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from piecework.errors import InputError
from piecework.evaluation.curves import Sizes
from piecework.evaluation.evaluate import Tokenizers, named_tokenizers
from piecework.evaluation.evaluation import Evaluation
from piecework.evaluation.metrics import Array, divide
from piecework.evaluation.piece_columns import piece_columns
from piecework.evaluation.tables import Table
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["OverlapCurve", "Overlaps", "overlap_curve", "vocabulary_overlap"]


def vocabulary_overlap(tokenizers: Tokenizers, *, evaluation: Evaluation | None = None) -> Table:
    """The overlap of every two vocabularies, once from each side.

    `shared` is the number of pieces in both, `relative` their share of the first one's pieces, `jaccard` their share of
    the pieces in either. `weighted`, with an evaluation, is the share of the first one's tokens whose piece is in the
    second too: on the text of the language that the first tokenizer is called after, else on all text. Bytes and other
    pieces that were not learnt are not among these tokens.

    >>> import piecework as pw
    >>> train = lambda text: pw.train(pw.count_words([text]), pw.Recipe(vocab_size=15, hard_vocab_limit=False))
    >>> table = vocabulary_overlap({"sv": train("en hund en hund"), "da": train("en hund og en kat")})
    >>> [(row["first"], row["shared"], row["first_pieces"]) for row in table.rows()]
    [('sv', 7, 12), ('da', 7, 12)]
    """
    return Overlaps(named_tokenizers(tokenizers), evaluation=evaluation).table()


class Overlaps:
    """Vocabularies whose pieces were numbered together once, for whatever is asked about any two of them."""

    def __init__(self, tokenizers: Mapping[str, Tokenizer], *, evaluation: Evaluation | None = None) -> None:
        self._tokenizers = tokenizers
        self._evaluation = evaluation
        self._learnt = dict(zip(tokenizers, _learnt(tokenizers.values()), strict=True))

    def table(self) -> Table:
        """What `vocabulary_overlap` gives."""
        import pyarrow as pa

        uses: dict[str, Array] = {}
        if self._evaluation is not None:
            uses = {name: _use(name, self._evaluation)[learnt.ids] for name, learnt in self._learnt.items()}
        has = {name: learnt.has() for name, learnt in self._learnt.items()}
        rows = []
        for first, second in permutations(self._learnt, 2):
            is_shared = has[second][self._learnt[first].numbers]
            shared = int(np.count_nonzero(is_shared))
            pieces = [len(self._learnt[name]) for name in (first, second)]
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
        """What `overlap_curve` gives."""
        use = None if self._evaluation is None else _use(other, self._evaluation)
        learnt, others = self._learnt[name], self._learnt[other]
        return _curve(self._tokenizers[name], self._tokenizers[other], learnt, others, use)


@dataclass(frozen=True, slots=True, eq=False)
class OverlapCurve:
    """The overlap of a tokenizer at each of its sizes with another."""

    vocab_sizes: Array
    pieces: Array
    """Learnt pieces at each size."""
    other_pieces: int
    """Learnt pieces of the other, at its full size."""
    shared: Array
    """Pieces also in the other at its full size."""
    weighted: Array | None
    """Share of the other's tokens, at its full size on its text, whose piece is there; none without an evaluation."""
    shared_at_equal_size: Array | None
    """Pieces also in the other at the same size; not a number where the other has no such size."""

    @property
    def relative(self) -> Array:
        """Shared pieces as a share of the tokenizer's."""
        return divide(self.shared, self.pieces)

    @property
    def relative_to_other(self) -> Array:
        """Shared pieces as a share of the other's."""
        return divide(self.shared, np.full(len(self.shared), self.other_pieces))

    @property
    def jaccard(self) -> Array:
        """Shared pieces as a share of the pieces in either."""
        return divide(self.shared, self.pieces + self.other_pieces - self.shared)

    def table(self, step: int = 1000) -> Table:
        """The curve at each multiple of `step`, and at its ends."""
        sizes = self.vocab_sizes
        shown = np.flatnonzero((sizes % step == 0) | (sizes == sizes[0]) | (sizes == sizes[-1]))
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
        return Table.of(columns, zip(*(column[shown].tolist() for column in columns.values()), strict=True))


def overlap_curve(
    tokenizer: Tokenizer, other: Tokenizer, *, evaluation: Evaluation | None = None, other_name: str | None = None
) -> OverlapCurve:
    """The overlap of `tokenizer`, at every size that it has, with `other`; one pass over the merges gives all.

    With an evaluation, `other_name` is what it calls the other tokenizer.
    """
    use = None
    if evaluation is not None:
        if other_name is None:
            raise InputError("overlap_curve(..., evaluation=...) also needs other_name, the other's name in it")
        use = _use(other_name, evaluation)
    learnt, others = _learnt([tokenizer, other])
    return _curve(tokenizer, other, learnt, others, use)


def _curve(tokenizer: Tokenizer, other: Tokenizer, learnt: _Learnt, others: _Learnt, use: Array | None) -> OverlapCurve:
    """`use` is how often each piece of the other is a token, if that is known."""
    sizes = Sizes.of(tokenizer)
    # What is in the vocabulary at every size, then what each size adds: the piece of the other, or -1.
    characters = len(learnt) - len(sizes.merges)
    id_of = np.full(others.numbered, -1)
    id_of[others.numbers] = others.ids
    ids = id_of[learnt.numbers]
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
    """Of the first `start` steps together, and with each further one."""
    return np.cumsum(np.pad(steps, (1, 0)))[start:]


def _at_equal_size(sizes: Sizes, ids: Array, other: Tokenizer, others_ids: Array) -> Array | None:
    """`ids` are the pieces in the other, -1 where it has none; of both, the last are those that the merges make."""
    try:
        others = Sizes.of(other)
    except InputError:
        return None
    # A piece is in a vocabulary from the size on at which its merge comes in, and a character always.
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
class _Learnt:
    """The pieces that training learns: first the characters, then the merges in their order."""

    ids: Array
    numbers: Array
    """Of each piece, the same in every vocabulary that it is compared with; so what two share are numbers in both."""
    numbered: int
    """How many different pieces have a number."""

    def __len__(self) -> int:
        return len(self.ids)

    def has(self) -> Array:
        """Which of all numbers are of a piece that is there."""
        there = np.zeros(self.numbered, bool)
        there[self.numbers] = True
        return there


def _learnt(tokenizers: Iterable[Tokenizer]) -> list[_Learnt]:
    import pyarrow as pa

    columns = list(map(piece_columns, tokenizers))
    ids = [np.concatenate([np.flatnonzero(of.are(group)) for group in ("character", "regular")]) for of in columns]
    texts: Any = pa.concat_arrays([of.texts.take(each) for of, each in zip(columns, ids, strict=True)])
    encoded = texts.dictionary_encode()
    numbers = np.split(np.from_dlpack(encoded.indices).astype(int), np.cumsum(list(map(len, ids)))[:-1])
    return [_Learnt(each, of, len(encoded.dictionary)) for each, of in zip(ids, numbers, strict=True)]


def _use(name: str, evaluation: Evaluation) -> Array:
    """How often each piece is a token, on the text of the language of that name, or else on all text."""
    frequencies = evaluation.frequency_array(name)
    rows = [evaluation.groups.index(name)] if name in evaluation.groups else slice(None)
    return np.asarray(frequencies[rows].sum(axis=0))


def _weighted(use: Array, has: Array) -> float | None:
    total = int(use.sum())
    return int(use @ has) / total if total else None
