"""Turns paths, folders and globs into a list of files with their formats."""

import glob
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from piecework.common.path_pattern import PathPattern
from piecework.common.storage import Location, RemotePath, RemoteStatus, locate
from piecework.corpus.streams import ByteStream, Compression
from piecework.errors import InputError

__all__ = ["Format", "InputFile", "Slice", "find_files", "name_order", "suffixes"]

Format = Literal["text", "jsonl", "parquet"]

FORMATS: dict[str, Format] = {
    ".txt": "text",
    ".text": "text",
    ".md": "text",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
COMPRESSIONS: dict[str, Compression] = {".gz": "gz", ".zst": "zst"}


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file and how to read it. Its size is the size on disk, and 0 for a pipe."""

    path: Location
    format: Format
    compression: Compression | None
    size_bytes: int
    modified_ns: int = 0
    identity: tuple[int, int] | None = None
    """Device and inode, which all names of a file share, links included; None if unknown."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a file: bytes of text and JSONL, row groups of Parquet, from `start` up to `stop`.

    A line belongs to the slice in which its first byte lies, so that neighbouring slices neither share nor lose a line.
    A slice of a compressed file is the whole file.
    """

    file: InputFile
    start: int = 0
    stop: int | None = None


def find_files(paths: Iterable[str | os.PathLike[str] | RemotePath]) -> list[InputFile]:
    """The files of these paths, in the given order; those of a folder or glob in order of name.

    A folder stands for all files below it that have a known suffix or look like text; hidden files are left out. If
    links give a file several names in a folder or glob, one of them is used. A file that is given twice is read twice,
    as SentencePiece does.

    >>> find_files(["no/such.txt"])
    Traceback (most recent call last):
    piecework.errors.InputError: no/such.txt: no such file or folder
    """
    return [file for path in paths for file in _expand(locate(path))]


def _expand(path: Location) -> Iterator[InputFile]:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        if not glob.has_magic(str(path)):
            missing = isinstance(error, FileNotFoundError)
            what = "no such file or folder" if missing else f"cannot read: {error.strerror}"
            raise InputError(f"{path}: {what}") from error
        files = [match for match in _glob(path) if match.is_file()]
        if not files:
            raise InputError(f"{path}: no file matches this pattern") from error
        yield from _distinct(map(_input_file, files))
        return
    if not stat.S_ISDIR(mode):
        yield _input_file(path)
        return
    found = [_input_file(file) for file in sorted(_visible_files(path), key=str) if _is_readable(file)]
    if not found:
        raise InputError(
            f"{path}: no readable file in this folder; readable are text and "
            f"{', '.join(sorted(FORMATS))}, and all but .parquet also with .gz or .zst"
        )
    yield from _distinct(found)


def _distinct(files: Iterable[InputFile]) -> Iterator[InputFile]:
    """Each file once, under its shortest name: links can give a file many names."""
    shortest: dict[object, InputFile] = {}
    for file in files:
        key = file.identity or file.path
        known = shortest.get(key)
        if known is None or name_order(file) < name_order(known):
            shortest[key] = file
    yield from sorted(shortest.values(), key=lambda file: file.path)


def name_order(file: InputFile) -> tuple[int, str]:
    """Names of the same file in order of preference."""
    return len(str(file.path)), str(file.path)


def _glob(pattern: Location) -> list[Location]:
    if isinstance(pattern, RemotePath):
        return [match.path for match in PathPattern(str(pattern)).find(Path())]
    return sorted(Path(match) for match in glob.glob(str(pattern), recursive=True))  # noqa: PTH207


def _visible_files(folder: Location) -> Iterator[Location]:
    if isinstance(folder, RemotePath):
        yield from folder.files()
        return

    def stop(error: OSError) -> None:
        raise InputError(f"{error.filename}: cannot list the folder: {error.strerror}") from error

    for root, folders, names in os.walk(folder, onerror=stop):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(root, name) for name in names if not name.startswith("."))


def suffixes(path: Location) -> tuple[str, Compression | None]:
    """The suffix of the format, and the compression."""
    compression = COMPRESSIONS.get(path.suffix.lower())
    return (path.with_suffix("") if compression else path).suffix.lower(), compression


def _is_readable(path: Location) -> bool:
    if not path.is_file():
        return False
    suffix, compression = suffixes(path)
    if suffix in FORMATS:
        return True
    # As git and grep do: binary files have a NUL near their start, and text has none.
    start = next(iter(ByteStream(path, compression)), b"")
    return b"\0" not in start[:8192]


def _input_file(path: Location) -> InputFile:
    suffix, compression = suffixes(path)
    file_format = FORMATS.get(suffix, "text")
    if file_format == "parquet" and compression:
        raise InputError(
            f"{path}: Parquet inside .{compression} cannot be read by row group; decompress the file first "
            f"(Parquet compresses its columns itself)"
        )
    status = path.stat()
    size_bytes = status.st_size if stat.S_ISREG(status.st_mode) else 0
    identity = None if isinstance(status, RemoteStatus) or not status.st_ino else (status.st_dev, status.st_ino)
    return InputFile(path, file_format, compression, size_bytes, status.st_mtime_ns, identity)
