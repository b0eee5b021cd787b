"""A line chart: labels at the right end, kept apart, and marks at chosen values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from piecework.evaluation.metrics import Array
from piecework.report.charts.axes import SMALL, Format, axis_limit, axis_title, fitted, tick_text, value_axis
from piecework.report.palette import Look
from piecework.report.scales import Scale, keep_apart, nice_ticks, short_count
from piecework.report.svg import drawing, element, marker, path, text, text_width

__all__ = ["Line", "LineChart", "clipped", "thin"]

LABEL_DISTANCE = 15
TOOLTIPS = 36
"""Vertical strips over the chart, each with a tooltip that lists all values there."""
# Points per horizontal pixel, and the largest distance, in pixels, from the drawn line to an omitted point.
POINTS_PER_PIXEL, TOLERANCE = 2, 0.15


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A curve: its label, its look, and its points from left to right."""

    label: str
    look: Look
    x: Array
    y: Array

    def at(self, x: float) -> float | None:
        """The value at x, or None if the curve has no such point."""
        index = int(np.searchsorted(self.x, x))
        found = index < len(self.x) and self.x[index] == x and np.isfinite(self.y[index])
        return float(self.y[index]) if found else None

    def since(self, start: float) -> Line:
        """The part of the curve from `start` on."""
        index = int(np.searchsorted(self.x, start))
        return Line(self.label, self.look, self.x[index:], self.y[index:])


@dataclass(frozen=True, slots=True, eq=False)
class LineChart:
    """Curves over a common axis. The vertical axis starts at its floor."""

    title: str
    description: str
    axis: str
    below: str
    lines: tuple[Line, ...]
    marked: tuple[float, ...] = ()
    """Values of x with a dot on every curve."""
    floor: float = 0.0
    kind: Format = "number"
    height: int = 330

    def svg(self, *, width: int = 740) -> Markup:
        """The picture."""
        lines = [line for line in self.lines if np.isfinite(line.y).any()]
        low = min((float(line.x[0]) for line in lines), default=0.0)
        high = max((float(line.x[-1]) for line in lines), default=1.0)
        ticks = self._ticks(lines)
        step = min(np.diff(ticks).tolist())
        left = max(text_width(tick_text(tick, self.kind, step), SMALL) for tick in ticks) + 10
        names = [fitted(line.label, 0.3 * width) for line in lines]
        right = max((text_width(name) for name in names), default=0) + 26
        top, bottom = 34.0, float(self.height)
        x, y = Scale(low, high, left + 4, width - right), Scale(ticks[0], ticks[-1], bottom, top)
        parts = [axis_title(self.axis, 0, width)]
        for tick in ticks:
            colour = "var(--axis)" if tick == self.floor else "var(--rule)"
            parts.append(element("path", d=f"M{left:.1f} {y(tick):.1f}H{width - right:.1f}", stroke=colour))
            label = tick_text(tick, self.kind, step)
            parts.append(text(label, left - 6, y(tick) + 4, anchor="end", font_size=SMALL, fill="var(--soft)"))
        parts += self._below(x, bottom, low, high)
        for line in lines:
            drawn = clipped(thin(x, y, line), top)
            parts.append(path(drawn, stroke=line.look.colour, stroke_width=1.8, stroke_linejoin="round"))
            for mark in self.marked:
                value = line.at(mark)
                if value is not None and value <= ticks[-1]:
                    tooltip = f"{line.label}, {mark:,.0f}: {tick_text(value, self.kind, step / 100)}"
                    dot = marker(
                        line.look.marker, x(mark), y(value), radius=3.6, fill=line.look.colour, tooltip=tooltip
                    )
                    parts.append(dot)
        parts += _end_labels(lines, names, x, y, top, bottom)
        parts += self._tooltips(lines, x, top, bottom, step)
        middle = left + (width - right - left) / 2
        parts.append(text(self.below, middle, bottom + 36, anchor="middle", font_size=SMALL))
        return drawing(
            *parts,
            width=width,
            height=bottom + 44,
            title=self.title,
            description=self.description,
        )

    def _ticks(self, lines: Sequence[Line]) -> list[float]:
        """Ticks from the floor, or from below it if a curve goes there."""
        highest = [axis_limit((float(np.nanmax(line.y)) for line in lines), floor=self.floor)]
        lowest = min((float(np.nanmin(line.y)) for line in lines), default=self.floor)
        if lowest < self.floor:
            return nice_ticks(lowest, max(highest), count=5)
        return value_axis(self.floor, highest, count=5)

    def _tooltips(self, lines: Sequence[Line], x: Scale, top: float, bottom: float, step: float) -> list[Markup]:
        """Invisible strips whose tooltips list the values of all curves, highest first."""
        parts = []
        strip = (x.end - x.start) / TOOLTIPS
        middles = x.low + (np.arange(TOOLTIPS) + 0.5) / TOOLTIPS * (x.high - x.low)
        # All strips at once, because a search first converts all points of the curve.
        nearest = [np.searchsorted(line.x, middles).clip(max=len(line.x) - 1).tolist() for line in lines]
        for number, wanted in enumerate(middles.tolist()):
            values: list[tuple[float, str]] = []
            for line, indices in zip(lines, nearest, strict=True):
                index = indices[number]
                if np.isfinite(line.y[index]) and abs(float(line.x[index]) - wanted) <= (x.high - x.low) / TOOLTIPS:
                    values.append((float(line.y[index]), line.label))
                    found = float(line.x[index])
            if values:
                listed = [
                    f"{label}: {tick_text(value, self.kind, step / 100)}" for value, label in sorted(values)[::-1]
                ]
                tooltip = element("title", "\n".join([f"{self.below}: {found:,.0f}", *listed]))
                shape = {"x": x.start + number * strip, "y": top, "width": strip, "height": bottom - top}
                parts.append(element("rect", tooltip, class_="tip", fill="transparent", **shape))
        return parts

    def _below(self, scale: Scale, bottom: float, low: float, high: float) -> list[Markup]:
        """The marked values or, if they are few, round ones; if two labels would touch, the right one stays."""
        values = [value for value in self.marked if low <= value <= high]
        if len(values) < 2:
            values = sorted({*values, *(value for value in value_axis(low, [high]) if low <= value <= high)})
        parts = []
        # From the right: readers look for the full size.
        taken = scale.end + 99
        for value in reversed(values):
            label = short_count(value)
            half = text_width(label, SMALL) / 2
            position = scale(value)
            parts.append(element("path", d=f"M{position:.1f} {bottom:.1f}v5", stroke="var(--axis)"))
            if position + half + 5 <= taken:
                parts.append(text(label, position, bottom + 18, anchor="middle", font_size=SMALL, fill="var(--soft)"))
                taken = position - half
        return parts


def thin(x: Scale, y: Scale, line: Line) -> list[tuple[float, float]]:
    """The points of a curve in pixels, reduced to those that the drawing needs.

    A curve has up to 64,000 points and a chart a few hundred pixels. Two points per pixel are kept, and of these only
    the ones without which the line would be off by more than `TOLERANCE`.
    """
    known = np.flatnonzero(np.isfinite(line.y))
    columns = np.linspace(line.x[known[0]], line.x[known[-1]], max(2, int(abs(x.end - x.start) * POINTS_PER_PIXEL)))
    chosen = known[np.unique(np.searchsorted(line.x[known], columns).clip(0, len(known) - 1))]
    return _simplified(x(line.x[chosen].astype(float)), y(line.y[chosen].astype(float)))


def clipped(points: list[tuple[float, float]], top: float) -> list[tuple[float, float]]:
    """The part of a curve below the top of its chart, from where it enters.

    >>> clipped([(0, -10), (10, 10), (20, 20)], 0)
    [(5.0, 0), (10, 10), (20, 20)]
    """
    inside = [number for number, (_, y) in enumerate(points) if y >= top]
    if not inside:
        return []
    first = inside[0]
    entry = []
    if first:
        (x0, y0), (x1, y1) = points[first - 1], points[first]
        entry = [(x0 + (x1 - x0) * (top - y0) / (y1 - y0), top)]
    return [*entry, *(points[number] for number in inside)]


def _simplified(x: Array, y: Array) -> list[tuple[float, float]]:
    """The points that matter (Ramer-Douglas-Peucker)."""
    keep = np.zeros(len(x), bool)
    keep[[0, -1]] = True
    # All segments are split at once: a loop over many short segments would be slow.
    while True:
        kept, segment = np.flatnonzero(keep), np.cumsum(keep) - 1
        # The vertical distance of each point from the line: curves are functions of x.
        off = np.abs(y - np.interp(x, x[kept], y[kept]))
        farthest = np.flatnonzero((off > TOLERANCE) & (off == np.maximum.reduceat(off, kept)[segment]))
        if not len(farthest):
            return list(zip(x[kept].tolist(), y[kept].tolist(), strict=True))
        # The first of several points at the same distance.
        keep[farthest[np.diff(segment[farthest], prepend=-1) > 0]] = True


def _end_labels(
    lines: Sequence[Line], names: Sequence[str], x: Scale, y: Scale, top: float, bottom: float
) -> list[Markup]:
    last = [np.flatnonzero(np.isfinite(line.y))[-1] for line in lines]
    wanted = [max(y(float(line.y[index])), top) for line, index in zip(lines, last, strict=True)]
    label_y = keep_apart(wanted, distance=LABEL_DISTANCE, low=top, high=bottom)
    parts = []
    for line, name, index, from_y, to_y in zip(lines, names, last, wanted, label_y, strict=True):
        from_x = x(float(line.x[index]))
        start = x.end + 6
        leader = [(from_x + 1, from_y), (start, from_y), (start + 9, to_y), (start + 12, to_y)]
        if abs(from_y - to_y) > 2:
            parts.append(path(leader, stroke=line.look.colour, stroke_width=0.8))
        parts.append(text(name, start + 15, to_y + 4, fill="var(--ink)"))
    return parts
