"""Bars with dots: one tokenizer compared with many, by language."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from piecework.report.charts.axes import (
    SMALL,
    Format,
    fitted,
    legend,
    row_height,
    tick_text,
    value_axis,
    value_text,
    vertical_grid,
)
from piecework.report.palette import Look
from piecework.report.scales import Scale
from piecework.report.svg import drawing, element, marker, text, text_width

__all__ = ["Dot", "DotChart", "DotRow"]

RADIUS = 4.5


@dataclass(frozen=True, slots=True)
class Dot:
    """A value of one tokenizer; `own` marks the tokenizer of the row's language."""

    label: str
    value: float
    look: Look
    own: bool = False


@dataclass(frozen=True, slots=True)
class DotRow:
    """A language: the bar's value, and the dots."""

    label: str
    bar: float | None
    dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True)
class DotChart:
    """Rows from top to bottom."""

    title: str
    description: str
    axis: str
    bar_label: str
    rows: tuple[DotRow, ...]
    floor: float = 0.0
    kind: Format = "number"

    def svg(self, *, width: int = 740) -> Markup:
        """The picture."""
        looks = {dot.label: dot.look for row in self.rows for dot in row.dots}
        keys, top = self._legend(list(looks.items()), width)
        left = min(max((text_width(row.label) for row in self.rows), default=0) + 14, 0.4 * width)
        values = [row.bar for row in self.rows] + [dot.value for row in self.rows for dot in row.dots]
        ticks = value_axis(self.floor, values, count=5 if width >= 600 else 3)
        right = text_width(tick_text(ticks[-1], self.kind, ticks[-1] - ticks[-2]), SMALL) / 2 + 3
        scale = Scale(ticks[0], ticks[-1], left, width - right)
        parts = [keys, text(self.axis, left, top + 14, font_size=SMALL, fill="var(--soft)")]
        top += 24
        height = row_height(len(self.rows), usual=46, low=34)
        bottom = top + height * len(self.rows)
        parts += vertical_grid(ticks, scale, self.kind, top=top, bottom=bottom)
        for number, row in enumerate(self.rows):
            parts.append(self._row(row, scale, top + height * (number + 0.5), height))
        return drawing(
            *parts,
            width=width,
            height=bottom + 24,
            title=self.title,
            description=self.description,
        )

    def _legend(self, looks: list[tuple[str, Look]], width: int) -> tuple[Markup, float]:
        bar = element(
            "rect", x=0.75, y=4, width=20, height=11, fill="none", stroke="var(--ink)", stroke_width=1.5
        ) + text(self.bar_label, 28, 14)
        left = 28 + text_width(self.bar_label) + 20
        own = Markup()
        if any(dot.own for row in self.rows for dot in row.dots):
            ring = marker("circle", left + 7, 9.5, radius=7.5, fill="none", stroke="var(--ink)", stroke_width=1.5)
            own = ring + text("own tokenizer", left + 21, 14)
        dots, bottom = legend(looks, width=width, top=25)
        return bar + own + dots, bottom

    def _row(self, row: DotRow, scale: Scale, y: float, height: int) -> Markup:
        left, thickness = scale.start, 0.65 * height
        parts = [text(fitted(row.label, left - 12), left - 10, y + 4, anchor="end")]
        if row.bar is not None:
            parts.append(
                element(
                    "rect",
                    element("title", f"{row.label}, {self.bar_label}: {value_text(row.bar, self.kind)}"),
                    x=scale.start,
                    y=y - thickness / 2,
                    width=max(scale(row.bar) - scale.start, 0),
                    height=thickness,
                    fill="var(--wash)",
                    stroke="var(--ink)",
                    stroke_width=1.5,
                )
            )
        lanes: dict[int, float] = {}
        for dot in sorted(row.dots, key=lambda dot: (dot.value, dot.label)):
            x = scale(dot.value)
            # The middle lane, or the next one if the dot would cover another.
            lane = next((lane for lane in (0, -1, 1) if x - lanes.get(lane, -99) > 2 * RADIUS + 2), 0)
            lanes[lane] = x
            dot_y = y + lane * (2 * RADIUS + 1.5)
            tooltip = f"{row.label}, {dot.label} tokenizer: {value_text(dot.value, self.kind)}"
            if dot.own:
                ring = marker("circle", x, dot_y, radius=7.5, fill="none", stroke="var(--ink)", stroke_width=1.5)
                parts.append(ring)
            parts.append(marker(dot.look.marker, x, dot_y, radius=RADIUS, fill=dot.look.colour, tooltip=tooltip))
        return Markup().join(parts)
