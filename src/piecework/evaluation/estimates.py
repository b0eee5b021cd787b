"""Metric values with their intervals: estimates, made from what a pass counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from piecework.evaluation import intervals
from piecework.evaluation.curves import Sizes
from piecework.evaluation.metrics import Array, Metric, UnitKind
from piecework.evaluation.passes import SIZE_TOTALS, TEXT_TOTALS, TOKEN_TOTALS, PassResult, TableTotals
from piecework.evaluation.units import BLOCKS, EvaluationUnits
from piecework.tokenizer.trained import TrainedTokenizer

__all__ = ["Estimate", "estimates", "estimates_from_sums", "size_estimates"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A metric of one group. Without text the value is None; with few documents the interval is None."""

    numerator: float
    denominator: float
    interval: tuple[float, float] | None

    @property
    def value(self) -> float | None:
        """Numerator divided by denominator."""
        return self.numerator / self.denominator if self.denominator else None


def estimates(
    tokenizer: TrainedTokenizer,
    found: PassResult,
    totals: Mapping[UnitKind, TableTotals],
    units: EvaluationUnits,
    metrics: Sequence[Metric],
) -> dict[str, list[Estimate]]:
    """The estimates of each metric, in the order of the groups."""
    by_metric: dict[str, list[Estimate]] = {}
    distinct: dict[UnitKind, list[Metric]] = {}
    for metric in metrics:
        if metric.adds_up:
            text = units.text[metric.units]
            by_metric[metric.name] = _from_buckets(
                metric, TOKEN_TOTALS, totals[metric.units].totals, text, tokenizer.vocab_size
            )
        else:
            by_metric[metric.name] = []
            distinct.setdefault(metric.units, []).append(metric)
    left_out = _LeftOut(found, totals, units)
    for kind, of_kind in distinct.items():
        for group in range(len(units.groups) + units.overall):
            for metric, estimate in zip(of_kind, left_out.estimates(kind, of_kind, group), strict=True):
                by_metric[metric.name].append(estimate)
    return by_metric


def size_estimates(
    sizes: Sizes, totals: Mapping[UnitKind, TableTotals], units: EvaluationUnits, metrics: Iterable[Metric]
) -> Iterator[tuple[Metric, int, list[Estimate]]]:
    """The estimates at each requested size, for metrics that every size has."""
    for metric in metrics:
        if metric.has_curve:
            by_size = totals[metric.units].sizes
            assert by_size is not None
            for number, size in enumerate(sizes.wanted):
                text = units.text[metric.units]
                yield metric, size, _from_buckets(metric, SIZE_TOTALS, by_size[:, :, number], text, size)


class _LeftOut:
    """Estimates of metrics that count distinct things. Their intervals come from leaving out one block at a time."""

    def __init__(self, found: PassResult, totals: Mapping[UnitKind, TableTotals], units: EvaluationUnits) -> None:
        self._units = units
        self._totals = totals
        self._found = found
        self._frequencies = found.by_block()

    def estimates(self, kind: UnitKind, metrics: Sequence[Metric], group: int) -> list[Estimate]:
        """The estimates of the metrics of one table, for one group."""
        names = frozenset[str]().union(*(metric.totals for metric in metrics))
        text = self._units.text[kind][group].reshape(BLOCKS, -1, len(TEXT_TOTALS)).sum(axis=1)
        occupied = np.flatnonzero(text[:, TEXT_TOTALS.index("characters")])
        # The totals of each block. Of distinct things, a block has those that occur in no other block.
        by_block = dict(zip(TOKEN_TOTALS, self._found.totals[kind][group].sum(axis=1).T, strict=True))
        by_block |= zip(TEXT_TOTALS, text.T, strict=True)
        whole: dict[str, Any] = {name: column.sum() for name, column in by_block.items()}
        whole["vocab_size"] = self._found.vocab_size
        for name, types in ("types", self._found.types), ("single_types", self._found.single_types):
            if name in names:
                of_group = types[kind][..., group, :].reshape(-1, BLOCKS + 1)[0]
                by_block[name], whole[name] = of_group[:BLOCKS], of_group.sum()
        if "frequencies" in names:
            by_block["frequencies"], whole["frequencies"] = self._of_pieces(kind, group)
        without: list[list[float]] = [[] for _ in metrics]
        if len(occupied) >= intervals.FEWEST_BUCKETS:
            # One block at a time: the frequencies of all blocks at once do not fit the processor's cache.
            for block in occupied.tolist():
                left = _without(whole, by_block, names, block)
                for values, metric in zip(without, metrics, strict=True):
                    values.append(float(metric.value(left)))
        return [_estimate(metric, whole, values) for metric, values in zip(metrics, without, strict=True)]

    def _of_pieces(self, kind: UnitKind, group: int) -> tuple[Array, Array]:
        """The frequencies of the pieces that a group uses: [blocks][pieces], and [pieces] for the whole group."""
        whole = self._totals[kind].frequencies
        assert whole is not None
        by_block = self._frequencies[kind]
        if group < len(by_block):
            by_block = by_block[group]
        else:
            # Half the memory where no number can be too large.
            fits = whole[group].max(initial=0) <= np.iinfo(by_block.dtype).max
            by_block = by_block.sum(axis=0, dtype=by_block.dtype if fits else np.int64)
        # A language often uses less than half of the pieces.
        used = np.flatnonzero(whole[group])
        return by_block.take(used, axis=1), whole[group][used]


def _estimate(metric: Metric, whole: Mapping[str, Any], without: Sequence[float]) -> Estimate:
    """The estimate for the whole group, with its interval from the values without one block, if there are any."""
    numerator, denominator = map(float, metric.ratio(whole))
    interval = None
    if denominator and without:
        interval = intervals.jackknife(numerator / denominator, np.array(without))
    return Estimate(numerator, denominator, interval)


def _without(
    whole: Mapping[str, Any], by_block: Mapping[str, Array], names: Iterable[str], block: int
) -> dict[str, Any]:
    """The totals without those of one block."""
    return {name: whole[name] - by_block[name][block] if name in by_block else whole[name] for name in names}


def _from_buckets(metric: Metric, names: Sequence[str], totals: Array, text: Array, vocab_size: int) -> list[Estimate]:
    sums: dict[str, Any] = dict(zip(names, np.moveaxis(totals, 2, 0), strict=True))
    sums |= zip(TEXT_TOTALS, np.moveaxis(text, 2, 0), strict=True)
    return estimates_from_sums(
        metric, sums | {"vocab_size": vocab_size}, text[:, :, TEXT_TOTALS.index("characters")] > 0
    )


def estimates_from_sums(metric: Metric, sums: Mapping[str, Any], occupied: Array) -> list[Estimate]:
    """The estimates of a metric whose totals add up.

    `sums` are the totals, [groups][buckets] or a single number; `occupied` says which buckets have text.
    """
    used = {name: sums[name] for name in metric.totals}
    ratio = metric.ratio({name: values.sum(axis=1) if np.ndim(values) else values for name, values in used.items()})
    numerators, denominators = (np.broadcast_to(each, len(occupied)).astype(float) for each in ratio)
    found: list[intervals.Interval] = [None] * len(occupied)
    counts = np.where(denominators != 0, np.count_nonzero(occupied, axis=1), 0)
    # Groups with the same number of occupied buckets are resampled together; mostly that is all of them.
    for count in np.unique(counts[counts >= intervals.FEWEST_BUCKETS]):
        groups = np.flatnonzero(counts == count)
        with_text = {
            name: values[groups][occupied[groups]].reshape(-1, count) if np.ndim(values) else values
            for name, values in used.items()
        }
        for group, interval in zip(groups, intervals.bootstrap(metric, with_text), strict=True):
            found[group] = interval
    return [Estimate(*each) for each in zip(numerators.tolist(), denominators.tolist(), found, strict=True)]
