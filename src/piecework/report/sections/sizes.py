"""The vocabulary size: exact curves over every size, the gain of more pieces, and which size to choose."""

from __future__ import annotations

from typing import Any

import numpy as np

from piecework.common.terms import OVERALL
from piecework.evaluation.metrics import Array
from piecework.report.blocks import Figure, Heading, Kind, Note, Section, Sheet
from piecework.report.charts import Line, LineChart
from piecework.report.charts.axes import Format
from piecework.report.palette import Look
from piecework.report.scales import format_share, nice_ticks
from piecework.report.sections.curves import FEW_LINES, curve_chart
from piecework.report.sections.model_costs import model_costs
from piecework.report.study_data import StudyData

__all__ = ["marked_sizes", "sizes_section"]

SMALL_GAINS = (0.01, 0.005, 0.002, 0.001)


def marked_sizes(data: StudyData, sizes: Array) -> list[int]:
    """The sizes in tables and marked in charts: those of the study, or round ones if it lists none."""
    smallest, full = int(sizes[0]), int(sizes[-1])
    wanted = [size for size in data.marked_sizes if smallest <= size <= full]
    if len(wanted) < 2:
        wanted = sorted({full, *(int(tick) for tick in nice_ticks(smallest, full, count=8) if smallest < tick < full)})
    return wanted


def sizes_section(data: StudyData) -> Section | None:
    """Curves of fertility and continued words, the gain of more pieces, and a table of sizes."""
    sizes, overall = data.curve("fertility")
    if len(sizes) < 2 or not np.isfinite(overall).any():
        return None
    marked = marked_sizes(data, sizes)
    unit = 1000 if sizes[-1] >= 16_000 else 100 if sizes[-1] >= 1600 else 10
    blocks: list[Figure | Sheet | Note] = [
        _curves(data, "fertility", marked, 1.0, "Tokens per word"),
        _curves(data, "continued_words", marked, 0.0, "Words of two or more tokens"),
        *_gains(data, marked, unit),
        _choice(data, marked, unit),
        *model_costs(data, marked),
    ]
    lead = (
        "A larger vocabulary needs fewer tokens, but each piece adds a row to the embeddings of the model, and each "
        "further piece saves less."
    )
    return Section("sizes", "The vocabulary size", lead, tuple(blocks))


def _lines(data: StudyData, metric: str, start: float) -> list[Line]:
    lines = []
    for language in data.spaced or data.languages:
        sizes, values = data.curve(metric, language)
        if np.isfinite(values).any():
            lines.append(Line(data.name(language), data.look(language), sizes, values).since(start))
    return lines


def _curves(data: StudyData, metric: str, marked: list[int], floor: float, axis: str) -> Figure:
    kind: Format = "share" if metric == "continued_words" else "number"
    lines = _lines(data, metric, marked[0])
    falls = {line.label: 1 - float(line.y[-1]) / float(line.y[0]) for line in lines if line.y[0]}
    order = sorted(falls, key=lambda name: (falls[name], name))
    name = "Fertility falls" if metric == "fertility" else "Continued words fall"
    title = f"From {marked[0]:,} to {marked[-1]:,} pieces, {name[0].lower()}{name[1:]}"
    if order:
        low, high = (format_share(falls[name], decimals=0) for name in (order[0], order[-1]))
        title += f" by {low}" if low == high else f" by {low} ({order[0]}) to {high} ({order[-1]})"
    sizes, overall = data.curve(metric)
    reference = None
    if not data.unspaced:
        reference = Line(data.name(OVERALL), data.look(OVERALL), sizes, overall).since(marked[0])
    chart = curve_chart(
        title, axis, lines, below="Vocabulary size", marked=marked, reference=reference, floor=floor, kind=kind
    )
    sheet_kind: Kind = "share" if kind == "share" else "number"
    sheet = Sheet.build(
        f"{axis}, by vocabulary size",
        [Heading("vocabulary size", "count"), *(Heading(line.label, sheet_kind) for line in lines)],
        [(size, *(line.at(size) for line in lines)) for size in marked],
    )
    how_to_read = (
        "The multilingual tokenizer at every size, exact and not interpolated. Marks are the sizes of the study. "
        "Lower is better. "
        "Where a line is flat, more pieces no longer help."
    )
    if len(lines) > FEW_LINES:
        how_to_read += " The number is the value at the full size." + (
            " The grey line is all text." if reference else ""
        )
    return Figure(f"sizes-{metric.replace('_', '-')}", title, how_to_read, chart, sheet, folded=metric != "fertility")


def _gain(sizes: Array, values: Array, unit: int) -> tuple[Array, Array]:
    """At each size, the share of tokens that `unit` more pieces save.

    The gain of a single piece is noise, so the slope is taken over a window: a sixteenth of the vocabulary.
    """
    half = _half_window(sizes)
    if len(sizes) <= 2 * half:
        return sizes[:0], values[:0]
    rate = np.log(values[: -2 * half] / values[2 * half :]) / (2 * half)
    return sizes[half:-half], -np.expm1(-rate * unit)


def _gains(data: StudyData, marked: list[int], unit: int) -> list[Figure]:
    # The first sizes gain so much that they would squash the rest of the chart.
    start = marked[1] if len(marked) > 3 else marked[0]
    lines = []
    # Many lines cannot be told apart: then only all text is drawn.
    languages = data.languages if len(data.languages) <= FEW_LINES else []
    for language in [*languages, OVERALL]:
        line = Line(data.name(language), data.look(language), *_gain(*data.curve("fertility", language), unit))
        line = line.since(start)
        if np.isfinite(line.y).any():
            lines.append(line)
    if not lines:
        return []
    overall = lines[-1]
    title = _gain_title(overall, unit)
    listed = " ".join(f"{line.label}: {format_share(line.y[0])} to {format_share(line.y[-1])}." for line in lines)
    chart = LineChart(
        title,
        f"Share of tokens that {unit:,} more pieces save, by vocabulary size. {listed}",
        f"Tokens saved by {unit:,} more pieces",
        "Vocabulary size",
        tuple(lines),
        tuple(marked),
        kind="share",
        height=250,
    )
    points = [size for size in marked if overall.at(size) is not None] or [int(overall.x[0]), int(overall.x[-1])]
    sheet = Sheet.build(
        f"Share of tokens saved by {unit:,} more pieces",
        [Heading("vocabulary size", "count"), *(Heading(line.label, "share") for line in lines)],
        [(size, *(line.at(size) for line in lines)) for size in points],
    )
    how_to_read = (
        f"The share of tokens that {unit:,} more pieces save at each size: the slope of the fertility curve over "
        f"{2 * _half_window(data.curve('fertility')[0]):,} pieces."
    )
    return [Figure("sizes-gain", title, how_to_read, chart, sheet)]


def _half_window(sizes: Array) -> int:
    return max(1, len(sizes) // 32)


def _gain_title(overall: Line, unit: int) -> str:
    for small in reversed(SMALL_GAINS):
        # The size after which every gain is small, not the first small gain: the curve is not quite smooth.
        large = np.flatnonzero(overall.y > small)
        first = int(large[-1]) + 1 if len(large) else 0
        if first < len(overall.y) * 0.9:
            return (
                f"From {_rounded(overall, first, unit):,} pieces on, {unit:,} more save less than "
                f"{format_share(small)} of the tokens"
            )
    return f"At the full size, {unit:,} more pieces still save {format_share(float(overall.y[-1]))} of the tokens"


def _rounded(line: Line, index: int, unit: int) -> int:
    """The size at an index, rounded up if the curve reaches that far."""
    size = int(line.x[index])
    rounded = -(-size // unit) * unit
    return rounded if rounded <= line.x[-1] else size


def _choice_title(rows: list[tuple[Any, ...]]) -> str:
    title = "Choosing a size:"
    if len(rows) > 1 and rows[-2][2] is not None:
        title += f" {rows[-2][0]:,} pieces cost {format_share(rows[-2][2])} more tokens than {rows[-1][0]:,}"
    return title


def _choice(data: StudyData, marked: list[int], unit: int) -> Sheet:
    sizes, values = data.curve("fertility")
    overall = Line(OVERALL, Look("", ""), sizes, values)
    gain = Line(OVERALL, Look("", ""), *_gain(sizes, values, unit))
    comparable = {data.name(language) for language in data.per_word}
    lines = [line for line in _lines(data, "fertility", 0) if line.label in comparable]
    full = float(values[-1])
    rows = []
    for size in marked:
        value = overall.at(size)
        by_language = {line.label: at for line in lines if (at := line.at(size)) is not None}
        worst = max(by_language, key=lambda name: (by_language[name], name), default="–")
        more = None if value is None else value / full - 1
        rows.append((size, value, more, gain.at(size), worst, by_language.get(worst)))
    return Sheet.build(
        "Take the smallest size whose extra tokens you can afford. Where more pieces save almost nothing, they only "
        "cost "
        "memory.",
        [
            Heading("vocabulary size", "count"),
            Heading("fertility, all text", "number"),
            Heading("extra tokens vs. full size", "share"),
            Heading(f"saved by {unit:,} more", "share"),
            "most expensive language",
            Heading("its fertility", "number"),
        ],
        rows,
        name="which-size",
        title=_choice_title(rows),
    )
