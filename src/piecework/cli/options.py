"""Options and types of options that several commands share."""

from __future__ import annotations

from typing import Any

import click

__all__ = ["LocationType", "SizeType", "documents_option", "text_field_option", "threads_option"]

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
threads_option = click.option("--threads", type=click.IntRange(min=1), help="Number of threads [default: all cores].")


class LocationType(click.ParamType[Any]):
    """A path on this machine, or a URI such as s3://bucket/folder."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a Path or a RemotePath."""
        from piecework.common.storage import locate
        from piecework.errors import InputError

        try:
            return locate(value)
        except InputError as error:
            self.fail(str(error), param, ctx)


class SizeType(click.ParamType[int]):
    """An amount of memory such as 2GB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of bytes."""
        from piecework.counting.machine import parse_size

        try:
            return parse_size(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
