"""A lock on a folder: one process at a time works in it."""

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from piecework.common.files import write_failure
from piecework.errors import InputError

__all__ = ["locked"]

# Children of a killed process notice its end within milliseconds. They hold the lock until then.
PATIENCE_S = 1.0


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """Hold the lock of this file, or raise an InputError that names the process that holds it.

    The system releases the lock when its process ends, in whatever way, so that a leftover file does no harm. Children
    that inherit the descriptor hold the lock too. The file is removed at the end.
    """
    descriptor = _acquire(path)
    try:
        os.ftruncate(descriptor, 0)
        with suppress(OSError):  # a full disk; the number is only for the message
            os.write(descriptor, f"{os.getpid()}\n".encode())
        yield descriptor
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _acquire(path: Path) -> int:
    import fcntl

    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise write_failure(path, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The previous owner may have removed the file between these two calls. Then the lock is on no file.
            if path.exists() and os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        except BlockingIOError:
            if time.monotonic() > deadline:
                owner = os.read(descriptor, 32).decode(errors="replace").strip()
                os.close(descriptor)
                raise InputError(
                    f"{path.parent}: another process{f' ({owner})' if owner else ''} is at work in this folder; "
                    "wait for it to end, or choose another --out"
                ) from None
            time.sleep(0.05)
        except OSError as error:
            os.close(descriptor)
            if error.errno in (errno.ENOLCK, errno.EOPNOTSUPP):
                raise InputError(
                    f"{path}: this file system has no locks ({error.strerror}); choose another --out"
                ) from error
            raise
        os.close(descriptor)
