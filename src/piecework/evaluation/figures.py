"""From units to figures: what the core counts for a tokenizer, and the metrics with their intervals made of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from piecework import _core
from piecework.corpus.sampling import BUCKETS
from piecework.errors import ModelError
from piecework.evaluation import intervals
from piecework.evaluation.curves import Sizes
from piecework.evaluation.metrics import Array, Metric, UnitKind
from piecework.evaluation.units import BLOCKS, Arrangement, EvaluationUnits
from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.reachable import reachable_pieces
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["SIZE_TOTALS", "TEXT_TOTALS", "TOKEN_TOTALS", "Counted", "Figure", "Passes", "figure_of_sums"]

# The core's totals, in its order.
TOKEN_TOTALS = ("tokens", "starts", "continued", "split_words", "unknown", "byte_tokens")
SIZE_TOTALS = TOKEN_TOTALS[:4]
TEXT_TOTALS = ("words", "characters", "bytes")


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric of one group; the value is None where there is no text, the interval where there are few documents."""

    numerator: float
    denominator: float
    interval: tuple[float, float] | None

    @property
    def value(self) -> float | None:
        """Numerator divided by denominator."""
        return self.numerator / self.denominator if self.denominator else None


@dataclass(frozen=True, slots=True)
class Counted:
    """What one tokenizer makes of one table of units, in whole numbers; G groups of 32 buckets."""

    totals: Array
    """[G][32][`TOKEN_TOTALS`]."""
    frequencies: Array | None
    """[G][pieces], of the text as it is."""
    sizes: Array | None = None
    """[G][32][sizes asked for][`SIZE_TOTALS`]."""
    curve: Array | None = None
    """[G][number of merges, from 0 to all][`SIZE_TOTALS`]."""


class Passes:
    """Runs one tokenizer over units. One pass gives all; with sizes, what is distinct takes a second one."""

    def __init__(self, tokenizer: Tokenizer, *, name: str, sizes: Sizes | None, threads: int) -> None:
        self._tokenizer = tokenizer
        self._name = name
        self._sizes = sizes
        self._threads = threads
        self._single: dict[UnitKind, Array] = {}

    def run(
        self, units: EvaluationUnits, metrics: Sequence[Metric]
    ) -> tuple[dict[UnitKind, Counted], dict[str, list[Figure]]]:
        """What is counted of each table, and the figures of the metrics in the order of the groups."""
        figures: dict[str, list[Figure]] = {}
        counted: dict[UnitKind, Counted] = {}
        not_additive = [metric for metric in metrics if not metric.adds_up]
        cut_lines = self._tokenizer._encoder.newlines_stand_alone
        if self._sizes is not None or not not_additive:
            counted = self._count(units.arranged(cut_lines=cut_lines))
        if not_additive:
            blocks = self._count_blocks(units.arranged(in_blocks=True, cut_lines=cut_lines))
            for metric in not_additive:
                groups = range(len(units.groups) + units.overall)
                of_kind = blocks[metric.units]
                figures[metric.name] = [self._left_out(metric, units, group, *of_kind) for group in groups]
            if not counted:
                counted = {
                    kind: Counted(totals.sum(axis=1), None if frequencies is None else frequencies.sum(axis=1))
                    for kind, (totals, frequencies) in blocks.items()
                }
        for metric in metrics:
            if metric.adds_up:
                totals, text = counted[metric.units].totals, units.text[metric.units]
                sums = _bucket_sums(totals, TOKEN_TOTALS, text, self._tokenizer.vocab_size)
                figures[metric.name] = [figure_of_sums(metric, each) for each in sums]
        return counted, figures

    def size_figures(
        self, counted: Mapping[UnitKind, Counted], units: EvaluationUnits, metrics: Iterable[Metric]
    ) -> Iterator[tuple[Metric, int, list[Figure]]]:
        """The figures at the sizes that are asked for, of metrics that all sizes have."""
        assert self._sizes is not None
        for metric in metrics:
            if metric.has_curve:
                totals = counted[metric.units].sizes
                assert totals is not None
                for number, size in enumerate(self._sizes.wanted):
                    sums = _bucket_sums(totals[:, :, number], SIZE_TOTALS, units.text[metric.units], size)
                    yield metric, size, [figure_of_sums(metric, each) for each in sums]

    def _evaluate(self, arranged: Arrangement, sizes: Sizes | None) -> dict[str, bytes]:
        try:
            return _core.evaluate(
                self._tokenizer._encoder,
                arranged.units,
                merges=sizes.merges if sizes else [],
                sizes=sizes.wanted_merges if sizes else [],
                frequency_groups=arranged.frequency_groups,
                threads=self._threads,
            )
        except _core.CoreModelError as error:
            raise ModelError(
                f'"{self._name}" cannot be evaluated on counts: {error}; count its tokens on documents instead'
            ) from error

    def _count(self, arranged: Arrangement) -> dict[UnitKind, Counted]:
        result = self._evaluate(arranged, self._sizes)
        totals = _whole(arranged, result["totals"], BUCKETS, len(TOKEN_TOTALS))
        frequencies = {kind: each.sum(axis=1) for kind, each in arranged.frequencies(result["frequencies"]).items()}
        if self._sizes is None:
            return {kind: Counted(totals[kind], frequencies.get(kind)) for kind in totals}
        wanted = len(self._sizes.wanted)
        if not self._sizes.merges:
            # Without merges the core gives no curve; it has one point, the tokenizer as it is.
            at_all = {kind: each[:, :, : len(SIZE_TOTALS)] for kind, each in totals.items()}
            sizes = {kind: np.repeat(each[:, :, np.newaxis], wanted, axis=2) for kind, each in at_all.items()}
            curves = {kind: np.asarray(each.sum(axis=1)[:, np.newaxis]) for kind, each in at_all.items()}
        else:
            sizes = _whole(arranged, result["sizes"], BUCKETS, wanted, len(SIZE_TOTALS))
            curves = _whole(arranged, result["curve"], len(self._sizes.merges) + 1, len(SIZE_TOTALS))
        return {kind: Counted(totals[kind], frequencies.get(kind), sizes[kind], curves[kind]) for kind in totals}

    def _count_blocks(self, arranged: Arrangement) -> dict[UnitKind, tuple[Array, Array | None]]:
        """Totals [G][blocks][32][`TOKEN_TOTALS`] and frequencies [G][blocks][pieces] of each table."""
        result = self._evaluate(arranged, None)
        totals = arranged.split(result["totals"], BUCKETS, len(TOKEN_TOTALS))
        frequencies = arranged.frequencies(result["frequencies"])
        return {kind: (totals[kind], frequencies.get(kind)) for kind in totals}

    def _left_out(
        self, metric: Metric, units: EvaluationUnits, group: int, totals: Array, frequencies: Array | None
    ) -> Figure:
        """The figure of a metric of what is distinct, with its interval from leaving blocks out."""
        text = units.text[metric.units][group]
        by_block = text.reshape(BLOCKS, -1, len(TEXT_TOTALS)).sum(axis=1)
        occupied = np.flatnonzero(by_block[:, TEXT_TOTALS.index("characters")])
        whole: dict[str, Any] = {"vocab_size": self._tokenizer.vocab_size}
        without: dict[str, Any] = {"vocab_size": self._tokenizer.vocab_size}

        def add(name: str, sum_of_all: Any, in_block: Array) -> None:
            whole[name], without[name] = sum_of_all, sum_of_all - in_block[occupied]

        for names, values in ((TOKEN_TOTALS, totals[group].sum(axis=1)), (TEXT_TOTALS, by_block)):
            for name, column in zip(names, values.T, strict=True):
                add(name, column.sum(), column)
        if "frequencies" in metric.totals:
            assert frequencies is not None, "a metric that asks for frequencies is of the text as it is"
            add("frequencies", frequencies[group].sum(axis=0), frequencies[group])
        if metric.totals & {"types", "single_types"}:
            types = units.word_types(metric.units, group)
            single = self._is_single(units, metric.units)[types.places]
            # A type is lost with a block if it is in no other.
            add("types", len(types.places), np.bincount(types.only_in, minlength=BLOCKS))
            only_in = types.only_in[single]
            add("single_types", np.count_nonzero(single), np.bincount(only_in, minlength=BLOCKS))
        numerator, denominator = map(float, metric.ratio(whole))
        interval = None
        if denominator and len(occupied) >= intervals.FEWEST_BUCKETS:
            interval = intervals.jackknife(numerator / denominator, metric.value(without))
        return Figure(numerator, denominator, interval)

    def _is_single(self, units: EvaluationUnits, kind: UnitKind) -> Array:
        """Which of the distinct words, each with its space, are one token."""
        import pyarrow as pa
        from pyarrow import compute

        if kind not in self._single:
            pieces = zip(self._tokenizer._model.pieces, reachable_pieces(self._tokenizer), strict=True)
            texts = [piece.piece for piece, can_be_produced in pieces if can_be_produced]
            whole_words = pa.array([" " + text[1:] for text in texts if text.startswith(SPACE)], pa.large_string())
            single = compute.is_in(units.words(kind), value_set=whole_words)
            self._single[kind] = single.to_numpy(zero_copy_only=False).astype(bool)
        return self._single[kind]


def _whole(arranged: Arrangement, data: bytes, *shape: int) -> dict[UnitKind, Array]:
    return {kind: np.asarray(each.sum(axis=1)) for kind, each in arranged.split(data, *shape).items()}


def _bucket_sums(totals: Array, names: Sequence[str], text: Array, vocab_size: int) -> Iterator[dict[str, Any]]:
    """Of each group, the totals of each bucket that has text."""
    for group in range(len(totals)):
        occupied = text[group, :, TEXT_TOTALS.index("characters")] > 0
        sums: dict[str, Any] = dict(zip(names, totals[group][occupied].T, strict=True))
        sums |= zip(TEXT_TOTALS, text[group][occupied].T, strict=True)
        sums["vocab_size"] = vocab_size
        yield sums


def figure_of_sums(metric: Metric, sums: dict[str, Any]) -> Figure:
    """The figure of a metric whose totals add up."""
    numerator, denominator = metric.ratio({name: np.sum(values) for name, values in sums.items()})
    enough = len(sums["tokens"]) >= intervals.FEWEST_BUCKETS
    used = {name: values for name, values in sums.items() if name in metric.totals}
    interval = intervals.bootstrap(metric, used) if enough and denominator else None
    return Figure(float(numerator), float(denominator), interval)
