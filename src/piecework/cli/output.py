"""Data to stdout: JSON for programs, tables for people."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

__all__ = ["indented", "new_table", "stdout_console", "titled_sections", "write_json"]

PLAIN_WIDTH = 130
"""Columns of a table that goes to a file or a pipe."""


def write_json(content: object) -> None:
    """Write one indented JSON object to stdout."""
    import orjson

    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
    try:
        written = orjson.dumps(content, option=options)
    except orjson.JSONEncodeError:
        written = orjson.dumps(_printable(content), option=options)
    sys.stdout.buffer.write(written)


def _printable(content: Any) -> Any:
    """The same content; bytes in the names of files that are not UTF-8 are written as escapes.

    >>> _printable({"path": "bad\\udcff", "sizes": (1, 2)})
    {'path': 'bad\\\\udcff', 'sizes': [1, 2]}
    """
    if isinstance(content, str):
        return content.encode(errors="backslashreplace").decode()
    if isinstance(content, Mapping):
        return {key: _printable(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return list(map(_printable, content))
    return content


def stdout_console() -> Console:
    """A rich console on stdout: as wide as the terminal, or PLAIN_WIDTH in a file or a pipe."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)


def new_table(**settings: Any) -> Table:
    """A rich table without lines."""
    from rich.table import Table

    return Table(box=None, pad_edge=False, header_style="dim", **settings)


def indented(content: RenderableType) -> RenderableType:
    """The content, two columns to the right."""
    from rich.padding import Padding

    return Padding(content, (0, 0, 0, 2), expand=False)


def titled_sections(title: RenderableType, sections: Iterable[tuple[str, RenderableType]]) -> RenderableType:
    """A title, then each section with its heading in bold and its content indented."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [title]
    for heading, content in sections:
        parts += ["", Text(heading, style="bold"), indented(content)]
    return Group(*parts)
