"""Lines of a file or of stdin, as soon as they arrive; documents of JSONL and Parquet files."""

import sys
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

from piecework.cli.streams import stdout_is_broken
from piecework.cli.terminal import Terminal
from piecework.corpus.fields import needed_field
from piecework.corpus.inputs import FORMATS, find_files, suffixes
from piecework.corpus.limits import MAX_DOCUMENT_BYTES
from piecework.corpus.readers import open_batches
from piecework.corpus.skipped import Skipped
from piecework.corpus.streams import ByteStream, whole_lines
from piecework.errors import InputError

__all__ = ["has_records", "read_lines", "read_records"]

READ_BYTES = 1 << 20


def read_lines(source: str, terminal: Terminal) -> Iterator[list[bytes]]:
    """Yield lists of lines, without line feeds, from a file (plain, .gz or .zst), or from stdin for "-"."""
    if source == "-":
        if sys.stdin is None:
            raise InputError("stdin is closed; name a FILE")
        if sys.stdin.isatty():
            terminal.say("reading lines from the terminal; Ctrl-D ends")
        stdin = cast(BufferedReader, sys.stdin.buffer)
        chunks = iter(lambda: stdin.read1(READ_BYTES), b"")
    else:
        suffix, compression = suffixes(Path(source))
        if suffix == ".parquet":
            raise InputError(f"{source}: this command reads lines of text, not Parquet")
        chunks = iter(ByteStream(Path(source), compression))
    # Blocks of at least one byte: each complete line is passed on at once, so that a person or a program at the
    # other end of a pipe gets an answer to each line.
    for block in whole_lines(chunks, 1):
        if block.long_lines:
            raise InputError(
                f"{source}: a line is longer than {MAX_DOCUMENT_BYTES >> 20} MiB; split it into shorter ones"
            )
        lines = block.data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        yield lines
        if stdout_is_broken():
            return


def has_records(source: str) -> bool:
    """Whether a file has documents in records and not in lines, by its name.

    >>> [has_records(name) for name in ("a.jsonl.zst", "a.parquet", "a.txt.gz")]
    [True, True, False]
    """
    return FORMATS.get(suffixes(Path(source))[0]) in ("jsonl", "parquet")


def read_records(source: str, terminal: Terminal, *, text_field: str) -> Iterator[list[bytes]]:
    """Yield lists of documents, in the order of the file. Records that cannot be used are counted in a warning."""
    skipped = Skipped()
    found = 0
    for batch in open_batches([source], text_field=text_field, batch_bytes=READ_BYTES, skipped=skipped):
        values: Any = batch.documents
        texts = values if isinstance(values, list) else values.to_pylist()
        found += len(texts)
        yield [text.encode() for text in texts]
        if stdout_is_broken():
            return
    if skipped.total:
        terminal.warn(str(skipped))
    if not found:
        raise InputError(f"{source}: no document; {needed_field(find_files([source]), text_field)}")
