"""Packs this package into an archive for workers that lack it or have another version."""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from piecework import _core

__all__ = ["package_archive"]

# What reading, counting and encoding import, except pyarrow, which Spark needs anyway.
COMPANIONS = ("orjson", "zstandard", "google.protobuf", "google._upb")


@cache
def package_archive() -> Path:
    """A zip with this package, its core and its reading libraries; its name is a hash of its content.

    It stays until this process ends, since workers that join later fetch it then.
    """
    folder = Path(tempfile.mkdtemp(prefix="piecework-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    digest = hashlib.blake2b(digest_size=8)
    files = sorted(_files())
    for name, path in files:
        digest.update(name.encode() + path.read_bytes())
    archive = folder / f"piecework-{digest.hexdigest()}.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name, path in files:
            file.write(path, name)
    return archive


def _files() -> Iterator[tuple[str, Path]]:
    native = Path(_core.__file__)  # an editable install has it elsewhere
    yield f"piecework/{native.name}", native
    for name in ("piecework", *COMPANIONS):
        spec = importlib.util.find_spec(name)
        assert spec
        for folder in map(Path, spec.submodule_search_locations or ()):
            for path in folder.rglob("*"):
                if path.suffix in (".py", ".so") and path.name != native.name and "_cffi" not in path.name:
                    yield f"{name.replace('.', '/')}/{path.relative_to(folder).as_posix()}", path
