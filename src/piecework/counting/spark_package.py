"""The package as an archive for workers that do not have it, or have another version of it."""

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

__all__ = ["package_archive"]

# What reading and counting import, besides pyarrow, which Spark needs for Arrow anyway.
COMPANIONS = ("orjson", "zstandard")


@cache
def package_archive() -> Path:
    """A zip, named by what is in it: this package with its core, and what it reads with.

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
    from piecework import _core

    native = Path(_core.__file__)  # an editable install has it elsewhere
    yield f"piecework/{native.name}", native
    for name in ("piecework", *COMPANIONS):
        spec = importlib.util.find_spec(name)
        assert spec
        for place in map(Path, spec.submodule_search_locations or ()):
            for path in place.rglob("*"):
                if path.suffix in (".py", ".so") and path.name != native.name and "_cffi" not in path.name:
                    yield f"{name}/{path.relative_to(place).as_posix()}", path
