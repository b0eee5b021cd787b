"""Reads counts.json, which describes counts and makes them valid, and inputs.json, which shows if the corpus changed.

No file time is in counts.json: the same documents have the same counts.json. inputs.json has the sizes and times of the
corpus files. Only the question whether to count again depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from piecework.common.manifest import Each, Nullable, Optional, Shape, checksum_of_file, read_manifest
from piecework.common.storage import Location
from piecework.counting.files import COUNTS_FILE, INPUTS_FILE, TABLES, table_file
from piecework.errors import DamagedError, InputError

__all__ = ["FORMAT", "SIDES", "FileStamp", "inputs_content", "read_description", "read_inputs", "verify_tables"]

FORMAT = 3
COUNT_AGAIN = "run piecework count again"

SIDES = ("read", "train", "eval", "unused")

_SUBSET: Mapping[str, Shape] = {
    **dict.fromkeys(("language", "category", "weight"), str),
    **{f"{side}_{unit}": int for side in SIDES for unit in ("documents", "characters", "bytes")},
    **dict.fromkeys(("train_copies", "skipped_records", "dropped_lines"), int),
    **dict.fromkeys(("train_intended", "eval_intended"), float),
    **dict.fromkeys(("train_achieved", "eval_achieved"), Nullable(float)),
}
_WEIGHT = re.compile(r"[0-9]{1,99}(\.[0-9]{1,99})?|[0-9]{1,99}/[0-9]{0,98}[1-9][0-9]{0,98}")

_SHAPE: Mapping[str, Shape] = {
    "format": int,
    "study": str,
    "counting_key": str,
    "settings": {
        "format": int,
        "seed": int,
        "sampling": {"train": str, "eval": str, "weighting": str},
        "max_sentence_length": int | None,
        "clean_up": Optional(str),
        "normalization": Optional(dict),
        "split": Optional(str),
        "pre_tokenizer": Optional(dict),
        "subsets": [
            {
                "category": str,
                "language": str,
                "text": str,
                "documents": str,
                "code_token": str | None,
                "language_field": Optional(str),
                "weight": str,
            }
        ],
    },
    "inputs": {"files": int, "size_bytes": int},
    "tables": {table: {"rows": int, "size_bytes": int, "checksum": str} for table in TABLES},
    "subsets": [_SUBSET],
    "skipped": [{"category": str, "language": str, "reason": str, "records": int, "first": [str]}],
    "passages": [{"category": str, "language": str, "text": str}],
}
_INPUTS_SHAPE: Mapping[str, Shape] = {
    "format": int,
    "files": Each([[str | int]]),
}


@dataclass(frozen=True, slots=True, order=True)
class FileStamp:
    """What identifies a version of a corpus file."""

    path: str
    size_bytes: int
    modified_ns: int
    subset: str


def read_description(folder: Location) -> dict[str, Any] | None:
    """The content of counts.json, None where there is none, or a DamagedError if it or one of its tables is damaged.

    The tables have to be there and have their size. `verify_tables` reads them.
    """
    description = read_manifest(folder / COUNTS_FILE, _SHAPE, format_version=FORMAT)
    if description is None:
        return None
    for row in description["subsets"]:
        if not _WEIGHT.fullmatch(row["weight"]):
            raise DamagedError(folder / COUNTS_FILE, f'the weight "{row["weight"]}" is no number', COUNT_AGAIN)
    for table in TABLES:
        path = folder / table_file(table)
        try:
            size_bytes = path.stat().st_size
        except FileNotFoundError:
            raise DamagedError(path, "the file is missing", COUNT_AGAIN) from None
        except OSError as error:
            raise InputError(f"{path}: cannot read: {error.strerror or error}") from error
        if size_bytes != description["tables"][table]["size_bytes"]:
            raise DamagedError(path, "its size is another", COUNT_AGAIN)
    return description


def read_inputs(folder: Location) -> list[FileStamp] | None:
    """The corpus files as they were counted; None where that is not known."""
    try:
        content = read_manifest(folder / INPUTS_FILE, _INPUTS_SHAPE, format_version=FORMAT)
    except InputError:
        return None
    if content is None:
        return None
    try:
        rows = [(*row, subset) for subset, rows in content["files"].items() for row in rows]
        return sorted(
            FileStamp(path, size_bytes, modified_ns, subset) for path, size_bytes, modified_ns, subset in rows
        )
    except (TypeError, ValueError):
        return None


def inputs_content(files: Iterable[FileStamp]) -> dict[str, Any]:
    """The content of inputs.json: by subset, the path, size and time of each file."""
    by_subset: dict[str, list[tuple[str, int, int]]] = {}
    for file in files:
        by_subset.setdefault(file.subset, []).append((file.path, file.size_bytes, file.modified_ns))
    return {"format": FORMAT, "files": by_subset}


def verify_tables(folder: Location, description: Mapping[str, Any], tables: Iterable[str] = TABLES) -> None:
    """Raise a DamagedError if the content of a table is not what was written."""
    for table in tables:
        path = folder / table_file(table)
        try:
            checksum = checksum_of_file(path)
        except OSError as error:
            raise InputError(f"{path}: cannot read: {error.strerror or error}") from error
        if checksum != description["tables"][table]["checksum"]:
            raise DamagedError(path, "its checksum is another", COUNT_AGAIN)
