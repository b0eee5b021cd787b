"""A bar chart: each bar has its value, and whiskers for its interval."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from piecework.report.charts.axes import SMALL, Format, axis_title, fitted, value_axis, value_text, vertical_grid
from piecework.report.scales import Scale
from piecework.report.svg import drawing, element, text, text_width

__all__ = ["Bar", "BarChart"]

ROW, THICKNESS, CAP = 28, 15, 4


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
    """Bars from top to bottom."""

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
        intervals = [_interval_text(bar, self.kind) if width >= 600 else "" for bar in self.bars]
        values = [value_text(bar.value, self.kind) for bar in self.bars]
        right = max(
            (
                text_width(value, bold=True) + (text_width(interval, SMALL) + 8 if interval else 0)
                for value, interval in zip(values, intervals, strict=True)
            ),
            default=0,
        )
        highest = [bar.value if bar.high is None else max(bar.high, bar.value or 0) for bar in self.bars]
        ticks = value_axis(self.floor, highest, count=5 if width >= 600 else 3)
        top, bottom = 26.0, 26.0 + ROW * len(self.bars)
        scale = Scale(ticks[0], ticks[-1], left, width - right - 16)
        parts = [axis_title(self.axis, left, width)]
        parts += vertical_grid(ticks, scale, self.kind, top=top, bottom=bottom)
        for number, bar in enumerate(self.bars):
            parts.append(self._row(bar, values[number], intervals[number], scale, top + ROW * (number + 0.5), left))
        return drawing(
            *parts,
            width=width,
            height=bottom + 24,
            title=self.title,
            description=self.description,
        )

    def _row(self, bar: Bar, value: str, interval: str, scale: Scale, y: float, left: float) -> Markup:
        parts = [text(fitted(bar.label, left - 12), left - 10, y + 4, anchor="end")]
        x = scale.start
        if bar.value is not None:
            x = max(scale(bar.value), scale.start)
            length = x - scale.start
            parts.append(
                element("rect", x=scale.start, y=y - THICKNESS / 2, width=length, height=THICKNESS, fill=bar.colour)
            )
        if bar.low is not None and bar.high is not None:
            start, end = max(scale(bar.low), scale.start), scale(bar.high)
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


def _interval_text(bar: Bar, kind: Format) -> str:
    if bar.low is None or bar.high is None:
        return ""
    low, high = value_text(bar.low, kind), value_text(bar.high, kind)
    return low.removesuffix("\u00a0%") + "–" + high
