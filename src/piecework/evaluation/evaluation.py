"""The result of an evaluation: estimates of tokenizers on the text of languages, as tables and curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from piecework.common.terms import OVERALL
from piecework.errors import InputError
from piecework.evaluation import intervals
from piecework.evaluation.curves import Curve, Sizes
from piecework.evaluation.estimates import Estimate, size_estimates
from piecework.evaluation.metrics import SUMS, Array, Metric, UnitKind, find_metrics
from piecework.evaluation.passes import SIZE_TOTALS, TEXT_TOTALS, TOKEN_TOTALS, TableTotals
from piecework.evaluation.tables import Table, html_table
from piecework.evaluation.units import EvaluationUnits
from piecework.evaluation.word_spacing import UNSPACED_SHARE
from piecework.tokenizer.trained import TrainedTokenizer

__all__ = ["Evaluation", "TokenizerResult"]


@dataclass(frozen=True, slots=True)
class TokenizerResult:
    """The totals and estimates of one tokenizer; estimates are in the order of the groups."""

    totals: Mapping[UnitKind, TableTotals]
    estimates: Mapping[str, Sequence[Estimate]]
    """By metric."""
    sizes: Sizes | None
    listed_sizes: Sequence[int]
    """The sizes that have rows in `Evaluation.sizes`."""


class Evaluation:
    """Estimates of tokenizers on the text of languages, as tables."""

    def __init__(
        self,
        tokenizers: Mapping[str, TrainedTokenizer],
        metrics: Sequence[Metric],
        units: EvaluationUnits,
        results: Mapping[str, TokenizerResult],
    ) -> None:
        """Use `evaluate` instead."""
        self.tokenizers = dict(tokenizers)
        self.metric_list = list(metrics)
        self.by = units.by
        self.groups = units.groups
        """The languages, or the subsets."""
        self._all_groups = [*units.groups, *([OVERALL] if units.overall else [])]
        self._text = units.text
        self._units = units
        self._results = results

    @cached_property
    def metrics(self) -> Table:
        """A row for each tokenizer, language and metric: value, 95 % interval, numerator and denominator."""
        rows = [
            _row(name, self.tokenizers[name].vocab_size, group, metric, result.estimates[metric.name][number])
            for name, result in self._results.items()
            for number, group in enumerate(self._all_groups)
            for metric in self.metric_list
        ]
        return self._table(rows, "Metrics")

    @cached_property
    def sizes(self) -> Table:
        """The same for each requested vocabulary size, for the metrics that every size has."""
        rows = []
        for name, result in self._results.items():
            if result.sizes is None:
                continue
            found = size_estimates(result.sizes, result.totals, self._units, self.metric_list)
            by_size = {(metric, size): estimates for metric, size, estimates in found}
            rows += [
                _row(name, size, group, metric, by_size[metric, size][number])
                for number, group in enumerate(self._all_groups)
                for size in result.listed_sizes
                for metric in self.metric_list
                if metric.has_curve
            ]
        return self._table(rows, "Metrics by vocabulary size")

    @property
    def without_text(self) -> list[str]:
        """The languages without evaluation text; they have no estimates."""
        characters = sum(text[: len(self.groups), :, 1].sum(axis=1) for text in self._text.values())
        return [group for group, count in zip(self.groups, characters, strict=True) if not count]

    @property
    def unspaced_shares(self) -> dict[str, float]:
        """For each language, the share of its characters, spaces aside, that are of scripts written without spaces."""
        return self._units.unspaced_shares

    @property
    def without_spaces(self) -> list[str]:
        """The languages written without spaces: tokens per word say nothing about them."""
        return [group for group, share in self.unspaced_shares.items() if share > UNSPACED_SHARE]

    @property
    def without_intervals(self) -> list[str]:
        """The languages with too few documents for intervals."""
        text = next(iter(self._text.values()))[: len(self.groups)]
        occupied = np.count_nonzero(text[:, :, 1], axis=1)
        return [
            group for group, count in zip(self.groups, occupied, strict=True) if 0 < count < intervals.FEWEST_BUCKETS
        ]

    def matrix(self, metric: str | Metric) -> Table:
        """The values of one metric: a row for each language, a column for each tokenizer."""
        chosen = self._metric(metric)
        results = self._results.values()
        rows = [
            (group, *(result.estimates[chosen.name][number].value for result in results))
            for number, group in enumerate(self.groups)
        ]
        return Table.of([self.by, *self.tokenizers], rows, title=f"{chosen.title} ({_better(chosen)})")

    def curve(self, tokenizer: str, group: str, metric: str | Metric = "fertility") -> Curve:
        """A metric at every vocabulary size, from the alphabet to the full vocabulary, for one language."""
        chosen = self._metric(metric)
        result = self._result(tokenizer)
        counted = result.totals.get(chosen.units)
        if not chosen.has_curve:
            with_curve = ", ".join(each.name for each in self.metric_list if each.has_curve)
            raise InputError(f'"{chosen.name}" has no curve; these metrics have one: {with_curve}')
        if result.sizes is None or counted is None or counted.curve is None:
            raise InputError(f'the curve of "{tokenizer}" was not computed: call evaluate(..., curves=True)')
        number = self._group(group)
        text = self._text[chosen.units][number].sum(axis=0)
        totals = dict(zip(SIZE_TOTALS, counted.curve[number].T, strict=True))
        totals |= dict(zip(TEXT_TOTALS, text, strict=True))
        totals["vocab_size"] = result.sizes.vocab_sizes
        return Curve(chosen, totals["vocab_size"], *chosen.ratio(totals))

    def frequencies(self, tokenizer: str) -> Table:
        """How often each piece is a token, by language; pieces that never occur have no row."""
        counts = self.frequency_array(tokenizer)
        pieces = self.tokenizers[tokenizer].pieces
        groups, ids = np.nonzero(counts)
        rows = (
            (int(i), pieces[i].text, pieces[i].group, self.groups[g], int(counts[g, i]))
            for g, i in zip(groups, ids, strict=True)
        )
        return Table.of(["id", "piece", "group", self.by, "count"], rows, title=f"Token frequencies of {tokenizer}")

    def frequency_array(self, tokenizer: str) -> Array:
        """How often each piece is a token in the unchanged text: a row for each language, a column for each id."""
        counted = self._result(tokenizer).totals.get("eval")
        if counted is None or counted.frequencies is None:
            raise InputError("no frequencies: all requested metrics are of the text without punctuation")
        return counted.frequencies[: len(self.groups)]

    def bucket_totals(self, tokenizer: str, units: UnitKind = "eval") -> dict[str, Array]:
        """The totals by name: a row for each language, a column for each of the 32 buckets."""
        counted = self._result(tokenizer).totals[units].totals[: len(self.groups)]
        text = self._text[units][: len(self.groups)]
        totals = dict(zip(TOKEN_TOTALS, np.moveaxis(counted, 2, 0), strict=True))
        return totals | dict(zip(TEXT_TOTALS, np.moveaxis(text, 2, 0), strict=True))

    def totals(self, tokenizer: str, units: UnitKind = "eval") -> Table:
        """The totals that metrics are computed from: a row for each language."""
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

    def _table(self, rows: list[tuple[Any, ...]], title: str) -> Table:
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

    def _result(self, tokenizer: str) -> TokenizerResult:
        if tokenizer not in self._results:
            raise InputError(f'no tokenizer "{tokenizer}" was evaluated; there is {", ".join(self.tokenizers)}')
        return self._results[tokenizer]


def _row(name: str, vocab_size: int, group: str, metric: Metric, estimate: Estimate) -> tuple[Any, ...]:
    low, high = estimate.interval or (None, None)
    return name, vocab_size, group, metric.name, estimate.value, low, high, estimate.numerator, estimate.denominator


def _better(metric: Metric) -> str:
    return {"lower": "lower is better", "higher": "higher is better", "none": metric.formula}[metric.direction]
