"""The vocabulary size: exact curves over every size, what each further thousand pieces brings, and which to pick."""

from __future__ import annotations

from typing import Any

import numpy as np

from piecework.common.terms import OVERALL
from piecework.evaluation.metrics import Array
from piecework.report.blocks import Figure, Heading, Kind, Note, Section, Sheet
from piecework.report.charts import Line, LineChart
from piecework.report.charts.axes import Format, value_text
from piecework.report.palette import Look
from piecework.report.readings import Readings
from piecework.report.scales import format_share, nice_ticks

__all__ = ["shown_sizes", "sizes_section"]

SMALL_GAINS = (0.01, 0.005, 0.002, 0.001)


def shown_sizes(readings: Readings, sizes: Array) -> list[int]:
    """The sizes that tables have and charts mark: the study's own, or round ones where it names none."""
    smallest, full = int(sizes[0]), int(sizes[-1])
    wanted = [size for size in readings.marked_sizes if smallest <= size <= full]
    if len(wanted) < 2:
        wanted = sorted({full, *(int(tick) for tick in nice_ticks(smallest, full, count=8) if smallest < tick < full)})
    return wanted


def sizes_section(readings: Readings) -> Section | None:
    """Curves of fertility and continued words, the gain per further pieces, and a table to choose by."""
    sizes, overall = readings.curve("fertility")
    if len(sizes) < 2 or not np.isfinite(overall).any():
        return None
    marked = shown_sizes(readings, sizes)
    unit = 1000 if sizes[-1] >= 16_000 else 100 if sizes[-1] >= 1600 else 10
    blocks: list[Figure | Sheet | Note] = [
        _curves(readings, "fertility", marked, 1.0, "Tokens per word"),
        _curves(readings, "continued_words", marked, 0.0, "Words of more than one token"),
        *_gains(readings, marked, unit),
        _choice(readings, marked, unit),
        Note(
            "These are no interpolations: one pass over the text gives the exact figure of every size from "
            f"{int(sizes[0]):,} to {int(sizes[-1]):,}, as training at that size would. The drawn lines have "
            "up to two points for each pixel; results/sizes.parquet has every one."
        ),
    ]
    lead = (
        "A larger vocabulary needs fewer tokens, and each further piece helps less than the one before. "
        "Every piece also costs a row in a model's embedding. Which size is worth it?"
    )
    return Section("sizes", "The vocabulary size", lead, tuple(blocks))


def _lines(readings: Readings, metric: str, start: float) -> list[Line]:
    lines = []
    for language in readings.languages:
        sizes, values = readings.curve(metric, language)
        if np.isfinite(values).any():
            lines.append(Line(readings.name(language), readings.looks[language], sizes, values).since(start))
    return lines


def _curves(readings: Readings, metric: str, marked: list[int], floor: float, axis: str) -> Figure:
    kind: Format = "share" if metric == "continued_words" else "number"
    lines = _lines(readings, metric, marked[0])
    falls = {line.label: 1 - float(line.y[-1]) / float(line.y[0]) for line in lines if line.y[0]}
    order = sorted(falls, key=lambda name: (falls[name], name))
    name = "Fertility falls" if metric == "fertility" else "Continued words fall"
    title = f"From {marked[0]:,} to {marked[-1]:,} pieces, {name[0].lower()}{name[1:]}"
    if order:
        title += f" by {format_share(falls[order[0]], decimals=0)} ({order[0]})"
    if len(order) > 1:
        title += f" to {format_share(falls[order[-1]], decimals=0)} ({order[-1]})"
    chart = LineChart(
        title,
        f"{axis} against the vocabulary size. "
        + " ".join(
            f"{line.label}: {value_text(float(line.y[0]), kind)} to {value_text(float(line.y[-1]), kind)}."
            for line in lines
        ),
        axis,
        "Vocabulary size",
        tuple(lines),
        tuple(marked),
        floor=floor,
        kind=kind,
    )
    sheet_kind: Kind = "share" if kind == "share" else "number"
    sheet = Sheet.of(
        f"{axis}, by vocabulary size",
        [Heading("vocabulary size", "count"), *(Heading(line.label, sheet_kind) for line in lines)],
        [(size, *(line.at(size) for line in lines)) for size in marked],
    )
    reading = (
        "The multilingual tokenizer at every size. Marks are the sizes of the study. Lower is better; "
        "a flat line says that more pieces no longer help."
    )
    return Figure(f"sizes-{metric.replace('_', '-')}", title, reading, chart, sheet)


def _gain(sizes: Array, values: Array, unit: int) -> tuple[Array, Array]:
    """At each size, the share of the tokens that `unit` further pieces save, from the stretch around it.

    A single piece brings what it happens to bring, so the slope is that of a stretch: a sixteenth of the vocabulary.
    """
    half = _half_stretch(sizes)
    if len(sizes) <= 2 * half:
        return sizes[:0], values[:0]
    rate = np.log(values[: -2 * half] / values[2 * half :]) / (2 * half)
    return sizes[half:-half], -np.expm1(-rate * unit)


def _gains(readings: Readings, marked: list[int], unit: int) -> list[Figure]:
    # The first sizes gain so much that nothing else could be seen beside them.
    start = marked[1] if len(marked) > 3 else marked[0]
    looks = {**readings.looks, OVERALL: Look("var(--axis)", "circle")}
    lines = []
    for language in [*readings.languages, OVERALL]:
        line = Line(readings.name(language), looks[language], *_gain(*readings.curve("fertility", language), unit))
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
        f"Share of the tokens that {unit:,} further pieces save, against the vocabulary size. {listed}",
        f"Tokens saved by {unit:,} further pieces",
        "Vocabulary size",
        tuple(lines),
        tuple(marked),
        kind="share",
        height=290,
    )
    points = [size for size in marked if overall.at(size) is not None] or [int(overall.x[0]), int(overall.x[-1])]
    sheet = Sheet.of(
        f"Share of the tokens saved by {unit:,} further pieces",
        [Heading("vocabulary size", "count"), *(Heading(line.label, "share") for line in lines)],
        [(size, *(line.at(size) for line in lines)) for size in points],
    )
    reading = (
        f"At each size, how many percent of the tokens {unit:,} more pieces save: the slope of the fertility over "
        f"{2 * _half_stretch(readings.curve('fertility')[0]):,} pieces around that size."
    )
    return [Figure("sizes-gain", title, reading, chart, sheet)]


def _half_stretch(sizes: Array) -> int:
    return max(1, len(sizes) // 32)


def _gain_title(overall: Line, unit: int) -> str:
    for small in reversed(SMALL_GAINS):
        # From where on every further step is small, not where one first is: the curve is not quite smooth.
        large = np.flatnonzero(overall.y > small)
        first = int(large[-1]) + 1 if len(large) else 0
        if first < len(overall.y) * 0.9:
            return (
                f"From {_rounded(overall, first, unit):,} pieces on, another {unit:,} save less than "
                f"{format_share(small)} of the tokens"
            )
    return f"At the full size, another {unit:,} pieces still save {format_share(float(overall.y[-1]))} of the tokens"


def _rounded(line: Line, place: int, unit: int) -> int:
    """A point of a curve, rounded up where the curve reaches so far."""
    size = int(line.x[place])
    rounded = -(-size // unit) * unit
    return rounded if rounded <= line.x[-1] else size


def _choice_title(rows: list[tuple[Any, ...]]) -> str:
    title = "Which size should I pick?"
    if len(rows) > 1 and rows[-2][2] is not None:
        title += (
            f" {rows[-2][0]:,} pieces need {format_share(rows[-2][2])} more tokens than {rows[-1][0]:,}, "
            f"{rows[0][0]:,} need {format_share(rows[0][2])}"
        )
    return title


def _choice(readings: Readings, marked: list[int], unit: int) -> Sheet:
    sizes, values = readings.curve("fertility")
    overall = Line(OVERALL, Look("", ""), sizes, values)
    gain = Line(OVERALL, Look("", ""), *_gain(sizes, values, unit))
    lines = _lines(readings, "fertility", 0)
    full = float(values[-1])
    rows = []
    for size in marked:
        value = overall.at(size)
        by_language = {line.label: at for line in lines if (at := line.at(size)) is not None}
        worst = max(by_language, key=lambda name: (by_language[name], name), default="–")
        more = None if value is None else value / full - 1
        rows.append((size, value, more, gain.at(size), worst, by_language.get(worst)))
    return Sheet.of(
        "The smallest at which you can live with the tokens that it costs over the full one. Where a further step "
        "saves next to nothing, more pieces only cost memory.",
        [
            Heading("vocabulary size", "count"),
            Heading("fertility, all text", "number"),
            Heading("more tokens than at full size", "share"),
            Heading(f"saved by {unit:,} more", "share"),
            "dearest language",
            Heading("its fertility", "number"),
        ],
        rows,
        name="which-size",
        title=_choice_title(rows),
    )
