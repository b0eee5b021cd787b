"""Writes files atomically, and overwrites none by accident."""

import errno
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from piecework.errors import InputError

__all__ = [
    "check_output",
    "prepare_output",
    "remove_temporaries",
    "replace_atomically",
    "write_failure",
    "write_together",
]

_TEMPORARIES = ".*.????????.tmp"
"""The files of `replace_atomically` before they get their names."""


@contextmanager
def replace_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path to write to. It gets the name `path` when all of it is on disk.

    If writing stops, by Ctrl-C too, the old file stays and no temporary file is left.
    """
    path = Path(path)
    # In the same folder, because replacing is atomic only within one file system. The name is known before the file is
    # made, so that an interrupt between the two still removes it.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise write_failure(path, error) from error
        raise


def remove_temporaries(folder: Path, *, deep: bool = False) -> None:
    """Remove what killed processes were about to write. Only the process that holds the folder's lock may call this."""
    for path in folder.rglob(_TEMPORARIES) if deep else folder.glob(_TEMPORARIES):
        path.unlink(missing_ok=True)


def write_failure(path: Path, error: OSError) -> InputError:
    """The error that says why a file or folder could not be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return InputError(f"{path}: no space left on the disk; make room and run the command again")
    return InputError(f"{path}: cannot write: {error.strerror or error}")


def write_together(files: Mapping[Path, bytes]) -> None:
    """Write files that belong together: none appears under its name before all of them are on disk.

    The first one gets its name last.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_together({folder / "greeting": b"hej", folder / "answer": b"hej hej"})
    >>> sorted(path.name for path in folder.iterdir())
    ['answer', 'greeting']
    """
    with ExitStack() as stack:
        for path, data in files.items():
            stack.enter_context(replace_atomically(path)).write_bytes(data)


def check_output(folder: str | os.PathLike[str], names: Sequence[str], *, force: bool = False) -> None:
    """Raise an InputError if these files could not be written into the folder, and touch nothing.

    Long work calls this first, so that it is not refused at its end.
    """
    folder = Path(folder)
    try:
        existing = [folder / name for name in names if (folder / name).exists()]
        nearest = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    except OSError as error:
        raise InputError(f"{folder}: cannot write there: {error.strerror or error}") from error
    if not nearest.is_dir():
        raise InputError(f"{nearest} is a file, not a folder; choose another --out")
    if existing and not force:
        plural = len(existing) > 1
        raise InputError(
            f"{' and '.join(map(str, existing))} {'exist' if plural else 'exists'} already; "
            f"pass --force to overwrite {'them' if plural else 'it'}, or choose another --out"
        )
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError(f"{nearest}: no permission to write there; choose another --out")


def prepare_output(folder: str | os.PathLike[str], names: Sequence[str], *, force: bool = False) -> Path:
    """Make the folder that these files go into, or raise an InputError if that would overwrite one of them.

    >>> import tempfile
    >>> prepare_output(Path(tempfile.mkdtemp()) / "new", ["tokenizer.model"]).is_dir()
    True
    """
    folder = Path(folder)
    check_output(folder, names, force=force)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot make the folder: {error.strerror or error}") from error
    return folder
