"""Standard streams that may be closed, broken or full: a failing stdout is an error, a failing stderr is ignored."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

from piecework.errors import PieceworkError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["StdoutError", "prepare_streams", "stdout_is_broken"]

STDIN, STDOUT, STDERR = 0, 1, 2
BUFFER_BYTES = 1 << 16


class StdoutError(PieceworkError):
    """Data cannot be written to stdout: it is closed, or the disk is full."""


class StandardStream(io.RawIOBase):
    """Writes to stdout or stderr. After the first failure, output is dropped.

    If the reader of a pipe has gone, the command continues: `piecework verify m | head -1` must still fail if a runtime
    differs, and `piecework train 2>&1 | head -1` must still train. Commands that read input without end ask
    `stdout_is_broken` and stop. Other failures of stdout raise a StdoutError, because data would be lost.
    """

    def __init__(self, descriptor: int, *, is_open: bool) -> None:
        super().__init__()
        self.is_broken = False
        self._descriptor = descriptor
        self._is_open = is_open

    def write(self, data: ReadableBuffer, /) -> int:
        size = memoryview(data).nbytes
        if self.is_broken:
            return size
        try:
            if not self._is_open:
                raise OSError(0, "it is closed")
            return os.write(self._descriptor, data)
        except OSError as error:
            self.is_broken = True
            if self._descriptor == STDERR or isinstance(error, BrokenPipeError):
                return size
            raise StdoutError(f"cannot write to stdout: {error.strerror}") from error

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return self._is_open and os.isatty(self._descriptor)


def prepare_streams() -> None:
    """Replace stdout and stderr, and open closed streams on /dev/null so that no other file gets their numbers."""
    for descriptor, stream in ((STDIN, sys.stdin), (STDOUT, sys.stdout), (STDERR, sys.stderr)):
        if stream is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
    sys.stdout = _text_stream(StandardStream(STDOUT, is_open=sys.stdout is not None))
    sys.stderr = _text_stream(StandardStream(STDERR, is_open=sys.stderr is not None), line_buffering=True)


def _text_stream(raw: StandardStream, *, line_buffering: bool = False) -> io.TextIOWrapper:
    # Pieces are Unicode in any locale, and a file name may not be valid text.
    return io.TextIOWrapper(
        io.BufferedWriter(raw, BUFFER_BYTES),
        encoding="utf-8",
        errors="backslashreplace",
        line_buffering=line_buffering or raw.isatty(),
    )


def stdout_is_broken() -> bool:
    """Whether the reader of stdout has gone."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return isinstance(raw, StandardStream) and raw.is_broken
