"""What each language pays: fertility and continued words by both definitions of a word, and all other metrics."""

from __future__ import annotations

from piecework.common.terms import OVERALL
from piecework.evaluation.metrics import Metric, all_metrics
from piecework.report.blocks import Figure, Heading, Kind, Note, Section, Sheet
from piecework.report.charts import Bar, BarChart
from piecework.report.charts.axes import Format, value_text
from piecework.report.readings import Readings

__all__ = ["SHARES", "languages_section"]

SHARES = {
    "continued_words",
    "split_words",
    "unknown_rate",
    "byte_rate",
    "vocabulary_utilisation",
    "renyi_efficiency",
    "single_token_types",
}
"""Metrics that lie between 0 and 1, and are read in percent."""


def languages_section(readings: Readings) -> Section | None:
    """Bars with values and intervals from the axis' floor; then everything in one table."""
    if not readings.values("fertility"):
        return None
    blocks: list[Figure | Sheet | Note] = [
        _bars(
            readings,
            "fertility",
            "tokens a word",
            "Tokens per word. Punctuation is removed first, and a word is a token that starts with ▁, as in the paper. "
            "1 would be a piece for every word. Lower is better.",
            "Tokens per word",
            1.0,
        ),
        _bars(
            readings,
            "continued_words",
            "of the words take more than one token",
            "The share of words that take more than one token, by the same definition of a word. Lower is better.",
            "Words of more than one token",
            0.0,
        ),
        Note(
            "The two figures below ask the same over whitespace words: runs of what is not whitespace, with nothing "
            "removed. On prose the definitions differ by the punctuation that sticks to words. On code they differ a "
            "lot, because in the first a run of indentation counts as a word, and a word after a newline does not."
        ),
        _bars(
            readings,
            "word_fertility",
            "tokens per whitespace word",
            "Tokens per whitespace word, punctuation included. Lower is better.",
            "Tokens per whitespace word",
            1.0,
        ),
        _bars(
            readings,
            "split_words",
            "of the whitespace words are split",
            "The share of whitespace words of two or more tokens. Lower is better.",
            "Whitespace words of two or more tokens",
            0.0,
        ),
        _all_metrics(readings),
    ]
    lead = (
        "How many tokens the multilingual tokenizer needs for the words of each language, on text that it was not "
        "trained on. Whiskers are 95 % intervals: where the figure would lie on other documents of the same kind."
    )
    return Section("languages", "The languages", lead, tuple(blocks))


def _bars(readings: Readings, metric: str, unit: str, reading: str, axis: str, floor: float) -> Figure:
    values = readings.values(metric)
    kind: Format = "share" if metric in SHARES else "number"
    order = [*reversed(values), *([OVERALL] if len(values) > 1 else [])]
    title = _title(readings, metric, unit, kind)
    bars = []
    for language in order:
        figure = readings.figure(metric, language)
        colour = readings.looks[language].colour if language in readings.looks else "var(--axis)"
        bars.append(Bar(readings.name(language), figure.value, figure.low, figure.high, colour))
    listed = ", ".join(f"{bar.label} {value_text(bar.value, kind)}" for bar in bars)
    chart = BarChart(title, f"{axis}: {listed}.", axis, tuple(bars), floor=floor, kind=kind)
    sheet_kind: Kind = "share" if kind == "share" else "number"
    sheet = Sheet.of(
        axis,
        [
            "language",
            Heading("value", sheet_kind),
            Heading("95 % interval from", sheet_kind),
            Heading("to", sheet_kind),
        ],
        [(bar.label, bar.value, bar.low, bar.high) for bar in bars],
    )
    return Figure(metric.replace("_", "-"), title, reading, chart, sheet)


def _title(readings: Readings, metric: str, unit: str, kind: Format) -> str:
    """Who pays most, beside who pays least; `unit` is what stands after a number."""
    values = readings.values(metric)
    cheapest, dearest = next(iter(values)), next(reversed(values))
    high, low = value_text(values[dearest], kind), value_text(values[cheapest], kind)
    if kind == "share":
        title = f"In {readings.inline_name(dearest)}, {high} {unit}"
        return f"{title}; in {readings.inline_name(cheapest)}, {low}" if len(values) > 1 else title
    title = f"{readings.name(dearest)} takes {high} {unit}"
    return f"{title}, {readings.inline_name(cheapest)} {low}" if len(values) > 1 else title


def _all_metrics(readings: Readings) -> Sheet:
    known = {row["metric"] for row in readings.rows("metrics")}
    metrics = [metric for metric in all_metrics() if metric.name in known]
    headings = [Heading(_heading(metric), _kind(metric), f"{metric.formula}. {_better(metric)}") for metric in metrics]
    rows = [
        (readings.name(language), *(readings.figure(metric.name, language).value for metric in metrics))
        for language in [*readings.languages, *([OVERALL] if len(readings.languages) > 1 else [])]
    ]
    return Sheet.of(
        "Every metric of the multilingual tokenizer. Choose a heading to sort by it; the method explains each.",
        ["language", *headings],
        rows,
        name="all-metrics",
        title="Every metric, every language",
    )


def _heading(metric: Metric) -> str:
    arrow = {"lower": " ↓", "higher": " ↑", "none": ""}[metric.direction]
    return f"{metric.title}{arrow}"


def _kind(metric: Metric) -> Kind:
    return "share" if metric.name in SHARES else "number"


def _better(metric: Metric) -> str:
    return {"lower": "Lower is better.", "higher": "Higher is better.", "none": ""}[metric.direction]
