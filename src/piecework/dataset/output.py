"""The folder of a dataset: held by one run at a time, and never mixed with other files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from piecework.common.files import prepare_output, remove_temporaries, replace_atomically
from piecework.common.manifest import leads_through_link
from piecework.common.mistakes import listed
from piecework.common.storage import Location, RemotePath, upload
from piecework.counting.lock import locked
from piecework.counting.machine import available_cores
from piecework.counting.slice_reading import strict_message
from piecework.dataset.dataset import TokenizedDataset
from piecework.dataset.description import TOKENIZED, files_of, read_tokenized
from piecework.dataset.formats import SUFFIXES
from piecework.dataset.plan import DatasetPlan
from piecework.dataset.raw_files import sha256_of_file
from piecework.dataset.shard_store import PARTIAL, PUBLISHING
from piecework.errors import DamagedError, InputError

__all__ = ["existing_dataset", "open_folder", "publish_file"]

LOCK = ".lock"
NAMES_SHOWN = 3


@contextmanager
def open_folder(folder: Location, plan: DatasetPlan, *, force: bool) -> Iterator[int | None]:
    """Hold the folder's lock. A folder that holds anything else is an InputError, and nothing is touched.

    With `force` a dataset that is there is removed: the files that its tokenized.json lists, and no others.
    """
    if isinstance(folder, RemotePath):
        _prepare(folder, plan, force=force)
        yield None
        return
    prepare_output(folder, [])
    with locked(folder / LOCK) as lock:
        _prepare(folder, plan, force=force)
        for name in {"", *plan.folders}:
            remove_temporaries(folder / name)
        yield lock


def _prepare(folder: Location, plan: DatasetPlan, *, force: bool) -> None:
    description = _readable(folder)
    if description is not None and force:
        _remove(folder, description)
        description = None
    if description is None:
        others = _others(folder, plan)
        if others:
            raise InputError(
                f"{folder}: holds something else ({listed(others, NAMES_SHOWN)}); choose an empty folder for --out"
            )
    elif description["key"] != plan.key:
        raise InputError(
            f"{folder}: holds another dataset ({_difference(description, plan)}); pass --force to replace it, "
            "or choose another --out"
        )


def _readable(folder: Location) -> dict[str, Any] | None:
    try:
        return read_tokenized(folder)
    except DamagedError as error:
        raise InputError(f"{error}; choose another --out, or remove the folder") from error


def _difference(description: Mapping[str, Any], plan: DatasetPlan) -> str:
    made = description["settings"]
    changed = [name for name, value in plan.settings.items() if made.get(name) != value]
    return f"settings that differ: {', '.join(changed)}" if changed else "its input files have changed, or --shard-size"


def _others(folder: Location, plan: DatasetPlan) -> list[str]:
    """The files in the folder that a run of this plan would not have left there."""
    if isinstance(folder, RemotePath):
        own = {name for name in folder.names() if not name.startswith(".")}
        has_manifests = bool((folder / PARTIAL).names())
        return sorted(own - _own_names(plan)) if has_manifests else sorted(own)
    found = {path.name for path in folder.iterdir() if path.name not in (PARTIAL, LOCK)}
    # Files that a run was about to write when it was killed are hidden.
    found = {name for name in found if not (name.startswith(f".{TOKENIZED}.") and name.endswith(".tmp"))}
    if (folder / PARTIAL / PUBLISHING).exists():
        found -= _own_names(plan)
    return sorted(found)


def _own_names(plan: DatasetPlan) -> set[str]:
    if plan.folders != ("",):
        return {name for folder in plan.folders for name in (folder, f"{folder}/")}
    return {f"{name}{suffix}" for names in plan.names for name in names for suffix in SUFFIXES[plan.format]}


def _remove(folder: Location, description: Mapping[str, Any]) -> None:
    """Remove a dataset: tokenized.json first, so that what is left is never taken for one."""
    (folder / TOKENIZED).unlink(missing_ok=True)
    for row in files_of(description):
        path = folder / row["path"]
        if isinstance(folder, RemotePath) or not leads_through_link(folder, folder / row["path"]):
            path.unlink(missing_ok=True)
    if not isinstance(folder, RemotePath):
        for dataset in description["datasets"]:
            if dataset["folder"]:
                with suppress(OSError):  # someone else's files are in it
                    (folder / dataset["folder"]).rmdir()


def existing_dataset(folder: Location, plan: DatasetPlan, *, strict: bool) -> TokenizedDataset | None:
    """The dataset of this plan if the folder holds it, with all its files as they were written.

    Files in a store are compared by their size alone: their content would have to be fetched.
    """
    description = _readable(folder)
    if description is None or description["key"] != plan.key:
        return None
    with ThreadPoolExecutor(available_cores()) as pool:  # checksums are computed without the GIL
        files = files_of(description)
        for row, problem in zip(files, pool.map(partial(_problem, folder), files), strict=True):
            if problem:
                raise DamagedError(folder / row["path"], problem, "pass --force to write it again")
    if strict and description["skipped"]:
        first = description["skipped"][0]
        raise InputError(strict_message(first["first"][0], first["reason"]))
    return TokenizedDataset(folder, description)


def _problem(folder: Location, row: Mapping[str, Any]) -> str:
    """How a file differs from its description; empty where it does not."""
    path = folder / row["path"]
    if not path.is_file() or path.stat().st_size != row["size_bytes"]:
        return "it is missing or has another size"
    if isinstance(path, Path) and sha256_of_file(path) != row["checksum"]:
        return "its checksum is another"
    return ""


def publish_file(folder: Location, name: str, data: bytes) -> None:
    """Write a small file into the dataset's folder, all of it or nothing."""
    if not isinstance(folder, RemotePath):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_atomically(path) as temporary:
            temporary.write_bytes(data)
        return
    with tempfile.TemporaryDirectory(prefix="piecework-") as work:
        path = Path(work) / "file"
        path.write_bytes(data)
        try:
            upload(path, folder / name)
        except OSError as error:
            raise InputError(f"{folder / name}: cannot write: {error.strerror or error}") from error
