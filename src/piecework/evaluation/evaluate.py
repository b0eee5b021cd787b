"""Tokenizers on counted text: each distinct unit is encoded once a tokenizer, and gives every figure and size."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from piecework.common.terms import OVERALL
from piecework.common.threads import in_threads
from piecework.errors import InputError
from piecework.evaluation import intervals
from piecework.evaluation.curves import Curve, Sizes, is_smaller_size
from piecework.evaluation.figures import (
    SIZE_TOTALS,
    TEXT_TOTALS,
    TOKEN_TOTALS,
    Counted,
    Figure,
    Pass,
    Passes,
    figures_of,
    size_figures,
)
from piecework.evaluation.metrics import SUMS, Array, Metric, UnitKind, find_metrics
from piecework.evaluation.tables import Table, html_table
from piecework.evaluation.units import EvaluationUnits, GroupBy, UnitSource
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["Evaluation", "Tokenizers", "evaluate", "evaluate_on", "evaluation_units", "named_tokenizers"]

Tokenizers = Mapping[str, Tokenizer] | Sequence[Tokenizer] | Tokenizer


@dataclass(frozen=True, slots=True)
class _Judged:
    """One tokenizer: what was counted of each table, figures by metric, and by metric and size."""

    counted: dict[UnitKind, Counted]
    figures: dict[str, list[Figure]]
    by_size: dict[tuple[str, int], list[Figure]]


class Evaluation:
    """Figures of tokenizers on the text of languages, as tables."""

    def __init__(
        self,
        tokenizers: Mapping[str, Tokenizer],
        metrics: Sequence[Metric],
        units: EvaluationUnits,
    ) -> None:
        """Use `evaluate` instead."""
        self.tokenizers = dict(tokenizers)
        self.metric_list = list(metrics)
        self.by = units.by
        self.groups = units.groups
        """The languages, or the subsets."""
        self._all_groups = [*units.groups, *([OVERALL] if units.overall else [])]
        self._text = units.text
        self._counted: dict[str, dict[UnitKind, Counted]] = {}
        self._sizes: dict[str, Sizes] = {}
        self._rows: list[tuple[Any, ...]] = []
        self._size_rows: list[tuple[Any, ...]] = []

    @property
    def metrics(self) -> Table:
        """A row for each tokenizer, language and metric: value, 95 % interval, numerator and denominator."""
        return self._table(self._rows, "Metrics")

    @property
    def sizes(self) -> Table:
        """The same for each vocabulary size that was asked for, of the metrics that all sizes have."""
        return self._table(self._size_rows, "Metrics by vocabulary size")

    @property
    def without_text(self) -> list[str]:
        """The languages that have no text to evaluate on, and so no figures."""
        characters = sum(text[: len(self.groups), :, 1].sum(axis=1) for text in self._text.values())
        return [group for group, count in zip(self.groups, characters, strict=True) if not count]

    @property
    def without_intervals(self) -> list[str]:
        """The languages whose documents are too few for intervals."""
        text = next(iter(self._text.values()))[: len(self.groups)]
        occupied = np.count_nonzero(text[:, :, 1], axis=1)
        return [
            group for group, count in zip(self.groups, occupied, strict=True) if 0 < count < intervals.FEWEST_BUCKETS
        ]

    def matrix(self, metric: str | Metric) -> Table:
        """The values of one metric: a row for each language, a column for each tokenizer."""
        chosen = self._metric(metric)
        values = {(row[0], row[2]): row[4] for row in self._rows if row[3] == chosen.name}
        rows = [(group, *(values[name, group] for name in self.tokenizers)) for group in self.groups]
        return Table.of([self.by, *self.tokenizers], rows, title=f"{chosen.title} ({_better(chosen)})")

    def curve(self, tokenizer: str, group: str, metric: str | Metric = "fertility") -> Curve:
        """A metric at every vocabulary size, from the alphabet to the full vocabulary, for one language."""
        chosen = self._metric(metric)
        counted = self._of(tokenizer).get(chosen.units)
        if not chosen.has_curve:
            with_curve = ", ".join(each.name for each in self.metric_list if each.has_curve)
            raise InputError(f'"{chosen.name}" is not known for every size; these are: {with_curve}')
        if counted is None or counted.curve is None:
            raise InputError(f'the curve of "{tokenizer}" was not asked for: call evaluate(..., curves=True)')
        number = self._group(group)
        text = self._text[chosen.units][number].sum(axis=0)
        totals = dict(zip(SIZE_TOTALS, counted.curve[number].T, strict=True))
        totals |= dict(zip(TEXT_TOTALS, text, strict=True))
        totals["vocab_size"] = self._sizes[tokenizer].vocab_sizes
        return Curve(chosen, totals["vocab_size"], *chosen.ratio(totals))

    def frequencies(self, tokenizer: str) -> Table:
        """How often each piece is a token, by language; pieces that never are have no row."""
        counts = self.frequency_array(tokenizer)
        pieces = self.tokenizers[tokenizer].pieces
        groups, ids = np.nonzero(counts)
        rows = (
            (int(i), pieces[i].text, pieces[i].group, self.groups[g], int(counts[g, i]))
            for g, i in zip(groups, ids, strict=True)
        )
        return Table.of(["id", "piece", "group", self.by, "count"], rows, title=f"Token frequencies of {tokenizer}")

    def frequency_array(self, tokenizer: str) -> Array:
        """How often each piece is a token: a row for each language, a column for each id; of the text as it is."""
        counted = self._of(tokenizer).get("eval")
        if counted is None or counted.frequencies is None:
            raise InputError("no frequencies: only metrics of the text without punctuation were asked for")
        return counted.frequencies[: len(self.groups)]

    def bucket_totals(self, tokenizer: str, units: UnitKind = "eval") -> dict[str, Array]:
        """What the metrics are made of, by name: a row for each language, a column for each of the 32 buckets."""
        counted = self._of(tokenizer)[units].totals[: len(self.groups)]
        text = self._text[units][: len(self.groups)]
        totals = dict(zip(TOKEN_TOTALS, np.moveaxis(counted, 2, 0), strict=True))
        return totals | dict(zip(TEXT_TOTALS, np.moveaxis(text, 2, 0), strict=True))

    def totals(self, tokenizer: str, units: UnitKind = "eval") -> Table:
        """What the metrics are made of, in whole numbers: a row for each language."""
        sums = [values.sum(axis=1).tolist() for values in self.bucket_totals(tokenizer, units).values()]
        rows = zip(self.groups, *sums, strict=True)
        return Table.of([self.by, *SUMS], rows, title=f"Totals of {tokenizer}")

    def __repr__(self) -> str:
        names = ", ".join(self.tokenizers)
        return f"Evaluation({names} on {', '.join(self.groups)}; {len(self.metric_list)} metrics)"

    def _repr_html_(self) -> str:
        parts = []
        for metric in self.metric_list:
            table = self.matrix(metric)
            rows = [list(row.values()) for row in table.rows()]
            best = {i: [1 + n for n in metric.best(row[1:])] for i, row in enumerate(rows)} if len(rows[0]) > 2 else {}
            parts.append(html_table(table.columns, rows, title=table.title, best=best))
        return "".join(parts)

    def _judge(self, name: str, found: Pass, units: EvaluationUnits, sizes: Sizes | None) -> _Judged:
        """The figures of what a pass counted."""
        counted = found.counted()
        figures = figures_of(self.tokenizers[name], found, counted, units, self.metric_list)
        by_size: dict[tuple[str, int], list[Figure]] = {}
        if sizes is not None:
            for metric, size, each in size_figures(sizes, counted, units, self.metric_list):
                by_size[metric.name, size] = each
        return _Judged(counted, figures, by_size)

    def _add(self, name: str, judged: _Judged, sizes: Sizes | None, shown: Collection[int]) -> None:
        """What a tokenizer was found to be; of its sizes, those that are `shown` get rows."""
        self._counted[name] = judged.counted
        if sizes is not None:
            self._sizes[name] = sizes
        for number, group in enumerate(self._all_groups):
            for metric in self.metric_list:
                figure = judged.figures[metric.name][number]
                self._rows.append(_row(name, self.tokenizers[name].vocab_size, group, metric, figure))
            for size in sorted(shown):
                for metric in self.metric_list:
                    if metric.has_curve:
                        figure = judged.by_size[metric.name, size][number]
                        self._size_rows.append(_row(name, size, group, metric, figure))

    def _table(self, rows: list[tuple[Any, ...]], title: str) -> Table:
        import pyarrow as pa

        names = ["tokenizer", "vocab_size", self.by, "metric", "value", "low", "high", "numerator", "denominator"]
        types: dict[str, Any] = {name: pa.float64() for name in names[4:]} | {"vocab_size": pa.int64()}
        types |= {name: pa.string() for name in ("tokenizer", self.by, "metric")}
        return Table.of(names, rows, title=title, types=types)

    def _metric(self, metric: str | Metric) -> Metric:
        chosen = find_metrics([metric])[0]
        if chosen not in self.metric_list:
            raise InputError(f'"{chosen.name}" was not evaluated; name it in evaluate(..., metrics=[...])')
        return chosen

    def _group(self, group: str) -> int:
        if group not in self._all_groups:
            raise InputError(f'no {self.by} "{group}" was evaluated; there is {", ".join(self._all_groups)}')
        return self._all_groups.index(group)

    def _of(self, tokenizer: str) -> dict[UnitKind, Counted]:
        if tokenizer not in self._counted:
            raise InputError(f'no tokenizer "{tokenizer}" was evaluated; there is {", ".join(self.tokenizers)}')
        return self._counted[tokenizer]


def evaluate(
    tokenizers: Tokenizers,
    counts: UnitSource,
    *,
    by: GroupBy = "language",
    languages: Sequence[str] | None = None,
    metrics: Iterable[str | Metric] | None = None,
    sizes: Sequence[int] | Mapping[str, Sequence[int]] = (),
    curves: bool = False,
    overall: bool = False,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Figures of each tokenizer on each language of the counts, with 95 % intervals.

    With `sizes` there are figures for these vocabulary sizes too, of all tokenizers or by name; and with them, or with
    `curves`, for every size. With `overall` they are also of all languages together, as a language of that name: each
    document counts as it was sampled. `progress(done, wanted)` is called with the number of tokenizers.

    >>> import piecework as pw
    >>> text = ["en rask räv hoppar över en lat hund"] * 9
    >>> tokenizer = pw.train(pw.count_words(text), pw.Recipe(vocab_size=30))
    >>> evaluation = evaluate({"small": tokenizer}, pw.count_units({"sv": text}))
    >>> row = evaluation.metrics.where(metric="word_fertility").rows()[0]
    >>> row["value"], row["numerator"], row["denominator"]
    (2.75, 198.0, 72.0)
    """
    chosen = find_metrics(metrics)
    if not chosen:
        raise InputError("no metric to evaluate")
    if by not in ("language", "subset"):
        raise InputError(f'figures are by "language" or by "subset", not by {by!r}')
    units = evaluation_units(counts, chosen, languages, by, overall=overall)
    return evaluate_on(
        units, tokenizers, metrics=chosen, sizes=sizes, curves=curves, threads=threads, progress=progress
    )


def evaluate_on(
    units: EvaluationUnits,
    tokenizers: Tokenizers,
    *,
    metrics: Sequence[Metric],
    sizes: Sequence[int] | Mapping[str, Sequence[int]] = (),
    curves: bool = False,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """`evaluate` on units that `evaluation_units` gave for these metrics."""
    named = named_tokenizers(tokenizers)
    if threads < 1:
        raise InputError(f"threads must be 1 or more, not {threads}")
    wanted = {name: sizes.get(name, ()) if isinstance(sizes, Mapping) else sizes for name in named}
    larger = _larger(named)
    plans: dict[str, Sizes | None] = {}
    for name, tokenizer in named.items():
        smaller = [named[other].vocab_size for other, base in larger.items() if base == name]
        asked = bool(wanted[name] or smaller or curves)
        plans[name] = Sizes.of(tokenizer, [*wanted[name], *smaller], name=name) if asked else None
    if not any(text[:, :, TEXT_TOTALS.index("characters")].any() for text in units.text.values()):
        raise InputError(
            f"there is no evaluation text in {', '.join(units.languages) or 'these counts'}; raise the evaluation"
            " fraction (sampling.eval) and count again, or give documents"
        )
    in_blocks = not all(metric.adds_up for metric in metrics)
    evaluation = Evaluation(named, metrics, units)
    together: dict[str, list[str]] = {}  # by tokenizer, those that follow from its pass
    for name in named:
        together.setdefault(larger.get(name, name), []).append(name)
    # A tokenizer a thread: its figures are made while others are passed, and sums of threads need not be added up.
    at_once = min(threads, len(together))

    def judge(base: str) -> dict[str, _Judged]:
        passes = Passes(named[base], name=base, sizes=plans[base], threads=threads // at_once)
        found = passes.run(units, in_blocks=in_blocks)
        return {
            name: evaluation._judge(
                name, found if name == base else passes.smaller(found, named[name]), units, plans[name]
            )
            for name in together[base]
        }

    judged: dict[str, _Judged] = {}
    for found in in_threads(judge, together, threads=at_once):
        for name in found:
            judged[name] = found[name]
            if progress is not None:
                progress(len(judged), len(named))
    for name in named:
        evaluation._add(name, judged[name], plans[name], set(wanted[name]))
    return evaluation


def _larger(tokenizers: Mapping[str, Tokenizer]) -> dict[str, str]:
    """The tokenizers that are smaller sizes of another one, and that one: it tells all of them."""
    found = {}
    by_size = sorted(tokenizers, key=lambda name: -tokenizers[name].vocab_size)
    for name in by_size:
        for base in by_size:
            if base not in found and is_smaller_size(tokenizers[name], tokenizers[base]):
                found[name] = base
                break
    return found


def named_tokenizers(tokenizers: Tokenizers) -> dict[str, Tokenizer]:
    """The tokenizers by name; those that have none are called by their number, a single one `tokenizer`."""
    if isinstance(tokenizers, Tokenizer):
        tokenizers = {"tokenizer": tokenizers}
    elif not isinstance(tokenizers, Mapping):
        tokenizers = {f"tokenizer {number}": each for number, each in enumerate(tokenizers, 1)}
    if not tokenizers:
        raise InputError("no tokenizer to evaluate")
    for name, tokenizer in tokenizers.items():
        if not isinstance(tokenizer, Tokenizer):
            raise InputError(
                f'"{name}" is a {type(tokenizer).__name__}, not a piecework.Tokenizer; '
                "load a BPE model with piecework.Tokenizer.load(path)"
            )
    return dict(tokenizers)


def evaluation_units(
    counts: UnitSource,
    metrics: Sequence[Metric],
    languages: Sequence[str] | None = None,
    by: GroupBy = "language",
    *,
    overall: bool = False,
) -> EvaluationUnits:
    """The units that these metrics are made from, not read yet."""
    if languages is None:
        wanted = list(counts.languages)
    else:
        wanted = [languages] if isinstance(languages, str) else list(dict.fromkeys(languages))
        if missing := [language for language in wanted if language not in counts.languages]:
            raise InputError(
                f'no language "{missing[0]}" in these counts; there is {", ".join(counts.languages) or "none"}'
            )
    kinds = sorted({metric.units for metric in metrics})
    in_blocks = {metric.units for metric in metrics if not metric.adds_up}
    return EvaluationUnits(counts, kinds, wanted, by=by, in_blocks=in_blocks, overall=overall)


def _row(name: str, vocab_size: int, group: str, metric: Metric, figure: Figure) -> tuple[Any, ...]:
    low, high = figure.interval or (None, None)
    return name, vocab_size, group, metric.name, figure.value, low, high, figure.numerator, figure.denominator


def _better(metric: Metric) -> str:
    return {"lower": "lower is better", "higher": "higher is better", "none": metric.formula}[metric.direction]
