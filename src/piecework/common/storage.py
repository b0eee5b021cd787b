"""Remote files, on `s3://` and the other file systems of Arrow, with the interface of `Path`."""

from __future__ import annotations

import errno
import io
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

from piecework.errors import InputError

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

__all__ = [
    "Location",
    "RemotePath",
    "arrow_source",
    "credentials_problem",
    "is_remote",
    "locate",
    "relative_name",
    "upload",
]

SCHEMES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")

# Every read of a remote file is a request of tens of milliseconds, and readers read a few kB at a time.
READ_AHEAD_BYTES = 8 << 20
UPLOAD_CHUNK_BYTES = 8 << 20

# user:password@ before the host. A single name before the @ is a container of abfs://.
_CREDENTIALS = re.compile(r"://[^/@:]+:[^@]*@")

Result = TypeVar("Result")


def is_remote(path: object) -> bool:
    """Whether a path names a file system by its scheme.

    >>> is_remote("s3://corpus/books.jsonl"), is_remote("books.jsonl")
    (True, False)
    """
    return isinstance(path, RemotePath) or (
        isinstance(path, str) and re.match(r"[a-z][a-z0-9+.-]+://", path) is not None
    )


def credentials_problem(path: str) -> str:
    """What is wrong with a path that holds a password, which would end up in messages and results; else empty.

    >>> credentials_problem("s3://AKIA:secret@corpus/books")
    's3://***@corpus/books: a path should hold no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead'
    """
    hidden = _CREDENTIALS.sub("://***@", path)
    if hidden == path:
        return ""
    return f"{hidden}: a path should hold no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead"


def locate(path: str | os.PathLike[str] | RemotePath) -> Location:
    """The file or folder that a path names; a scheme that cannot be read is an InputError.

    >>> locate("s3://corpus//books/"), locate("books.jsonl").name
    (RemotePath('s3://corpus/books'), 'books.jsonl')
    """
    if isinstance(path, RemotePath):
        return path
    text = os.fspath(path)
    if not is_remote(text):
        return Path(text)
    if problem := credentials_problem(text):
        raise InputError(problem)
    scheme, _, rest = text.partition("://")
    if scheme == "file":
        return Path(rest)
    if scheme not in SCHEMES:
        known = ", ".join(f"{name}://" for name in SCHEMES)
        raise InputError(f"{text}: cannot read {scheme}://; a path is local, or starts with one of {known}")
    return RemotePath(f"{scheme}://{re.sub('/+', '/', rest).strip('/')}")


@dataclass(frozen=True, slots=True)
class RemoteStatus:
    """The result of `RemotePath.stat`, with the field names of `os.stat`."""

    st_size: int
    st_mtime_ns: int
    st_mode: int


@dataclass(frozen=True, slots=True, order=True, repr=False)
class RemotePath:
    """A remote file or folder, with those methods of `Path` that reading and listing need.

    Every failure is an OSError with a `strerror` that a person understands. How to reach the file system comes from
    the environment, as for other programs: AWS_ENDPOINT_URL, AWS_REGION, AWS_PROFILE, AWS_ACCESS_KEY_ID and others.
    """

    uri: str
    listed: RemoteStatus | None = field(default=None, compare=False)
    """The status from the listing of its folder. Asking again for thousands of files would take minutes."""

    def __str__(self) -> str:
        return self.uri

    def __repr__(self) -> str:
        return f"RemotePath({self.uri!r})"

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(f"{self.uri}/{name.strip('/')}")

    @property
    def _inner(self) -> PurePosixPath:
        return PurePosixPath(self.uri.partition("://")[2])

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self._inner.name

    @property
    def suffix(self) -> str:
        """The end of the name, from its last dot."""
        return self._inner.suffix

    def with_suffix(self, suffix: str) -> RemotePath:
        """The path with another suffix."""
        return RemotePath(f"{self.uri.partition('://')[0]}://{self._inner.with_suffix(suffix)}")

    @property
    def parent(self) -> RemotePath:
        """Its folder."""
        return RemotePath(f"{self.uri.partition('://')[0]}://{self._inner.parent}")

    def stat(self) -> RemoteStatus:
        """Size, modification time and kind; of a listed file, as of the listing."""
        return self.listed or self.stat_now()

    def stat_now(self) -> RemoteStatus:
        """The current status."""
        info = self._call(lambda system, path: system.get_file_info(path))
        if info.type.name == "NotFound":
            raise FileNotFoundError(errno.ENOENT, "no such file or folder", self.uri)
        return _status(info)

    def exists(self) -> bool:
        """Whether the file or folder exists."""
        try:
            self.stat()
        except FileNotFoundError:
            return False
        return True

    def is_dir(self) -> bool:
        """Whether it is a folder."""
        return self.exists() and stat.S_ISDIR(self.stat().st_mode)

    def is_file(self) -> bool:
        """Whether it is a file."""
        return self.exists() and stat.S_ISREG(self.stat().st_mode)

    def open(self, mode: str = "rb") -> BinaryIO:
        """Opens the file for reading with a read-ahead of several megabytes; it is seekable."""
        assert mode == "rb", "remote files are written by `upload`"
        return cast(BinaryIO, io.BufferedReader(_Raw(self.open_arrow()), READ_AHEAD_BYTES))

    def open_arrow(self) -> Any:
        """Opens the file for Arrow, without read-ahead."""
        return self._call(lambda system, path: system.open_input_file(path))

    def read_bytes(self) -> bytes:
        """The whole content."""
        with self.open() as file:
            return file.read()

    def read_text(self, encoding: str = "utf-8") -> str:
        """The whole content, decoded."""
        return self.read_bytes().decode(encoding)

    def files(self) -> Iterator[RemotePath]:
        """All files below this folder, sorted by name, except hidden ones."""
        below = len(self.uri) + 1
        for path, _ in self._below(recursive=True):
            if not re.search(r"(^|/)\.", path.uri[below:]):
                yield path

    def names(self) -> list[str]:
        """The names in this folder. Names of folders end with a slash."""
        return sorted(f"{path.name}/" if is_dir else path.name for path, is_dir in self._below(recursive=False))

    def unlink(self, *, missing_ok: bool = False) -> None:
        """Remove the file."""
        with suppress(*([FileNotFoundError] if missing_ok else [])):
            self._call(lambda system, path: system.delete_file(path))

    def _below(self, *, recursive: bool) -> Iterator[tuple[RemotePath, bool]]:
        from pyarrow.fs import FileSelector

        def listed(system: FileSystem, path: str) -> list[FileInfo]:
            return system.get_file_info(FileSelector(path, recursive=recursive, allow_not_found=True))

        scheme = self.uri.partition("://")[0]
        for info in sorted(self._call(listed), key=lambda info: info.path):
            is_dir = info.type.name == "Directory"
            # Object stores have no folders; some keep an empty object for one.
            if not (is_dir and recursive):
                yield RemotePath(f"{scheme}://{info.path.strip('/')}", _status(info)), is_dir

    def _call(self, call: Callable[[FileSystem, str], Result]) -> Result:
        scheme, _, rest = self.uri.partition("://")
        host, _, path = rest.partition("/")
        try:
            return call(_file_system(scheme, host), f"/{path}" if scheme in ("hdfs", "viewfs") else rest)
        except OSError as error:
            raise _explained(self.uri, error) from error
        except (ValueError, NotImplementedError, ImportError) as error:  # a build of Arrow without this file system
            raise OSError(errno.EINVAL, f"{error}", self.uri) from error


Location = Path | RemotePath
"""A local or remote file or folder."""


def _status(info: FileInfo) -> RemoteStatus:
    mode = stat.S_IFDIR if info.type.name == "Directory" else stat.S_IFREG
    return RemoteStatus(info.size or 0, info.mtime_ns or 0, mode)


class _Raw(io.RawIOBase):
    """Adapts a file of Arrow to Python's interface. Reads past the end return nothing."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._size = file.size()
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._position = offset + (0, self._position, self._size)[whence]
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), self._size - self._position)
        if wanted <= 0:
            return 0
        data: bytes = self._file.read_at(wanted, self._position)
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


@cache
def _file_system(scheme: str, host: str) -> FileSystem:
    from pyarrow.fs import FileSystem

    system, _ = FileSystem.from_uri(f"{scheme}://{host}/")
    return system


def _explained(uri: str, error: OSError) -> OSError:
    """Replaces the message of Arrow, which is about its internals, by a short one that says what to do."""
    text = " ".join(str(error).split())
    if isinstance(error, FileNotFoundError) or re.search(r"NO_SUCH_KEY|RESOURCE_NOT_FOUND|HTTP status 404", text):
        return FileNotFoundError(errno.ENOENT, "no such file or folder", uri)
    if "NO_SUCH_BUCKET" in text or "Bucket not found" in text:
        return FileNotFoundError(errno.ENOENT, "there is no such bucket", uri)
    if re.search(
        r"ACCESS_DENIED|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|HTTP status 40[13]|UNAUTHENTICATED", text
    ):
        return PermissionError(errno.EACCES, f"access denied; {_about_credentials(uri)}", uri)
    if re.search(r"NETWORK_CONNECTION|curlCode|timed out", text, re.IGNORECASE):
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        where = f" at {endpoint} (AWS_ENDPOINT_URL)" if endpoint and uri.startswith("s3:") else ""
        reason = re.sub(r".*?(curlCode: \d+, )?", "", text.rpartition("operation: ")[2] or text)
        return OSError(errno.EHOSTUNREACH, f"cannot reach the storage{where}: {reason}", uri)
    return OSError(error.errno or errno.EIO, text, uri)


def _about_credentials(uri: str) -> str:
    if not uri.startswith("s3:"):
        return "check the credentials of this file system"
    folder = Path.home() / ".aws"
    given = [name for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_ROLE_ARN") if os.environ.get(name)]
    given += [str(path) for path in (folder / "credentials", folder / "config") if path.is_file()]
    if given:
        return f"the credentials of {' and '.join(given)} are wrong, or do not allow it"
    return (
        "there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, "
        f"or put them into {folder / 'credentials'}"
    )


def arrow_source(path: Location) -> Any:
    """The file in a form that pyarrow's readers accept."""
    return path.open_arrow() if isinstance(path, RemotePath) else path


def relative_name(path: Location, folder: Path) -> str:
    """The path relative to the folder, as descriptions and reports name it; of a remote file, all of it.

    >>> relative_name(Path("data/sv/a.txt"), Path("data")), relative_name(Path("data/a.txt"), Path("out"))
    ('sv/a.txt', '../data/a.txt')
    """
    if isinstance(path, RemotePath):
        return str(path)
    # relpath takes 20 µs, and a corpus may have millions of files.
    text, start = str(path), f"{folder}/"
    if text.startswith(start) and ".." not in text:
        return text.removeprefix(start)
    return os.path.relpath(path, folder)


def upload(source: Path, target: RemotePath) -> None:
    """Copies a file to the store. If it fails, no part of the file stays there."""
    stream: Any = target._call(lambda system, path: system.open_output_stream(path, compression=None))

    def copy(_system: FileSystem, _path: str) -> None:
        with source.open("rb") as file:
            while chunk := file.read(UPLOAD_CHUNK_BYTES):
                stream.write(chunk)
        stream.close()

    try:
        target._call(copy)
    except BaseException:
        # Arrow cannot abort an upload. It is finished and then removed.
        with suppress(OSError):
            stream.close()
        with suppress(OSError):
            target.unlink()
        raise
