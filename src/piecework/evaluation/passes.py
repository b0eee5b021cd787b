"""What the core counts when a tokenizer encodes all units, and the same for its smaller sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from piecework import _core
from piecework.common.pre_tokenizer import PreTokenizer
from piecework.errors import InputError, ModelError
from piecework.evaluation.curves import Sizes
from piecework.evaluation.metrics import Array, UnitKind
from piecework.evaluation.units import Arrangement, EvaluationUnits
from piecework.tokenizer.tokenizer import Tokenizer
from piecework.tokenizer.trained import TrainedTokenizer

__all__ = ["SIZE_TOTALS", "TEXT_TOTALS", "TOKEN_TOTALS", "Evaluator", "PassResult", "TableTotals", "check_units"]

# The names along the last axis of the core's arrays. The names for sizes are the first of the names for tokens.
TOKEN_TOTALS = _core.TOKEN_TOTALS
SIZE_TOTALS = _core.SIZE_TOTALS
TEXT_TOTALS = _core.TEXT_TOTALS


@dataclass(frozen=True, slots=True)
class TableTotals:
    """Totals of one tokenizer on one table of units, in whole numbers; G groups of 32 buckets."""

    totals: Array
    """[G][32][`TOKEN_TOTALS`]."""
    frequencies: Array | None
    """[G][pieces], of the text as it is."""
    sizes: Array | None = None
    """[G][32][requested sizes][`SIZE_TOTALS`]."""
    curve: Array | None = None
    """[G][number of merges, from 0 to all][`SIZE_TOTALS`]."""


@dataclass(frozen=True, slots=True)
class PassResult:
    """What the core counts for one tokenizer, in B blocks of buckets; B is 1 if no metric needs blocks."""

    arranged: Arrangement
    vocab_size: int
    totals: Mapping[UnitKind, Array]
    """[G][B][32][`TOKEN_TOTALS`]."""
    frequencies: Array
    """[G times B][pieces], as the core returns them."""
    sizes: Mapping[UnitKind, Array]
    """[G][B][32][requested sizes][`SIZE_TOTALS`]; empty without requested sizes."""
    curves: Mapping[UnitKind, Array]
    """[G][number of merges, from 0 to all][`SIZE_TOTALS`]."""
    types: Mapping[UnitKind, Array]
    """Distinct words, [G + 1][B + 1]; the last group is all groups, the last block is words in several blocks."""
    single_types: Mapping[UnitKind, Array]
    """Distinct words of one token, [1 + requested sizes][G + 1][B + 1]; the first is the full vocabulary."""
    detached: Array | None = None
    """What `smaller_frequencies` needs besides the frequencies."""

    def by_block(self) -> dict[UnitKind, Array]:
        """The frequencies, [G][B][pieces]."""
        return self.arranged.frequencies(self.frequencies)

    def totals_by_table(self) -> dict[UnitKind, TableTotals]:
        """The totals of each table, summed over blocks."""
        frequencies = {
            kind: self.arranged.with_all(each.sum(axis=1, dtype=np.int64)) for kind, each in self.by_block().items()
        }
        return {
            kind: TableTotals(
                np.asarray(totals.sum(axis=1)),
                frequencies.get(kind),
                np.asarray(self.sizes[kind].sum(axis=1)) if kind in self.sizes else None,
                self.curves.get(kind),
            )
            for kind, totals in self.totals.items()
        }


class Evaluator:
    """Encodes units with one tokenizer, once; smaller sizes of the tokenizer follow from the same pass."""

    def __init__(self, tokenizer: TrainedTokenizer, *, name: str, sizes: Sizes | None, threads: int) -> None:
        self._tokenizer = tokenizer
        self._name = name
        self._sizes = sizes
        self._threads = threads

    def run(self, units: EvaluationUnits, *, in_blocks: bool) -> PassResult:
        """Encodes every unit and counts tokens, by block if `in_blocks`."""
        check_units(self._name, self._tokenizer, units.pre_tokenizer)
        cut_lines = isinstance(self._tokenizer, Tokenizer) and self._tokenizer._encoder.newlines_stand_alone
        arranged = units.arranged(in_blocks=in_blocks, cut_lines=cut_lines)
        sizes = self._sizes
        try:
            found = _core.evaluate(
                self._tokenizer._encoder,
                arranged.units,
                merges=sizes.all_merges if sizes else [],
                sizes=sizes.wanted_merges if sizes and sizes.merges else [],
                blocks=list(arranged.blocks.values()),
                frequency_groups=arranged.frequency_groups,
                threads=self._threads,
            )
        except _core.CoreModelError as error:
            raise ModelError(
                f'"{self._name}" cannot be evaluated on counts: {error}; count its tokens on documents instead'
            ) from error
        totals = arranged.split(found.totals)
        by_size: Mapping[UnitKind, Array] = {}
        curves: Mapping[UnitKind, Array] = {}
        if sizes is not None and sizes.merges:
            by_size = arranged.split(found.sizes)
            curves = arranged.curves(found.curve[:, :, sizes.merge_counts])
        elif sizes is not None:
            # Without merges the core returns no curve. It has one point: the full vocabulary.
            as_it_is = {kind: each[..., : len(SIZE_TOTALS)] for kind, each in totals.items()}
            by_size = {
                kind: np.repeat(each[:, :, :, np.newaxis], len(sizes.wanted), 3) for kind, each in as_it_is.items()
            }
            curves = {kind: each.sum(axis=(1, 2))[:, np.newaxis] for kind, each in as_it_is.items()}
        return PassResult(
            arranged,
            self._tokenizer.vocab_size,
            totals,
            found.frequencies,
            by_size,
            curves,
            arranged.types(found.types),
            arranged.types(found.single_types),
            found.detached,
        )

    def smaller(self, found: PassResult, tokenizer: TrainedTokenizer) -> PassResult:
        """The result for `tokenizer`, a smaller size of this one, without encoding again; both of SentencePiece."""
        assert self._sizes is not None and isinstance(self._tokenizer, Tokenizer) and isinstance(tokenizer, Tokenizer)
        number = self._sizes.wanted.index(tokenizer.vocab_size)
        totals = {kind: each.copy() for kind, each in found.totals.items()}
        for kind, each in found.sizes.items():
            totals[kind][..., : len(SIZE_TOTALS)] = each[:, :, :, number]
        frequencies = found.frequencies
        if frequencies.size:
            assert found.detached is not None
            frequencies = _core.smaller_frequencies(
                self._tokenizer._encoder,
                merges=self._sizes.merges,
                kept=self._sizes.wanted_merges[number],
                ids=list(map(self._tokenizer._ids.__getitem__, tokenizer._texts)),
                frequencies=found.frequencies,
                detached=found.detached,
            )
        single = {kind: each[1 + number : 2 + number] for kind, each in found.single_types.items()}
        return PassResult(found.arranged, tokenizer.vocab_size, totals, frequencies, {}, {}, found.types, single)


def check_units(name: str, tokenizer: TrainedTokenizer, pre_tokenizer: PreTokenizer | None) -> None:
    """Refuses a tokenizer for which the counted units were not made."""
    if isinstance(tokenizer, Tokenizer):
        if pre_tokenizer is not None:
            raise InputError(
                f'"{name}" is a SentencePiece model, and these are counts of the pre-tokens of'
                f' "{pre_tokenizer.name}": count again with a SentencePiece [recipe]'
            )
        return
    own = tokenizer.pre_tokenizer
    if pre_tokenizer is None:
        raise InputError(
            f'"{name}" is a byte-level tokenizer, and these are counts of SentencePiece units: count again with'
            f' kind = "byte-level" and pre_tokenizer = "{own.name}" in [recipe], or with pre_tokenizer="{own.name}"'
        )
    if own != pre_tokenizer:
        raise InputError(f'"{name}" has the pre-tokenizer {own}, and these are counts of {pre_tokenizer}: count again')
    if tokenizer.model.added_tokens:
        token = next(iter(tokenizer.model.added_tokens))
        raise InputError(
            f'"{name}" cuts its added token {token!r} out of a text before it is cut into pre-tokens, so counts of'
            " its tokens cannot be found from pre-tokens"
        )
