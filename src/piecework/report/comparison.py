"""The charts of a comparison of tokenizers, from the parts of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from piecework.common.terms import OVERALL
from piecework.corpus.languages import language_name
from piecework.evaluation.compare import LENGTH
from piecework.report.charts import NARROW, WIDE, Chart, Dot, DotChart, DotRow
from piecework.report.charts.axes import value_text
from piecework.report.palette import DARK, LIGHT, css_variables, language_looks
from piecework.report.svg import identified

if TYPE_CHECKING:
    from piecework.evaluation.compare import Comparison

__all__ = ["CHART_STYLE", "comparison_charts"]

MOST_DOTS = 12
"""Tokenizers that can be told apart by colour and shape."""

CHART_STYLE = (
    f":root{{{css_variables(LIGHT)}}}@media screen and (prefers-color-scheme:dark){{:root{{{css_variables(DARK)}}}}}"
    "figure{margin:1.5rem 0}figcaption{font-weight:600;margin-bottom:.4rem}"
    ".chart{overflow-x:auto}.narrow{display:none}"
    "@media (max-width:799px){.wide-chart{display:none}.narrow{display:block}}"
)
"""The colours of the charts in light and dark, and which width a screen shows."""


def comparison_charts(comparison: Comparison) -> Markup:
    """Figures as HTML: tokens by language compared with the first tokenizer, and tokens per word; none for one."""
    names = list(comparison.tokenizers)
    if len(names) < 2 or len(names) > MOST_DOTS + 1:
        return Markup()
    # All text would mix words with text that has none.
    left_out = {*comparison.without_spaces, OVERALL} if comparison.without_spaces else set()
    spaced = [name for name in comparison.languages if name not in left_out]
    chart = _chart(comparison, LENGTH, comparison.languages, f"Tokens / tokens of {names[0]}", 0.0)
    parts = [_figure("sequence-length", chart)]
    if spaced:
        chart = _chart(comparison, "word_fertility", spaced, "Tokens per whitespace word", 1.0)
        parts.append(_figure("tokens-per-word", chart))
    return Markup("\n").join(parts)


def _chart(comparison: Comparison, metric: str, languages: list[str], axis: str, floor: float) -> Chart:
    first, *others = comparison.tokenizers
    looks = language_looks(others)
    found = comparison.metrics.where(metric=metric).rows()
    values = {(row["language"], row["tokenizer"]): row["value"] for row in found}
    rows = []
    for language in languages:
        dots = tuple(
            Dot(name, value, looks[name]) for name in others if (value := values.get((language, name))) is not None
        )
        label = "All text" if language == OVERALL else language_name(language)
        rows.append(DotRow(label[:1].upper() + label[1:], values.get((language, first)), dots))
    description = f"{axis} by language. " + " ".join(
        f"{row.label}: {first} {value_text(row.bar, 'number')}"
        + "".join(f", {dot.label} {value_text(dot.value, 'number')}" for dot in row.dots)
        + "."
        for row in rows
    )
    return DotChart(f"{axis}, by language; lower is better", description, axis, first, tuple(rows), floor=floor)


def _figure(name: str, chart: Chart) -> Markup:
    wide, narrow = (identified(chart.svg(width=width), f"{name}-{width}") for width in (WIDE, NARROW))
    return Markup(
        f"<figure><figcaption>{escape(chart.title)}</figcaption>"
        f'<div class="chart wide-chart">{wide}</div><div class="chart narrow">{narrow}</div></figure>'
    )
