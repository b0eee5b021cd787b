"""The cost of each language: fertility and continued words by both definitions of a word, and all other metrics."""

from __future__ import annotations

from piecework.common.terms import OVERALL
from piecework.evaluation.metrics import Metric, all_metrics
from piecework.report.blocks import Figure, Heading, Kind, Note, Section, Sheet
from piecework.report.charts import Bar, BarChart
from piecework.report.charts.axes import Format, value_text
from piecework.report.study_data import StudyData

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
"""Metrics between 0 and 1, printed in percent."""


def languages_section(data: StudyData) -> Section | None:
    """Bars with values and intervals; then all metrics in one table."""
    if not data.values("fertility"):
        return None
    blocks: list[Figure | Sheet | Note] = [
        _bars(
            data,
            "fertility",
            "tokens per word",
            "Tokens per word, as the paper defines it: ASCII punctuation is removed, and a token that starts with ▁ "
            "starts a "
            "word. 1 means that every word is a single piece. Lower is better.",
            "Tokens per word",
            1.0,
        ),
        _bars(
            data,
            "continued_words",
            "of the words are split",
            "Continued words: the share of words of two or more tokens, by the same definition of a word. Lower is "
            "better.",
            "Words of two or more tokens",
            0.0,
        ),
        Note(
            "The next two figures count whitespace words: text between whitespace, with nothing removed. On prose the "
            "two "
            "definitions differ by the punctuation that is attached to words. On code they differ a lot: by the "
            "paper's "
            "definition, indentation counts as a word, and a word after a newline does not."
        ),
        _bars(
            data,
            "word_fertility",
            "tokens per whitespace word",
            "Tokens per whitespace word, including punctuation. Lower is better.",
            "Tokens per whitespace word",
            1.0,
        ),
        _bars(
            data,
            "split_words",
            "of the whitespace words are split",
            "The share of whitespace words of two or more tokens. Lower is better.",
            "Whitespace words of two or more tokens",
            0.0,
        ),
        _all_metrics(data),
    ]
    lead = (
        "How many tokens the multilingual tokenizer needs for the words of each language, on held-out text. Whiskers "
        "are "
        "95 % intervals: the range to expect on other documents of the same kind."
    )
    return Section("languages", "The languages", lead, tuple(blocks))


def _bars(data: StudyData, metric: str, unit: str, how_to_read: str, axis: str, floor: float) -> Figure:
    values = data.values(metric)
    kind: Format = "share" if metric in SHARES else "number"
    order = [*reversed(values), *([OVERALL] if len(values) > 1 else [])]
    title = _title(data, metric, unit, kind)
    bars = []
    for language in order:
        estimate = data.estimate(metric, language)
        colour = data.looks[language].colour if language in data.looks else "var(--axis)"
        bars.append(Bar(data.name(language), estimate.value, estimate.low, estimate.high, colour))
    listed = ", ".join(f"{bar.label} {value_text(bar.value, kind)}" for bar in bars)
    chart = BarChart(title, f"{axis}: {listed}.", axis, tuple(bars), floor=floor, kind=kind)
    sheet_kind: Kind = "share" if kind == "share" else "number"
    sheet = Sheet.build(
        axis,
        [
            "language",
            Heading("value", sheet_kind),
            Heading("95 % interval from", sheet_kind),
            Heading("to", sheet_kind),
        ],
        [(bar.label, bar.value, bar.low, bar.high) for bar in bars],
    )
    return Figure(metric.replace("_", "-"), title, how_to_read, chart, sheet)


def _title(data: StudyData, metric: str, unit: str, kind: Format) -> str:
    """The most expensive and the cheapest language; `unit` follows the number."""
    values = data.values(metric)
    cheapest, highest = next(iter(values)), next(reversed(values))
    high, low = value_text(values[highest], kind), value_text(values[cheapest], kind)
    if kind == "share":
        title = f"In {data.inline_name(highest)}, {high} {unit}"
        return f"{title}; in {data.inline_name(cheapest)}, {low}" if len(values) > 1 else title
    title = f"{data.name(highest)}: {high} {unit}"
    return f"{title}; {data.inline_name(cheapest)}: {low}" if len(values) > 1 else title


def _all_metrics(data: StudyData) -> Sheet:
    known = {row["metric"] for row in data.rows("metrics")}
    metrics = [metric for metric in all_metrics() if metric.name in known]
    headings = [Heading(_heading(metric), _kind(metric), f"{metric.formula}. {_better(metric)}") for metric in metrics]
    rows = [
        (data.name(language), *(data.estimate(metric.name, language).value for metric in metrics))
        for language in [*data.languages, *([OVERALL] if len(data.languages) > 1 else [])]
    ]
    return Sheet.build(
        "All metrics of the multilingual tokenizer. Click a heading to sort. Formulas are under Method.",
        ["language", *headings],
        rows,
        name="all-metrics",
        title="All metrics",
    )


def _heading(metric: Metric) -> str:
    arrow = {"lower": " ↓", "higher": " ↑", "none": ""}[metric.direction]
    return f"{metric.title}{arrow}"


def _kind(metric: Metric) -> Kind:
    return "share" if metric.name in SHARES else "number"


def _better(metric: Metric) -> str:
    return {"lower": "Lower is better.", "higher": "Higher is better.", "none": ""}[metric.direction]
