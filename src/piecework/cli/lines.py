"""Lines in from a file or stdin, as soon as they are there."""

import sys
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import cast

from piecework.cli.terminal import Terminal
from piecework.corpus.inputs import suffixes
from piecework.corpus.streams import ByteStream, whole_lines
from piecework.errors import InputError

__all__ = ["read_lines"]

READ_BYTES = 1 << 20


def read_lines(source: str, terminal: Terminal) -> Iterator[list[bytes]]:
    """The lines of a file (.gz and .zst too), or of stdin for "-", without line feeds, many at a time."""
    if source == "-":
        if sys.stdin.isatty():
            terminal.say("reading from the terminal, a line at a time; Ctrl-D ends")
        stdin = cast(BufferedReader, sys.stdin.buffer)
        chunks = iter(lambda: stdin.read1(READ_BYTES), b"")
    else:
        suffix, compression = suffixes(Path(source))
        if suffix == ".parquet":
            raise InputError(f"{source}: this command reads lines of text, not Parquet")
        chunks = iter(ByteStream(Path(source), compression))
    # Blocks of one byte at least: whatever has arrived goes on up to its last line feed, so that a person or
    # a program at the other end of a pipe gets an answer to each line.
    for block in whole_lines(chunks, 1):
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        yield lines
