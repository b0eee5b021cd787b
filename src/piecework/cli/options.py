"""Options and types of options that several commands share."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from piecework.common.terms import MOST_THREADS

if TYPE_CHECKING:
    from click import ParamType

    from piecework.corpus.parallel_text import ParallelText
else:

    class ParamType(click.ParamType):
        """click's class, which is generic only from version 8.4 on."""

        def __class_getitem__(cls, _: object) -> type:
            return cls


__all__ = [
    "WITHOUT_SPACES",
    "CountType",
    "FolderType",
    "LocalPath",
    "LocationType",
    "ParamType",
    "SizeType",
    "documents_option",
    "parallel_option",
    "parse_count",
    "pivot_option",
    "read_parallel_option",
    "text_field_option",
    "threads_option",
]

documents_option = click.option(
    "--documents",
    type=click.Choice(["file", "line"]),
    default="file",
    show_default=True,
    help="In text files, a document is a whole file or a line.",
)
text_field_option = click.option(
    "--text-field", default="text", show_default=True, help="JSONL field or Parquet column that holds the text."
)
parallel_option = click.option(
    "--parallel",
    metavar="PATTERN",
    help='Parallel text, as "par/{language}.txt": line n says the same in every language. Adds the premium.',
)
pivot_option = click.option(
    "--pivot", metavar="L", help="Language that --parallel compares with [default: en, else the first]."
)
WITHOUT_SPACES = "written without spaces, so tokens per word mean nothing there"
threads_option = click.option(
    "--threads", type=click.IntRange(1, MOST_THREADS), help="Number of threads [default: all cores]."
)


def read_parallel_option(pattern: str | None, *, pivot: str | None, text_field: str) -> ParallelText | None:
    """Read the parallel text that --parallel names, if it is given."""
    if pattern is None:
        if pivot is not None:
            raise click.UsageError('--pivot needs --parallel "par/{language}.txt"')
        return None
    from piecework.common.path_pattern import PathPattern
    from piecework.corpus.parallel_text import read_parallel

    if mistakes := list(PathPattern(pattern).mistakes()):
        raise click.UsageError(f"--parallel {pattern}: {'; '.join(mistakes)}")
    return read_parallel(pattern, Path(), pivot=pivot, text_field=text_field)


class LocalPath(click.Path):
    """A path on this machine. A URI is refused: as a path it would lose a slash, and show a password."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        if isinstance(value, str) and "://" in value:
            from piecework.common.storage import credentials_problem, is_remote

            if is_remote(value):
                local = f"{value}: reads files of this machine only; copy it here, or count it first (piecework count)"
                self.fail(credentials_problem(value) or local, param, ctx)
        return super().convert(value, param, ctx)


class LocationType(ParamType[Any]):
    """A path on this machine, or a URI such as s3://bucket/folder.

    Parquet files and study files name paths as text; `as_text` refuses one that is not UTF-8.
    """

    name = "path"

    def __init__(self, *, as_text: bool = False) -> None:
        self._as_text = as_text

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a Path or a RemotePath."""
        from piecework.common.storage import locate
        from piecework.errors import InputError

        if value == "":
            self.fail("the path is empty", param, ctx)
        if self._as_text and not _is_text(os.fspath(value)):
            self.fail("the path is not valid UTF-8; choose another one", param, ctx)
        try:
            return locate(value)
        except InputError as error:
            self.fail(str(error), param, ctx)


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


class FolderType(LocationType):
    """A folder on this machine to write into."""

    name = "folder"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a Path."""
        folder = super().convert(value, param, ctx)
        if not isinstance(folder, Path):
            self.fail(f"{value}: this command writes to local folders only; copy the files afterwards", param, ctx)
        return folder


class CountType(ParamType[int]):
    """A whole number from 1, or from `least`, which may be written as 64k, 64_000 or 64,000."""

    name = "number"

    def __init__(self, *, least: int = 1) -> None:
        self._least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        try:
            number = parse_count(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if number < self._least:
            self.fail(f"{value} is not {self._least} or more", param, ctx)
        return number


def parse_count(text: str) -> int:
    """Parse a whole number, with k for thousand and M for million.

    >>> [parse_count(text) for text in ("64k", "51.2k", "64_000", "64,000", "1M", "-3")]
    [64000, 51200, 64000, 64000, 1000000, -3]
    >>> parse_count("64kB")
    Traceback (most recent call last):
    ValueError: "64kB" is not a number such as 64000 or 64k
    """
    from decimal import Decimal

    match = re.fullmatch(r"(-?[0-9][0-9_,]*(?:\.[0-9]+)?)([kKmM]?)", text.strip())
    number = Decimal(re.sub("[_,]", "", match[1])) if match else Decimal("0.5")
    if match:
        number *= {"": 1, "k": 1000, "m": 1_000_000}[match[2].lower()]
    if number != int(number):
        raise ValueError(f'"{text}" is not a number such as 64000 or 64k')
    return int(number)


class SizeType(ParamType[int]):
    """An amount of memory such as 2GB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of bytes."""
        from piecework.counting.machine import parse_size

        try:
            return parse_size(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
