"""How much of their vocabularies tokenizers share, at their full sizes and at every size of one of them.

Compared are the pieces that training learns: merges and characters. Special pieces, symbols, bytes and whitespace runs
are put in by the recipe, so sharing them says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from piecework.errors import InputError
from piecework.evaluation.curves import Sizes
from piecework.evaluation.evaluate import Evaluation, Tokenizers, named_tokenizers
from piecework.evaluation.metrics import Array, divide
from piecework.evaluation.piece_columns import piece_columns
from piecework.evaluation.tables import Table
from piecework.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["OverlapCurve", "overlap_curve", "vocabulary_overlap"]


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
    import pyarrow as pa

    named = named_tokenizers(tokenizers)
    learnt = {name: _learnt(tokenizer) for name, tokenizer in named.items()}
    # Every piece of any has a number, so that what is shared are numbers that both have.
    texts = pa.concat_arrays([pieces.texts for pieces in learnt.values()]).dictionary_encode()
    ends = np.cumsum([len(pieces) for pieces in learnt.values()])
    numbers = dict(zip(named, np.split(np.from_dlpack(texts.indices), ends[:-1]), strict=True))
    has = {name: np.bincount(of, minlength=len(texts.dictionary)) > 0 for name, of in numbers.items()}
    uses = {name: _use(name, evaluation)[learnt[name].ids] for name in named} if evaluation is not None else {}
    rows = []
    for first, second in permutations(named, 2):
        is_shared = has[second][numbers[first]]
        shared = int(np.count_nonzero(is_shared))
        either = len(learnt[first]) + len(learnt[second]) - shared
        rows.append(
            (
                first,
                second,
                len(learnt[first]),
                len(learnt[second]),
                shared,
                shared / len(learnt[first]) if len(learnt[first]) else None,
                shared / either if either else None,
                _weighted(uses[first], is_shared) if evaluation is not None else None,
            )
        )
    names = ["first", "second", "first_pieces", "second_pieces", "shared", "relative", "jaccard", "weighted"]
    return Table.of(names, rows, title="Vocabulary overlap", types={name: pa.float64() for name in names[5:]})


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
    from pyarrow import compute

    sizes = Sizes.of(tokenizer)
    learnt, others = _learnt(tokenizer), _learnt(other)
    # What is in the vocabulary at every size, then what each size adds: the piece of the other, or -1.
    characters = len(learnt) - len(sizes.merges)
    places = compute.index_in(learnt.texts, value_set=others.texts).fill_null(-1)
    ids = np.append(others.ids, -1)[np.from_dlpack(places)]
    is_shared = ids >= 0
    weighted = None
    if evaluation is not None:
        if other_name is None:
            raise InputError("overlap_curve(..., evaluation=...) also needs other_name, the other's name in it")
        use = _use(other_name, evaluation)
        steps = np.where(is_shared, use[ids], 0)
        weighted = divide(_totals(steps, characters), np.asarray(use[others.ids].sum()))
    return OverlapCurve(
        vocab_sizes=sizes.vocab_sizes,
        pieces=np.arange(characters, len(ids) + 1),
        other_pieces=len(others),
        shared=_totals(is_shared.astype(int), characters),
        weighted=weighted,
        shared_at_equal_size=_at_equal_size(sizes, ids, other),
    )


def _totals(steps: Array, start: int) -> Array:
    """Of the first `start` steps together, and with each further one."""
    return np.cumsum(np.pad(steps, (1, 0)))[start:]


def _at_equal_size(sizes: Sizes, ids: Array, other: Tokenizer) -> Array | None:
    """`ids` are the pieces in the other, of which the last are those that the merges make; -1 where it has none."""
    try:
        others = Sizes.of(other)
    except InputError:
        return None
    # A piece is in a vocabulary from the size on at which its merge comes in, and a character always.
    points = len(sizes.vocab_sizes)
    since = sizes.smallest + np.maximum(np.arange(points - len(ids), points), 0)
    others_since = np.full(other.vocab_size, others.smallest)
    others_since[others.merges] += np.arange(1, len(others.merges) + 1)
    both = np.maximum(since, others_since[ids])[ids >= 0]
    arrivals = np.bincount(both - sizes.smallest, minlength=points)
    shared = np.cumsum(arrivals)[:points].astype(float)
    shared[(sizes.vocab_sizes < others.smallest) | (sizes.vocab_sizes > other.vocab_size)] = np.nan
    return shared


@dataclass(frozen=True, slots=True, eq=False)
class _Learnt:
    """The pieces that training learns: first the characters, then the merges in their order."""

    ids: Array
    texts: pa.Array[Any]

    def __len__(self) -> int:
        return len(self.ids)


def _learnt(tokenizer: Tokenizer) -> _Learnt:
    columns = piece_columns(tokenizer)
    ids = np.concatenate([np.flatnonzero(columns.are(group)) for group in ("character", "regular")])
    return _Learnt(ids, columns.texts.take(ids))


def _use(name: str, evaluation: Evaluation) -> Array:
    """How often each piece is a token, on the text of the language of that name, or else on all text."""
    frequencies = evaluation.frequency_array(name)
    rows = [evaluation.groups.index(name)] if name in evaluation.groups else slice(None)
    return np.asarray(frequencies[rows].sum(axis=0))


def _weighted(use: Array, has: Array) -> float | None:
    total = int(use.sum())
    return int(use[has].sum()) / total if total else None
