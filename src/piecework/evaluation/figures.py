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
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = [
    "SIZE_TOTALS",
    "TEXT_TOTALS",
    "TOKEN_TOTALS",
    "Counted",
    "Figure",
    "Pass",
    "Passes",
    "figures_of",
    "figures_of_sums",
    "size_figures",
]

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


@dataclass(frozen=True, slots=True)
class Pass:
    """What the core counts for one tokenizer, by blocks of buckets: B of them, or 1."""

    arranged: Arrangement
    vocab_size: int
    totals: Mapping[UnitKind, Array]
    """[G][B][32][`TOKEN_TOTALS`]."""
    frequencies: bytes
    """The core's, which become [G][B][pieces]."""
    sizes: Mapping[UnitKind, Array]
    """[G][B][32][sizes][`SIZE_TOTALS`], if sizes were asked for."""
    curves: Mapping[UnitKind, Array]
    """[G][number of merges, from 0 to all][`SIZE_TOTALS`]."""
    types: Mapping[UnitKind, Array]
    """[G, and all][B and several], if what is distinct was asked for."""
    single_types: Mapping[UnitKind, Array]
    """[1 and sizes][G, and all][B and several]: those that are one token."""
    detached: bytes = b""

    def by_block(self) -> dict[UnitKind, Array]:
        """The frequencies, [G][B][pieces]."""
        return self.arranged.frequencies(self.frequencies, self.vocab_size)

    def counted(self) -> dict[UnitKind, Counted]:
        """The same without blocks."""
        frequencies = {
            kind: self.arranged.with_all(each.sum(axis=1, dtype=np.int64)) for kind, each in self.by_block().items()
        }
        return {
            kind: Counted(
                np.asarray(totals.sum(axis=1)),
                frequencies.get(kind),
                np.asarray(self.sizes[kind].sum(axis=1)) if kind in self.sizes else None,
                self.curves.get(kind),
            )
            for kind, totals in self.totals.items()
        }


class Passes:
    """Runs one tokenizer over units: one pass gives all, and the same for smaller sizes of it."""

    def __init__(self, tokenizer: Tokenizer, *, name: str, sizes: Sizes | None, threads: int) -> None:
        self._tokenizer = tokenizer
        self._name = name
        self._sizes = sizes
        self._threads = threads

    def run(self, units: EvaluationUnits, *, in_blocks: bool) -> Pass:
        """What is counted of each table, by block if `in_blocks`."""
        arranged = units.arranged(in_blocks=in_blocks, cut_lines=self._tokenizer._encoder.newlines_stand_alone)
        sizes = self._sizes
        try:
            found = _core.evaluate(
                self._tokenizer._encoder,
                arranged.units,
                merges=sizes.merges if sizes else [],
                sizes=sizes.wanted_merges if sizes else [],
                blocks=list(arranged.blocks.values()),
                frequency_groups=arranged.frequency_groups,
                threads=self._threads,
            )
        except _core.CoreModelError as error:
            raise ModelError(
                f'"{self._name}" cannot be evaluated on counts: {error}; count its tokens on documents instead'
            ) from error
        totals = arranged.split(found["totals"], BUCKETS, len(TOKEN_TOTALS))
        by_size: Mapping[UnitKind, Array] = {}
        curves: Mapping[UnitKind, Array] = {}
        if sizes is not None and sizes.merges:
            by_size = arranged.split(found["sizes"], BUCKETS, len(sizes.wanted), len(SIZE_TOTALS))
            curves = arranged.curves(found["curve"], len(sizes.merges) + 1, len(SIZE_TOTALS))
        elif sizes is not None:
            # Without merges the core gives no curve; it has one point, the tokenizer as it is.
            as_it_is = {kind: each[..., : len(SIZE_TOTALS)] for kind, each in totals.items()}
            by_size = {
                kind: np.repeat(each[:, :, :, np.newaxis], len(sizes.wanted), 3) for kind, each in as_it_is.items()
            }
            curves = {kind: each.sum(axis=(1, 2))[:, np.newaxis] for kind, each in as_it_is.items()}
        wanted = len(sizes.wanted) if sizes and sizes.merges else 0
        types, single = arranged.types(found["types"]), arranged.types(found["single_types"], 1 + wanted)
        return Pass(
            arranged,
            self._tokenizer.vocab_size,
            totals,
            found["frequencies"],
            by_size,
            curves,
            types,
            single,
            found["detached"],
        )

    def smaller(self, found: Pass, tokenizer: Tokenizer) -> Pass:
        """What a pass of `tokenizer`, a smaller size of this one, would give."""
        assert self._sizes is not None
        number = self._sizes.wanted.index(tokenizer.vocab_size)
        totals = {kind: each.copy() for kind, each in found.totals.items()}
        for kind, each in found.sizes.items():
            totals[kind][..., : len(SIZE_TOTALS)] = each[:, :, :, number]
        frequencies = b""
        if found.frequencies:
            ids = dict(zip(self._tokenizer._texts, range(self._tokenizer.vocab_size), strict=True))
            frequencies = _core.smaller_frequencies(
                self._tokenizer._encoder,
                merges=self._sizes.merges,
                kept=self._sizes.wanted_merges[number],
                ids=[ids[text] for text in tokenizer._texts],
                frequencies=found.frequencies,
                groups=found.arranged.frequency_groups,
                detached=found.detached,
            )
        single = {kind: each[1 + number : 2 + number] for kind, each in found.single_types.items()}
        return Pass(found.arranged, tokenizer.vocab_size, totals, frequencies, {}, {}, found.types, single)


def figures_of(
    tokenizer: Tokenizer,
    found: Pass,
    counted: Mapping[UnitKind, Counted],
    units: EvaluationUnits,
    metrics: Sequence[Metric],
) -> dict[str, list[Figure]]:
    """The figures of the metrics, in the order of the groups."""
    figures: dict[str, list[Figure]] = {}
    distinct: dict[UnitKind, list[Metric]] = {}
    for metric in metrics:
        if metric.adds_up:
            totals, text = counted[metric.units].totals, units.text[metric.units]
            figures[metric.name] = _of_buckets(metric, TOKEN_TOTALS, totals, text, tokenizer.vocab_size)
        else:
            figures[metric.name] = []
            distinct.setdefault(metric.units, []).append(metric)
    left_out = _LeftOut(found, counted, units)
    for kind, of_kind in distinct.items():
        for group in range(len(units.groups) + units.overall):
            for metric, figure in zip(of_kind, left_out.figures(kind, of_kind, group), strict=True):
                figures[metric.name].append(figure)
    return figures


def size_figures(
    sizes: Sizes, counted: Mapping[UnitKind, Counted], units: EvaluationUnits, metrics: Iterable[Metric]
) -> Iterator[tuple[Metric, int, list[Figure]]]:
    """The figures at each of the sizes, of metrics that all sizes have."""
    for metric in metrics:
        if metric.has_curve:
            totals = counted[metric.units].sizes
            assert totals is not None
            for number, size in enumerate(sizes.wanted):
                text = units.text[metric.units]
                yield metric, size, _of_buckets(metric, SIZE_TOTALS, totals[:, :, number], text, size)


class _LeftOut:
    """Figures of what is distinct, with their intervals from leaving blocks out."""

    def __init__(self, found: Pass, counted: Mapping[UnitKind, Counted], units: EvaluationUnits) -> None:
        self._units = units
        self._counted = counted
        self._found = found
        self._frequencies = found.by_block()

    def figures(self, kind: UnitKind, metrics: Sequence[Metric], group: int) -> list[Figure]:
        """The figures of metrics of one table, for one group."""
        names = frozenset[str]().union(*(metric.totals for metric in metrics))
        text = self._units.text[kind][group].reshape(BLOCKS, -1, len(TEXT_TOTALS)).sum(axis=1)
        occupied = np.flatnonzero(text[:, TEXT_TOTALS.index("characters")])
        # What each block has that no other has, so that it is lost with it.
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
            # A block at a time: frequencies of all at once would be far more than fits near the processor.
            for block in occupied.tolist():
                left = _without(whole, by_block, names, block)
                for values, metric in zip(without, metrics, strict=True):
                    values.append(float(metric.value(left)))
        return [_figure_of(metric, whole, values) for metric, values in zip(metrics, without, strict=True)]

    def _of_pieces(self, kind: UnitKind, group: int) -> tuple[Array, Array]:
        """How often each piece that a group uses is a token in each of its blocks, and in all of it."""
        whole = self._counted[kind].frequencies
        assert whole is not None
        by_block = self._frequencies[kind]
        by_block = by_block[group] if group < len(by_block) else by_block.sum(axis=0, dtype=np.int64)
        # Many pieces are of other languages: a group may well use less than half of them.
        used = np.flatnonzero(whole[group])
        return by_block.take(used, axis=1), whole[group][used]


def _figure_of(metric: Metric, whole: Mapping[str, Any], without: Sequence[float]) -> Figure:
    """A figure, and its interval from those with one block left out, if there are any."""
    numerator, denominator = map(float, metric.ratio(whole))
    interval = None
    if denominator and without:
        interval = intervals.jackknife(numerator / denominator, np.array(without))
    return Figure(numerator, denominator, interval)


def _without(
    whole: Mapping[str, Any], by_block: Mapping[str, Array], names: Iterable[str], block: int
) -> dict[str, Any]:
    """The totals of a metric, less those of a block."""
    return {name: whole[name] - by_block[name][block] if name in by_block else whole[name] for name in names}


def _of_buckets(metric: Metric, names: Sequence[str], totals: Array, text: Array, vocab_size: int) -> list[Figure]:
    sums: dict[str, Any] = dict(zip(names, np.moveaxis(totals, 2, 0), strict=True))
    sums |= zip(TEXT_TOTALS, np.moveaxis(text, 2, 0), strict=True)
    return figures_of_sums(metric, sums | {"vocab_size": vocab_size}, text[:, :, TEXT_TOTALS.index("characters")] > 0)


def figures_of_sums(metric: Metric, sums: Mapping[str, Any], occupied: Array) -> list[Figure]:
    """The figures of a metric whose totals add up, from their sums over buckets and which of these have text.

    Both are [groups][buckets], but for totals that are one number.
    """
    used = {name: sums[name] for name in metric.totals}
    ratio = metric.ratio({name: values.sum(axis=1) if np.ndim(values) else values for name, values in used.items()})
    numerators, denominators = (np.broadcast_to(each, len(occupied)).astype(float) for each in ratio)
    found: list[intervals.Interval] = [None] * len(occupied)
    counts = np.where(denominators != 0, np.count_nonzero(occupied, axis=1), 0)
    # Nearly always one number of buckets, and so all groups at once.
    for count in np.unique(counts[counts >= intervals.FEWEST_BUCKETS]):
        groups = np.flatnonzero(counts == count)
        with_text = {
            name: values[groups][occupied[groups]].reshape(-1, count) if np.ndim(values) else values
            for name, values in used.items()
        }
        for group, interval in zip(groups, intervals.bootstrap(metric, with_text), strict=True):
            found[group] = interval
    return [Figure(*each) for each in zip(numerators.tolist(), denominators.tolist(), found, strict=True)]
