"""Manifests: JSON files that list what a stage wrote, with checksums, so that damage is noticed when they are read.

A manifest carries a checksum of its own content. A shape says which keys it has and of which type, so that a wrong
manifest can only cause an error that names it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import NoneType, UnionType
from typing import Any

from piecework.common.files import replace_atomically
from piecework.common.storage import Location
from piecework.errors import DamagedError, InputError, OtherFormatError

__all__ = [
    "Each",
    "Nullable",
    "Optional",
    "Shape",
    "checksum_of_file",
    "checksum_of_json",
    "inner_path",
    "leads_through_link",
    "read_manifest",
    "seal",
    "unseal",
    "write_manifest",
]

CHECKSUM = "checksum"
DIGEST_BYTES = 16
# 100 MB take 0.1 s; larger chunks are no faster.
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Each:
    """The shape of an object with any keys: what each of its values is."""

    value: Shape


@dataclass(frozen=True, slots=True)
class Nullable:
    """The shape of a value that may be null."""

    value: Shape


@dataclass(frozen=True, slots=True)
class Optional:
    """The shape of a key that may be missing."""

    value: Shape


Shape = type | UnionType | Mapping[str, "Shape"] | list["Shape"] | Each | Nullable | Optional
"""A type, or an object with these keys and no others, or a list of one shape, or `Each`."""


def checksum_of_file(path: Location) -> str:
    """A checksum of the content of a file, in hexadecimal. An OSError is left to the caller.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "a")
    >>> path.write_bytes(b"hej")
    3
    >>> checksum_of_file(path)
    'bfa5a307f1b1284b0489d26ebfd38df2'
    """
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def checksum_of_json(content: object) -> str:
    """A checksum of what JSON can hold, whatever the order of keys and the whitespace."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).hexdigest()


def seal(content: Mapping[str, Any], *, indent: int | None = 1) -> bytes:
    """The content as JSON, with its checksum as the last key."""
    text = json.dumps({**content, CHECKSUM: checksum_of_json(dict(content))}, indent=indent, ensure_ascii=False)
    # The name of a file may be no valid UTF-8. JSON has an escape for the surrogates that stand for such bytes.
    return text.encode("utf-8", "backslashreplace") + b"\n"


def unseal(data: bytes, shape: Mapping[str, Shape]) -> dict[str, Any]:
    """The content that `seal` wrote, or a ValueError that says what is wrong with it.

    >>> unseal(seal({"format": 1}), {"format": int})
    {'format': 1}
    >>> unseal(seal({"format": 1}).replace(b"1,", b"2,"), {"format": int})
    Traceback (most recent call last):
    ValueError: its checksum is another
    """
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError("not valid JSON") from None
    if not isinstance(content, dict) or CHECKSUM not in content:
        raise ValueError("it has no checksum")
    if content.pop(CHECKSUM) != checksum_of_json(content):
        raise ValueError("its checksum is another")
    if wrong := _mismatch(content, shape, ""):
        raise ValueError(wrong)
    return content


def write_manifest(path: Path, content: Mapping[str, Any], *, indent: int | None = 1) -> None:
    """Write a manifest, all of it or nothing."""
    with replace_atomically(path) as temporary:
        temporary.write_bytes(seal(content, indent=indent))


def read_manifest(path: Location, shape: Mapping[str, Shape], *, format_version: int) -> dict[str, Any] | None:
    """The content of a manifest, None where there is none, or a DamagedError.

    A manifest of another version is an OtherFormatError.
    """
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror or error}") from error
    try:
        return unseal(data, shape)
    except ValueError as error:
        if (other := _format_of(data)) not in (None, format_version):
            raise OtherFormatError(
                f"{path}: format {other}, and this version reads {format_version}; make it again with this version, or "
                "read it with the one that wrote it"
            ) from None
        raise DamagedError(path, f"{error}") from None


def inner_path(folder: Path, name: str) -> Path:
    """A path that a manifest gives, relative to its folder; a ValueError if it leads out of the folder.

    >>> inner_path(Path("out"), "results/metrics.csv").as_posix()
    'out/results/metrics.csv'
    >>> inner_path(Path("out"), "../precious.txt")
    Traceback (most recent call last):
    ValueError: "../precious.txt" leads out of the folder out
    """
    path = PurePosixPath(name)
    if not path.parts or "\0" in name or "\\" in name or path.is_absolute() or ".." in path.parts:
        raise ValueError(f'"{name}" leads out of the folder {folder}')
    return folder / path


def leads_through_link(folder: Path, path: Path) -> bool:
    """Whether a folder on the way to a file of `folder` is a link to elsewhere: what lies there is not ours."""
    return not path.parent.resolve().is_relative_to(folder.resolve())


def _format_of(data: bytes) -> int | None:
    try:
        found = json.loads(data)["format"]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return None
    return found if isinstance(found, int) else None


def _mismatch(value: Any, shape: Shape, where: str) -> str:
    """How a value differs from its shape; empty where it does not."""
    parts: list[tuple[Any, Shape, str]]
    if isinstance(shape, Nullable | Optional):
        return "" if value is None and isinstance(shape, Nullable) else _mismatch(value, shape.value, where)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{where or 'it'} is no list"
        parts = [(member, shape[0], f"{where}[{index}]") for index, member in enumerate(value)]
    elif isinstance(shape, Mapping | Each):
        if not isinstance(value, dict):
            return f"{where or 'it'} is no object"
        if isinstance(shape, Each):
            parts = [(member, shape.value, f"{where}.{key}") for key, member in value.items()]
        else:
            missing = {key for key, part in shape.items() if not isinstance(part, Optional)} - value.keys()
            if others := sorted(missing or value.keys() - shape.keys()):
                return f"{where or 'it'} {'lacks' if missing else 'has an unknown key,'} {others[0]}"
            parts = [(value[key], part, f"{where}.{key}") for key, part in shape.items() if key in value]
    else:
        kinds = shape.__args__ if isinstance(shape, UnionType) else (shape,)
        # In Python True is a number.
        if isinstance(value, kinds) and not (isinstance(value, bool) and bool not in kinds):
            return ""
        names = " or ".join("null" if kind is NoneType else kind.__name__ for kind in kinds)
        return f"{where.lstrip('.')} is no {names}"
    return next(filter(None, (_mismatch(*part) for part in parts)), "")
