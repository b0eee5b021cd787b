"""A table of numbers that is split into several where the terminal is narrow: no number is ever cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from piecework.cli.output import new_table

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.text import Text

__all__ = ["WideTable"]

GAP = 2
"""Columns of the terminal between two columns of the table."""
LONGEST_KEY = 28


@dataclass
class WideTable:
    """Rows with a key and numbers. Each part repeats the keys, and has as many columns as fit.

    >>> from rich.console import Console
    >>> table = WideTable("language", ["fertility", "bytes per token"])
    >>> table.add_row("sv", "1.523", "4.012")
    >>> Console(width=20).print(table)
    language  fertility
    sv            1.523
    <BLANKLINE>
              bytes
                per
    language  token
    sv        4.012
    """

    key: str
    columns: list[str]
    _rows: list[tuple[Text, list[Text], str]] = field(default_factory=list)

    def add_row(self, key: str | Text, *cells: str | Text, style: str = "") -> None:
        """Add a row: its key, and a cell for each column."""
        from rich.text import Text

        def text(cell: str | Text) -> Text:
            return Text(cell) if isinstance(cell, str) else cell

        assert len(cells) == len(self.columns)
        self._rows.append((text(key), list(map(text, cells)), style))

    def transposed(self, key: str) -> WideTable:
        """Return the same numbers with a row for each column."""
        table = WideTable(key, [name.plain for name, _, _ in self._rows])
        for index, column in enumerate(self.columns):
            table.add_row(column, *(cells[index] for _, cells, _ in self._rows))
        return table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for number, chosen in enumerate(self._parts(options.max_width)):
            if number:
                yield ""
            table = new_table()
            table.add_column(self.key, overflow="fold", width=self._key_width)
            for index in chosen:
                table.add_column(self.columns[index], justify="right", width=self._width(index))
            for key, cells, style in self._rows:
                table.add_row(key, *(cells[index] for index in chosen), style=style)
            yield table

    @property
    def _key_width(self) -> int:
        return min(max([len(self.key), *(key.cell_len for key, _, _ in self._rows)]), LONGEST_KEY)

    def _width(self, index: int) -> int:
        """The width of a column: its longest cell, or the longest word of its title."""
        words = self.columns[index].split() or [""]
        return max(*map(len, words), 1, *(cells[index].cell_len for _, cells, _ in self._rows))

    def _parts(self, width: int) -> Iterator[list[int]]:
        part: list[int] = []
        used = self._key_width
        for index in range(len(self.columns)):
            needed = GAP + self._width(index)
            if part and used + needed > width:
                yield part
                part, used = [], self._key_width
            part.append(index)
            used += needed
        yield part
