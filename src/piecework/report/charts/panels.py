"""Small multiples: a panel with one curve for each language, all on the same axes, beside the curve of all text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from piecework.report.charts.axes import SMALL, Format, axis_limit, fitted, tick_text, value_axis, value_text
from piecework.report.charts.lines import Line, clipped, thin
from piecework.report.scales import Scale, short_count
from piecework.report.svg import drawing, element, marker, path, text, text_width

__all__ = ["PanelChart"]

PANEL, TITLE, GAP, LEAST_WIDTH, MOST_FOR_A_LABEL = 66, 20, 16, 84, 132


BOLD = 1.08
"""How much wider bold letters are."""


@dataclass(frozen=True, slots=True, eq=False)
class PanelChart:
    """A panel for each curve, in rows. The horizontal axis is logarithmic; curves above the axis leave the panel."""

    title: str
    description: str
    axis: str
    below: str
    lines: tuple[Line, ...]
    reference: Line | None = None
    """The curve that every panel shows in grey."""
    marked: tuple[float, ...] = ()
    floor: float = 0.0
    kind: Format = "number"

    def svg(self, *, width: int = 740) -> Markup:
        """The picture."""
        lines = [line for line in self.lines if np.isfinite(line.y).any()]
        limit = axis_limit([_first(line) for line in lines], floor=self.floor)
        ticks = value_axis(self.floor, [limit], count=3)
        step = ticks[-1] - ticks[-2]
        left = max(text_width(tick_text(tick, self.kind, step), SMALL) for tick in ticks) + 8
        wanted = max((_room_for_title(line, self.kind) for line in lines), default=0.0)
        least = min(max(LEAST_WIDTH, wanted), MOST_FOR_A_LABEL)
        per_row = max(2, int((width - left + GAP) / (least + GAP)))
        # Rows of about the same length.
        rows = max(1, -(-len(lines) // per_row))
        per_row = max(1, -(-len(lines) // rows))
        panel_width = (width - left - 4 - GAP * (per_row - 1)) / per_row
        parts = [
            text(fitted(self.axis, width, SMALL), 0, 12, font_size=SMALL, fill="var(--soft)"),
        ]
        pitch = TITLE + PANEL + 10
        for number, line in enumerate(lines):
            row, column = divmod(number, per_row)
            top, x = 22 + row * pitch + TITLE, left + column * (panel_width + GAP)
            parts += self._panel(line, x, top, panel_width, ticks, step, labels=column == 0)
            if row == rows - 1 or number + per_row >= len(lines):
                parts += self._sizes(line, x, top + PANEL, panel_width)
        bottom = 22 + rows * pitch + 8
        parts.append(text(self.below, left + (width - left) / 2, bottom + 18, anchor="middle", font_size=SMALL))
        return drawing(*parts, width=width, height=bottom + 24, title=self.title, description=self.description)

    def _panel(
        self, line: Line, left: float, top: float, width: float, ticks: Sequence[float], step: float, *, labels: bool
    ) -> list[Markup]:
        y = Scale(ticks[0], ticks[-1], top + PANEL, top)
        parts = []
        for tick in ticks:
            colour = "var(--axis)" if tick == ticks[0] else "var(--rule)"
            parts.append(element("path", d=f"M{left:.1f} {y(tick):.1f}h{width:.1f}", stroke=colour))
            # A label that would touch the one below it is omitted.
            if labels and (tick == ticks[0] or y(ticks[0]) - y(tick) >= SMALL + 2):
                label = tick_text(tick, self.kind, step)
                parts.append(text(label, left - 6, y(tick) + 4, anchor="end", font_size=SMALL, fill="var(--soft)"))
        last = _last_value(line, self.kind)
        room = (width - text_width(last, SMALL) - 6) / BOLD
        parts.append(text(fitted(line.label, room, SMALL), left, top - 6, font_size=SMALL, font_weight=600))
        parts.append(text(last, left + width, top - 6, anchor="end", font_size=SMALL, fill="var(--soft)"))
        if self.reference is not None:
            parts.append(path(self._points(self.reference, line, left, width, y), stroke="var(--axis)"))
        points = self._points(line, line, left, width, y)
        parts.append(path(points, stroke=line.look.colour, stroke_width=2))
        if not points:
            parts.append(text("↑", left + width / 2, top + 14, anchor="middle", fill=line.look.colour))
        x = self._scale(line, left, width)
        for mark in self.marked:
            value = line.at(mark)
            if value is not None and value <= ticks[-1]:
                tooltip = f"{line.label}, {mark:,.0f}: {tick_text(value, self.kind, step / 100)}"
                parts.append(
                    marker("circle", x(np.log(mark)), y(value), radius=3, fill=line.look.colour, tooltip=tooltip)
                )
        return parts

    def _scale(self, line: Line, left: float, width: float) -> Scale:
        return Scale(float(np.log(line.x[0])), float(np.log(line.x[-1])), left, left + width)

    def _points(self, line: Line, frame: Line, left: float, width: float, y: Scale) -> list[tuple[float, float]]:
        logarithmic = Line(line.label, line.look, np.log(line.x), line.y)
        x = self._scale(frame, left, width)
        points = thin(x, y, logarithmic)
        return clipped(points, y.end)

    def _sizes(self, line: Line, left: float, bottom: float, width: float) -> list[Markup]:
        first, last = short_count(float(line.x[0])), short_count(float(line.x[-1]))
        parts = [text(last, left + width, bottom + 14, anchor="end", font_size=SMALL, fill="var(--soft)")]
        if text_width(first, SMALL) + text_width(last, SMALL) + 8 < width:
            parts.append(text(first, left, bottom + 14, font_size=SMALL, fill="var(--soft)"))
        return parts


def _last_value(line: Line, kind: Format) -> str:
    return value_text(float(line.y[np.flatnonzero(np.isfinite(line.y))[-1]]), kind)


def _room_for_title(line: Line, kind: Format) -> float:
    """The width of a panel whose title has the whole label and the value."""
    return text_width(line.label, SMALL) * BOLD + 7 + text_width(_last_value(line, kind), SMALL)


def _first(line: Line) -> float:
    return float(line.y[np.flatnonzero(np.isfinite(line.y))[0]])
