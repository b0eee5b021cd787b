"""The blocks of a section: figures, tables and notes, independent of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from piecework.common.printable import printable
from piecework.evaluation.tables import format_value
from piecework.report.charts import Chart
from piecework.report.scales import format_number, format_share

__all__ = ["Cell", "Figure", "Heading", "Kind", "Note", "Section", "Sheet"]

Kind = Literal["text", "ids", "number", "plain", "share", "count", "bytes", "pieces", "verdict"]


FOLDED_ROWS = 8


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a column: its label, the kind of its values, and a tooltip."""

    label: str
    kind: Kind = "text"
    help: str = ""

    @property
    def is_number(self) -> bool:
        """Whether values are right-aligned and sorted as numbers."""
        return self.kind in ("number", "plain", "share", "count", "bytes")


@dataclass(frozen=True, slots=True)
class Cell:
    """A value of a table: as displayed, and as copied and sorted."""

    text: str
    raw: str
    pieces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table: headings and rows of values."""

    caption: str
    headings: tuple[Heading, ...]
    rows: tuple[tuple[Any, ...], ...]
    name: str = ""
    """The id of a table outside a figure."""
    sortable: bool = True
    title: str = ""
    """The heading of a table outside a figure."""
    always_folded: bool = False

    @classmethod
    def build(
        cls,
        caption: str,
        headings: Iterable[Heading | str],
        rows: Iterable[Sequence[Any]],
        *,
        name: str = "",
        sortable: bool = True,
        title: str = "",
        always_folded: bool = False,
    ) -> Sheet:
        """A table; a heading given as a string is a column of text.

        >>> sheet = Sheet.build("Fertility", ["language", Heading("fertility", "number")], [("sv", 1.23456)])
        >>> [cell.text for cell in sheet.cells()[0]]
        ['sv', '1.235']
        """
        made = tuple(Heading(each) if isinstance(each, str) else each for each in headings)
        return cls(caption, made, tuple(map(tuple, rows)), name, sortable, title, always_folded)

    @property
    def folded(self) -> bool:
        """Whether the page shows its rows on request only: a table outside a figure with many rows."""
        return len(self.rows) > FOLDED_ROWS or self.always_folded

    def cells(self) -> list[list[Cell]]:
        """The rows as cells."""
        return [
            [_cell(value, heading.kind) for value, heading in zip(row, self.headings, strict=True)] for row in self.rows
        ]


def _cell(value: Any, kind: Kind) -> Cell:
    if kind == "pieces":
        return Cell("", "", tuple(map(printable, value)))
    raw = "" if value is None else str(value)
    if value is None:
        return Cell("–", raw)
    match kind:
        case "ids":
            # Word joiners around the dash keep a range on one line.
            return Cell(raw.replace("-", "\u2060–\u2060"), raw)
        case "share":
            return Cell(format_share(value, decimals=1 if abs(value) >= 0.001 or not value else 2), raw)
        case "count":
            return Cell(format_number(value, decimals=0), raw)
        case "bytes":
            return Cell(_megabytes(value), raw)
        case "verdict":
            return Cell("holds" if value else "does not hold", "1" if value else "0")
        case "number":
            return Cell(format_number(value, decimals=3), raw)
        case "plain":
            return Cell(format_value(value), raw)
    return Cell(raw, raw)


def _megabytes(size_bytes: float) -> str:
    """A size in MB, so that a column can be compared.

    >>> _megabytes(1_234_567), _megabytes(123), _megabytes(0)
    ('1.23 MB', '0.0001 MB', '0 MB')
    """
    size = size_bytes / 1e6
    decimals = next((n for n in (2, 3, 4) if not size or round(size, n) >= 10**-n), 4)
    return f"{size:,.0f} MB" if size >= 100 or not size else f"{size:,.{decimals}f} MB"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Figure:
    """A chart with a title that states its finding, a line on how to read it, and its data."""

    name: str
    title: str
    how_to_read: str
    chart: Chart
    sheet: Sheet
    folded: bool = False
    """Whether the page shows it on request only."""


@dataclass(frozen=True, slots=True)
class Note:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A heading, an introduction and blocks; `template` renders `content`, if there is any."""

    name: str
    title: str
    lead: str
    blocks: tuple[Figure | Sheet | Note, ...] = ()
    template: str | None = None
    content: Any = None

    @property
    def figures(self) -> list[Figure]:
        """Its figures."""
        return [block for block in self.blocks if isinstance(block, Figure)]
