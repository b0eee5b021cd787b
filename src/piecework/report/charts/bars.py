"""A bar chart: each bar has its value, and whiskers for its interval."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from piecework.report.charts.axes import (
    SMALL,
    Format,
    axis_limit,
    axis_title,
    break_mark,
    fitted,
    row_height,
    value_axis,
    value_text,
    vertical_grid,
)
from piecework.report.scales import Scale
from piecework.report.svg import drawing, element, text, text_width

__all__ = ["Bar", "BarChart"]

CAP = 4


@dataclass(frozen=True, slots=True)
class Bar:
    """A label, a value, and its interval if known."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    colour: str = "var(--bar)"


@dataclass(frozen=True, slots=True)
class BarChart:
    """Bars from top to bottom. Outliers are cut off at the end of the axis and marked."""

    title: str
    description: str
    axis: str
    bars: tuple[Bar, ...]
    floor: float = 0.0
    kind: Format = "number"

    def svg(self, *, width: int = 740) -> Markup:
        """The picture."""
        left = min(
            max((text_width(bar.label) for bar in self.bars), default=0) + 14, (0.4 if width >= 600 else 0.46) * width
        )
        intervals = [interval_text(bar.low, bar.high, self.kind) if width >= 600 else "" for bar in self.bars]
        values = [value_text(bar.value, self.kind) for bar in self.bars]
        right = max(
            (
                text_width(value, bold=True) + (text_width(interval, SMALL) + 8 if interval else 0)
                for value, interval in zip(values, intervals, strict=True)
            ),
            default=0,
        )
        limit = axis_limit((bar.value for bar in self.bars), floor=self.floor)
        highest = [
            value
            for bar in self.bars
            if bar.value is not None and bar.value <= limit
            for value in (bar.value, min(bar.high or bar.value, self.floor + 1.5 * (limit - self.floor)))
        ]
        ticks = value_axis(self.floor, highest, count=5 if width >= 600 else 3)
        row = row_height(len(self.bars), usual=28, low=19)
        top, bottom = 26.0, 26.0 + row * len(self.bars)
        scale = Scale(ticks[0], ticks[-1], left, width - right - 16)
        parts = [axis_title(self.axis, left, width)]
        parts += vertical_grid(ticks, scale, self.kind, top=top, bottom=bottom)
        for number, bar in enumerate(self.bars):
            y = top + row * (number + 0.5)
            parts.append(self._row(bar, values[number], intervals[number], scale, y, row))
        return drawing(
            *parts,
            width=width,
            height=bottom + 24,
            title=self.title,
            description=self.description,
        )

    def _row(self, bar: Bar, value: str, interval: str, scale: Scale, y: float, row: int) -> Markup:
        left, thickness = scale.start, round(0.55 * row)
        parts = [text(fitted(bar.label, left - 12), left - 10, y + 4, anchor="end")]
        x = scale.start
        is_cut = bar.value is not None and bar.value > scale.high
        if bar.value is not None:
            x = min(max(scale(bar.value), scale.start), scale.end)
            shape = {"x": scale.start, "y": y - thickness / 2, "width": x - scale.start, "height": thickness}
            parts.append(element("rect", fill=bar.colour, **shape))
            if is_cut:
                parts.append(break_mark(x, y, thickness))
        if bar.low is not None and bar.high is not None and not is_cut:
            start, end = max(scale(bar.low), scale.start), min(scale(bar.high), scale.end)
            whisker = (
                f"M{start:.1f} {y:.1f}H{end:.1f}M{start:.1f} {y - CAP:.1f}v{2 * CAP}M{end:.1f} {y - CAP:.1f}v{2 * CAP}"
            )
            # A halo in the colour of the page makes the whisker visible on the bar.
            parts.append(element("path", d=whisker, stroke="var(--paper)", stroke_width=3.5, fill="none"))
            parts.append(element("path", d=whisker, stroke="var(--ink)", stroke_width=1.2, fill="none"))
            x = max(x, end)
        parts.append(text(value, x + 8, y + 4, font_weight=600))
        if interval:
            after = x + 16 + text_width(value, bold=True)
            parts.append(text(interval, after, y + 4, font_size=SMALL, fill="var(--soft)"))
        return Markup().join(parts)


def interval_text(low: float | None, high: float | None, kind: Format) -> str:
    """An interval in short; empty if there is none.

    >>> interval_text(1.234, 1.5, "number"), interval_text(0.1, 0.2, "share"), interval_text(None, None, "share")
    ('1.23–1.50', '10.0–20.0\xa0%', '')
    """
    if low is None or high is None:
        return ""
    return value_text(low, kind).removesuffix("\u00a0%") + "–" + value_text(high, kind)
