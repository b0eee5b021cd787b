"""Several metrics side by side: a row for each language, a column of bars for each metric."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from piecework.report.charts.axes import SMALL, Format, axis_limit, break_mark, fitted, row_height, value_text
from piecework.report.charts.bars import interval_text
from piecework.report.scales import Scale
from piecework.report.svg import drawing, element, text, text_width

__all__ = ["BarColumn", "BarColumns", "Value"]

LEAST_WIDTH, GAP, HEAD = 104, 14, 40


@dataclass(frozen=True, slots=True)
class Value:
    """A value and its interval, if known."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class BarColumn:
    """A metric: its title, which direction is better, and a value for each row."""

    title: str
    values: tuple[Value, ...]
    detail: str = ""
    floor: float = 0.0
    kind: Format = "number"


@dataclass(frozen=True, slots=True)
class BarColumns:
    """Columns of bars over common rows. Columns that do not fit side by side continue below."""

    title: str
    description: str
    rows: tuple[str, ...]
    columns: tuple[BarColumn, ...]
    colours: tuple[str, ...]
    """The colour of each row."""

    def svg(self, *, width: int = 740) -> Markup:
        """The picture."""
        left = min(max((text_width(row) for row in self.rows), default=0) + 14, 0.36 * width)
        fitting = max(1, min(len(self.columns), int((width - left + GAP) / (LEAST_WIDTH + GAP))))
        column_width = (width - left - GAP * (fitting - 1)) / fitting
        row = row_height(len(self.rows), usual=26, low=19)
        band = HEAD + row * len(self.rows) + 16
        parts: list[Markup] = []
        bands = [self.columns[start : start + fitting] for start in range(0, len(self.columns), fitting)]
        for number, columns in enumerate(bands):
            top = number * band + HEAD
            for index, label in enumerate(self.rows):
                parts.append(text(fitted(label, left - 12), left - 10, top + row * (index + 0.5) + 4, anchor="end"))
            for index, column in enumerate(columns):
                x = left + index * (column_width + GAP)
                parts += self._column(column, Scale(0, 1, x, x + column_width), top, row)
        return drawing(
            *parts, width=width, height=band * len(bands) - 12, title=self.title, description=self.description
        )

    def _column(self, column: BarColumn, span: Scale, top: float, row: int) -> list[Markup]:
        room = max((text_width(value_text(each.value, column.kind), SMALL) for each in column.values), default=0) + 6
        limit = axis_limit((each.value for each in column.values), floor=column.floor)
        scale = Scale(column.floor, max(limit, column.floor + 1e-9), span.start, span.end - room)
        width = span.end - span.start
        parts = [
            text(fitted(column.title, width / 1.2, SMALL), span.start, top - 22, font_size=SMALL, font_weight=600),
            text(fitted(column.detail, width, SMALL), span.start, top - 8, font_size=SMALL, fill="var(--soft)"),
            element(
                "path", d=f"M{span.start:.1f} {top:.1f}V{top + row * len(column.values):.1f}", stroke="var(--axis)"
            ),
        ]
        thickness = round(0.55 * row)
        for index, each in enumerate(column.values):
            y = top + row * (index + 0.5)
            label = value_text(each.value, column.kind)
            x = span.start
            if each.value is not None:
                x = min(max(scale(each.value), scale.start), scale.end)
                interval = interval_text(each.low, each.high, column.kind)
                tooltip = f"{self.rows[index]}: {label}" + (f" (95 % interval {interval})" if interval else "")
                shape = {"x": scale.start, "y": y - thickness / 2, "width": x - scale.start, "height": thickness}
                parts.append(element("rect", element("title", tooltip), fill=self.colours[index], **shape))
                if each.value > scale.high:
                    parts.append(break_mark(x, y, thickness))
            parts.append(text(label, x + 5, y + 4, font_size=SMALL))
        return parts
