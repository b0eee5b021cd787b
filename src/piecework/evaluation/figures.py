"""From units to figures: what the core counts for a tokenizer, and the metrics with their intervals made of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from piecework import _core
from piecework.corpus.sampling import BUCKETS
from piecework.errors import ModelError
from piecework.evaluation import intervals
from piecework.evaluation.curves import Sizes
from piecework.evaluation.metrics import Array, Metric
from piecework.evaluation.reachable import reachable_pieces
from piecework.evaluation.units import GroupedUnits
from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SIZE_TOTALS", "TEXT_TOTALS", "TOKEN_TOTALS", "Counted", "Figure", "Passes"]

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
    frequencies: Array
    """[G][pieces]."""
    sizes: Array | None = None
    """[G][32][sizes asked for][`SIZE_TOTALS`]."""
    curve: Array | None = None
    """[G][number of merges, from 0 to all][`SIZE_TOTALS`]."""


class Passes:
    """Runs one tokenizer over tables of units."""

    def __init__(self, tokenizer: Tokenizer, *, name: str, sizes: Sizes | None, threads: int) -> None:
        self._tokenizer = tokenizer
        self._name = name
        self._sizes = sizes
        self._threads = threads
        self._single: pa.Array[Any] | None = None

    def run(self, units: GroupedUnits, metrics: Sequence[Metric]) -> tuple[Counted, dict[str, list[Figure]]]:
        """What is counted, and the figures of the metrics in the order of the groups."""
        figures: dict[str, list[Figure]] = {metric.name: [] for metric in metrics}
        not_additive = [metric for metric in metrics if not metric.adds_up]
        counted: Counted | None = None
        if self._sizes is not None or not not_additive:
            counted = self._count_all(units)
        totals, frequencies = [], []
        for group in range(len(units.groups) if not_additive else 0):
            whole, without, in_group = self._count_distinct(units, group)
            totals.append(in_group)
            frequencies.append(whole["frequencies"])
            for metric in not_additive:
                figures[metric.name].append(_left_out(metric, whole, without))
        if counted is None:
            counted = Counted(np.stack(totals), np.stack(frequencies))
        for sums in self._bucket_sums(counted.totals, TOKEN_TOTALS, units.text):
            for metric in metrics:
                if metric.adds_up:
                    figures[metric.name].append(_resampled(metric, sums))
        return counted, figures

    def size_figures(
        self, counted: Counted, units: GroupedUnits, metrics: Iterable[Metric]
    ) -> Iterator[tuple[Metric, int, list[Figure]]]:
        """The figures at the sizes that are asked for, of metrics that all sizes have."""
        assert self._sizes is not None
        assert counted.sizes is not None
        for metric in metrics:
            if metric.has_curve:
                for number, size in enumerate(self._sizes.wanted):
                    sums = self._bucket_sums(counted.sizes[:, :, number], SIZE_TOTALS, units.text, vocab_size=size)
                    yield metric, size, [_resampled(metric, each) for each in sums]

    def _evaluate(self, units: _core.UnitSet, *, with_sizes: bool) -> dict[str, bytes]:
        sizes = self._sizes if with_sizes else None
        try:
            return _core.evaluate(
                self._tokenizer._encoder,
                units,
                merges=sizes.merges if sizes else [],
                sizes=sizes.wanted_merges if sizes else [],
                threads=self._threads,
            )
        except _core.CoreModelError as error:
            raise ModelError(
                f'"{self._name}" cannot be evaluated on counts: {error}; count its tokens on documents instead'
            ) from error

    def _count_all(self, units: GroupedUnits) -> Counted:
        groups = len(units.groups)
        result = self._evaluate(units.units, with_sizes=True)
        counted = Counted(
            _array(result["totals"], groups, BUCKETS, len(TOKEN_TOTALS)),
            _array(result["frequencies"], groups, self._tokenizer.vocab_size),
        )
        if self._sizes is None:
            return counted
        sizes, points = len(self._sizes.wanted), len(self._sizes.merges) + 1
        if not self._sizes.merges:
            # Without merges the core gives no curve; it has one point, the tokenizer as it is.
            at_all = counted.totals[:, :, : len(SIZE_TOTALS)]
            by_size = np.repeat(at_all[:, :, np.newaxis], sizes, axis=2)
            return Counted(counted.totals, counted.frequencies, by_size, at_all.sum(axis=1)[:, np.newaxis])
        return Counted(
            counted.totals,
            counted.frequencies,
            _array(result["sizes"], groups, BUCKETS, sizes, len(SIZE_TOTALS)),
            _array(result["curve"], groups, points, len(SIZE_TOTALS)),
        )

    def _count_distinct(self, units: GroupedUnits, group: int) -> tuple[dict[str, Any], dict[str, Any], Array]:
        """The totals of a group; the same with each bucket that has text left out; the sums of its buckets."""
        result = self._evaluate(units.by_bucket(group), with_sizes=False)
        sums = _array(result["totals"], BUCKETS, BUCKETS, len(TOKEN_TOTALS))[np.arange(BUCKETS), np.arange(BUCKETS)]
        frequencies = _array(result["frequencies"], BUCKETS, self._tokenizer.vocab_size)
        occupied = np.flatnonzero(units.text[group, :, 1])
        types = units.word_types(group)
        single = self._is_single(types.words)
        only_in, only_in_single = (
            np.bincount(only, minlength=BUCKETS)[occupied] for only in (types.only_in, types.only_in[single])
        )
        whole: dict[str, Any] = {
            "frequencies": frequencies.sum(axis=0),
            "types": len(types.words),
            "single_types": np.count_nonzero(single),
        }
        without: dict[str, Any] = {
            "frequencies": whole["frequencies"] - frequencies[occupied],
            "types": whole["types"] - only_in,
            "single_types": whole["single_types"] - only_in_single,
        }
        text = units.text[group]
        for names, values in ((TOKEN_TOTALS, sums), (TEXT_TOTALS, text)):
            for name, column in zip(names, values.T, strict=True):
                whole[name] = column.sum()
                without[name] = column.sum() - column[occupied]
        whole["vocab_size"] = without["vocab_size"] = self._tokenizer.vocab_size
        return whole, without, sums

    def _is_single(self, words: pa.Array[Any]) -> Array:
        """Which of these words, each with its space, are one token."""
        import pyarrow as pa
        from pyarrow import compute

        if self._single is None:
            reachable = reachable_pieces(self._tokenizer)
            texts = [piece.text for piece in self._tokenizer.pieces if reachable[piece.id]]
            whole_words = [" " + text[1:] for text in texts if text.startswith(SPACE)]
            self._single = pa.array(whole_words, pa.large_string())
        return compute.is_in(words, value_set=self._single).to_numpy(zero_copy_only=False).astype(bool)

    def _bucket_sums(
        self, totals: Array, names: Sequence[str], text: Array, *, vocab_size: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """Of each group, the totals of each bucket that has text."""
        for group in range(len(totals)):
            occupied = text[group, :, 1] > 0
            sums: dict[str, Any] = dict(zip(names, totals[group][occupied].T, strict=True))
            sums |= zip(TEXT_TOTALS, text[group][occupied].T, strict=True)
            sums["vocab_size"] = vocab_size or self._tokenizer.vocab_size
            yield sums


def _array(data: bytes, *shape: int) -> Array:
    """The core's whole numbers; none reaches 2**63, so signed ones do."""
    return np.frombuffer(data, np.int64).reshape(shape)


def _resampled(metric: Metric, sums: dict[str, Any]) -> Figure:
    """The figure of a metric whose totals add up."""
    numerator, denominator = metric.ratio({name: np.sum(values) for name, values in sums.items()})
    enough = len(sums["tokens"]) >= intervals.FEWEST_BUCKETS
    used = {name: values for name, values in sums.items() if name in metric.totals}
    interval = intervals.bootstrap(metric, used) if enough and denominator else None
    return Figure(float(numerator), float(denominator), interval)


def _left_out(metric: Metric, whole: dict[str, Any], without: dict[str, Any]) -> Figure:
    """The figure of a metric of what is distinct."""
    numerator, denominator = map(float, metric.ratio(whole))
    interval = None
    if denominator and len(without["tokens"]) >= intervals.FEWEST_BUCKETS:
        interval = intervals.jackknife(numerator / denominator, metric.value(without))
    return Figure(numerator, denominator, interval)
