"""A table of figures with shades: rows against columns."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from piecework.report.charts.axes import SMALL, Format, fitted, row_height, value_text
from piecework.report.palette import HEAT_STEPS
from piecework.report.svg import drawing, element, text, text_width

__all__ = ["HeatCell", "HeatChart"]


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A value, and the shade of its cell from 0 to 1; `marked` cells have a frame."""

    value: float | None
    shade: float = 0.0
    marked: bool = False


@dataclass(frozen=True, slots=True)
class HeatChart:
    """Cells by row and column. It is never narrower than its numbers."""

    title: str
    description: str
    row_title: str
    column_title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[HeatCell, ...], ...]
    kind: Format = "number"

    def svg(self, *, width: int = 740) -> Markup:
        """The picture."""
        left = min(max((text_width(row) for row in (*self.rows, self.row_title)), default=0) + 14, 130)
        widest = max((text_width(value_text(cell.value, self.kind)) for row in self.cells for cell in row), default=0)
        cell = max((width - left - 2) / max(len(self.columns), 1), widest + 8)
        cell = min(cell, 110)
        total = left + cell * len(self.columns) + 2
        # Names that do not fit above their columns are rotated.
        longest = max((text_width(name, SMALL) for name in self.columns), default=0)
        upright = longest > cell - 4
        height = row_height(len(self.rows), usual=30, low=22)
        top = 24 + (min(longest, 110) + 6 if upright else 20)
        parts = [
            text(self.row_title, left - 10, top - 8, anchor="end", font_size=SMALL, fill="var(--soft)"),
            text(self.column_title, left, 12, font_size=SMALL, fill="var(--soft)"),
        ]
        for number, name in enumerate(self.columns):
            middle = left + cell * (number + 0.5)
            if upright:
                turned = f"rotate(-90 {middle:.1f} {top - 8:.1f})"
                label = fitted(name, 110, SMALL)
                parts.append(text(label, middle, top - 4, font_size=SMALL, transform=turned))
            else:
                parts.append(text(name, middle, top - 8, anchor="middle", font_size=SMALL))
        for number, row in enumerate(self.cells):
            y = top + height * number
            parts.append(text(fitted(self.rows[number], left - 12), left - 10, y + height / 2 + 4, anchor="end"))
            for column, each in enumerate(row):
                name = f"{self.rows[number]} / {self.columns[column]}"
                parts.append(self._cell(each, name, x=left + cell * column, y=y, width=cell, height=height))
        # Frames last, so that no neighbour covers them.
        parts += [
            element(
                "rect",
                x=left + cell * column + 1.5,
                y=top + height * number + 1.5,
                width=cell - 3,
                height=height - 3,
                fill="none",
                stroke="var(--ink)",
                stroke_width=1.5,
            )
            for number, row in enumerate(self.cells)
            for column, each in enumerate(row)
            if each.marked
        ]
        return drawing(
            *parts,
            width=total,
            height=top + height * len(self.rows) + 4,
            title=self.title,
            description=self.description,
        )

    def _cell(self, cell: HeatCell, name: str, *, x: float, y: float, width: float, height: float) -> Markup:
        step = 1 + min(int(max(cell.shade, 0) * HEAT_STEPS), HEAT_STEPS - 1)
        ground = "none" if cell.value is None else f"var(--heat{step})"
        ink = "var(--soft)" if cell.value is None else f"var(--heat-ink{step})"
        label = value_text(cell.value, self.kind)
        # A pixel of the page between cells.
        tooltip = element("title", f"{name}: {label}")
        shape = {"x": x + 0.5, "y": y + 0.5, "width": width - 1, "height": height - 1}
        return element("rect", tooltip, fill=ground, **shape) + text(
            label, x + width / 2, y + height / 2 + 4, anchor="middle", fill=ink, pointer_events="none"
        )
