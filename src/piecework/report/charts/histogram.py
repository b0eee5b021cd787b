"""A histogram: the number of items of each length."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from piecework.report.charts.axes import SMALL, axis_title, tick_text, value_axis
from piecework.report.scales import Scale, short_count
from piecework.report.svg import drawing, element, text, text_width

__all__ = ["Column", "Histogram"]

HEIGHT = 220


@dataclass(frozen=True, slots=True)
class Column:
    """A label and a count."""

    label: str
    count: int


@dataclass(frozen=True, slots=True)
class Histogram:
    """Columns from left to right."""

    title: str
    description: str
    axis: str
    below: str
    columns: tuple[Column, ...]

    def svg(self, *, width: int = 740) -> Markup:
        """The picture."""
        ticks = value_axis(0, [column.count for column in self.columns], count=4)
        step = ticks[-1] - ticks[-2]
        left = max(text_width(tick_text(tick, "count", step), SMALL) for tick in ticks) + 10
        top, bottom = 34.0, 34.0 + HEIGHT
        scale = Scale(0, ticks[-1], bottom, top)
        parts = [axis_title(self.axis, 0, width)]
        for tick in ticks:
            y = scale(tick)
            colour = "var(--rule)" if tick else "var(--axis)"
            parts.append(element("path", d=f"M{left:.1f} {y:.1f}H{width}", stroke=colour))
            label = tick_text(tick, "count", step)
            parts.append(text(label, left - 6, y + 4, anchor="end", font_size=SMALL, fill="var(--soft)"))
        pitch = (width - left) / max(len(self.columns), 1)
        # Labels that would touch are omitted: only every second, fifth, … is drawn.
        widest = max((text_width(column.label, SMALL) for column in self.columns), default=0) + 6
        every = next(n for n in (1, 2, 5, 10, 20, 50, 100, 1000) if pitch * n >= widest)
        values_fit = pitch >= max((text_width(short_count(c.count), SMALL) for c in self.columns), default=0) + 4
        for number, column in enumerate(self.columns):
            x = left + pitch * number
            y = scale(column.count)
            parts.append(
                element(
                    "rect",
                    element("title", f"{column.label}: {column.count:,}"),
                    x=x + pitch * 0.1,
                    y=y,
                    width=pitch * 0.8,
                    height=bottom - y,
                    fill="var(--bar)",
                )
            )
            if values_fit and column.count:
                parts.append(text(short_count(column.count), x + pitch / 2, y - 5, anchor="middle", font_size=SMALL))
            if number % every == 0:
                parts.append(
                    text(column.label, x + pitch / 2, bottom + 16, anchor="middle", font_size=SMALL, fill="var(--soft)")
                )
        below = text(self.below, left + (width - left) / 2, bottom + 34, anchor="middle", font_size=SMALL)
        parts.append(below)
        return drawing(
            *parts,
            width=width,
            height=bottom + 42,
            title=self.title,
            description=self.description,
        )
