"""A chart by language: a mark for the shared tokenizer, one for the language's own, and the range of all others."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from piecework.report.charts.axes import (
    SMALL,
    Format,
    axis_limit,
    fitted,
    row_height,
    tick_text,
    value_axis,
    value_text,
    vertical_grid,
)
from piecework.report.scales import Scale
from piecework.report.svg import drawing, element, marker, text, text_width

__all__ = ["RangeChart", "RangeRow"]


@dataclass(frozen=True, slots=True)
class RangeRow:
    """A language: the value of the shared tokenizer, of its own one, and of all others by name."""

    label: str
    shared: float | None
    own: float | None
    others: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class RangeChart:
    """Rows from top to bottom: a filled mark, a ring, and a line with small marks for the others."""

    title: str
    description: str
    axis: str
    shared_label: str
    own_label: str
    others_label: str
    rows: tuple[RangeRow, ...]
    floor: float = 0.0
    kind: Format = "number"

    def svg(self, *, width: int = 740) -> Markup:
        """The picture."""
        left = min(max((text_width(row.label) for row in self.rows), default=0) + 14, 0.4 * width)
        row = row_height(len(self.rows), usual=30, low=20)
        keys, top = self._legend(width)
        known = [value for each in self.rows for value in (each.shared, each.own) if value is not None]
        best_other = [min(value for _, value in each.others) for each in self.rows if each.others]
        limit = max(axis_limit(known, floor=self.floor), axis_limit(best_other, floor=self.floor))
        everything = [*known, *(value for each in self.rows for _, value in each.others)]
        ticks = value_axis(
            self.floor, [value for value in everything if value <= 1.3 * limit], count=5 if width >= 600 else 3
        )
        right = text_width(tick_text(ticks[-1], self.kind, ticks[-1] - ticks[-2]), SMALL) / 2 + 14
        scale = Scale(ticks[0], ticks[-1], left, width - right)
        parts = [keys, text(self.axis, left, top + 12, font_size=SMALL, fill="var(--soft)")]
        top += 22
        bottom = top + row * len(self.rows)
        parts += vertical_grid(ticks, scale, self.kind, top=top, bottom=bottom)
        for number, each in enumerate(self.rows):
            parts.append(self._row(each, scale, top + row * (number + 0.5)))
        return drawing(*parts, width=width, height=bottom + 24, title=self.title, description=self.description)

    def _legend(self, width: int) -> tuple[Markup, float]:
        parts, x, y = [], 0.0, 14.0
        for label, mark in (
            (self.shared_label, _shared_mark),
            (self.own_label, _own_mark),
            (self.others_label, _other_mark),
        ):
            needed = 16 + text_width(label) + 18
            if x and x + needed > width:
                x, y = 0.0, y + 20
            parts.append(mark(x + 6, y - 4) + text(label, x + 17, y))
            x += needed
        return Markup().join(parts), y + 8

    def _row(self, row: RangeRow, scale: Scale, y: float) -> Markup:
        parts = [text(fitted(row.label, scale.start - 12), scale.start - 10, y + 4, anchor="end")]
        inside = [value for _, value in row.others if value <= scale.high]
        beyond = len(row.others) - len(inside)
        if row.others:
            start = scale(min(inside)) if inside else scale.end
            end = scale.end + 8 if beyond else scale(max(inside))
            if end > start:
                parts.append(element("path", d=f"M{start:.1f} {y:.1f}H{end:.1f}", stroke="var(--axis)"))
            for name, value in row.others:
                if value <= scale.high:
                    tooltip = f"{row.label}, {name} tokenizer: {value_text(value, self.kind)}"
                    parts.append(_other_mark(scale(value), y, tooltip))
            if beyond:
                tooltip = f"{row.label}: {beyond} more tokenizers, up to " + value_text(
                    max(value for _, value in row.others), self.kind
                )
                arrow = f"M{scale.end + 4:.1f} {y - 4:.1f}l6 4l-6 4"
                parts.append(element("path", element("title", tooltip), d=arrow, stroke="var(--axis)", fill="none"))
        beyond_axis = []
        for estimate, mark, name in (
            (row.own, _own_mark, self.own_label),
            (row.shared, _shared_mark, self.shared_label),
        ):
            if estimate is None:
                continue
            label = value_text(estimate, self.kind)
            # A value beyond the axis is drawn at its end, with its number.
            x = min(scale(estimate), scale.end)
            parts.append(mark(x, y, f"{row.label}, {name}: {label}"))
            if estimate > scale.high:
                beyond_axis.append(f"{name} {label}")
        if beyond_axis:
            parts.append(text(", ".join(beyond_axis) + " →", scale.end - 10, y + 4, anchor="end", font_size=SMALL))
        return Markup().join(parts)


def _shared_mark(x: float, y: float, tooltip: str | None = None) -> Markup:
    return marker("circle", x, y, radius=4.6, fill="var(--accent)", tooltip=tooltip)


def _own_mark(x: float, y: float, tooltip: str | None = None) -> Markup:
    return marker(
        "circle", x, y, radius=4.6, tooltip=tooltip, fill="var(--paper)", stroke="var(--ink)", stroke_width=1.8
    )


def _other_mark(x: float, y: float, tooltip: str | None = None) -> Markup:
    inside = [element("title", tooltip)] if tooltip else []
    return element("path", *inside, d=f"M{x:.1f} {y - 4:.1f}v8", stroke="var(--axis)", stroke_width=1.6)
