"""The folder that counts go into: counts that are still valid are kept; a remote folder is filled at the end."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from piecework.common.files import prepare_output
from piecework.common.storage import Location, RemotePath, upload
from piecework.counting.description import read_description, read_inputs, verify_tables
from piecework.counting.files import COUNTS_FILE, INPUTS_FILE, SUBSETS_FILE, TABLES, table_file
from piecework.counting.lock import locked
from piecework.counting.slice_reading import strict_message
from piecework.counting.store import Counts
from piecework.counting.summary import replace_subset_rows, statistics_of, subset_rows
from piecework.errors import DamagedError, InputError

if TYPE_CHECKING:
    from piecework.counting.plan import Plan

__all__ = ["count_into"]

Count = Callable[[Path, int], dict[str, Any]]
"""Counts into a folder while it holds a lock, and returns the content of counts.json."""


def count_into(
    folder: Location,
    plan: Plan,
    count: Count,
    *,
    strict: bool = False,
    force: bool = False,
    warn: Callable[[str], None] = warnings.warn,
) -> Counts:
    """The counts of the plan: those in the folder if they are of the same settings and files, else counted now.

    Counts of other settings or files are replaced with `force` only; damaged ones are counted again. A remote folder
    gets its files when all of them are whole. counts.json comes last and makes them valid.
    """
    with _local_folder(folder) as (work, lock):
        description = None if force else _whole_description(folder, warn)
        if description is None:
            if isinstance(folder, RemotePath):
                _check_writable(folder)
            (work / COUNTS_FILE).unlink(missing_ok=True)
            description = count(work, lock)
            if isinstance(folder, RemotePath):
                _publish(work, folder, [*map(table_file, TABLES), SUBSETS_FILE, INPUTS_FILE, COUNTS_FILE])
        else:
            if difference := plan.difference(description, read_inputs(folder)):
                raise InputError(
                    f"{folder}: holds counts of another run ({difference}); pass --force to replace them, "
                    "or choose another --out"
                )
            if strict:
                _check_strict(description)
            counts = Counts(folder, description)
            if plan.weights != counts.weights:
                # Weights that act on documents are settings, compared above. These weights multiply counts, so no
                # document is read.
                description = _rewrite_subsets(folder, description, subset_rows(plan, statistics_of(counts)))
        shutil.rmtree(work / ".partial", ignore_errors=True)
    # Both the counts that were written now and those that were found have been verified.
    return Counts(folder, description, verified=() if isinstance(folder, RemotePath) else TABLES)


def _whole_description(folder: Location, warn: Callable[[str], None]) -> dict[str, Any] | None:
    """The description of the counts in the folder; None where there are none, or they are damaged."""
    try:
        description = read_description(folder)
        # Reading all of a remote folder may take long; it is verified when it is read for training or evaluation.
        if description is not None and not isinstance(folder, RemotePath):
            verify_tables(folder, description)
    except DamagedError as error:
        warn(f"counting again: {error}")
        return None
    return description


@contextmanager
def _local_folder(folder: Location) -> Iterator[tuple[Path, int]]:
    """The folder itself; for a remote one, a folder on this machine, in which a killed count resumes."""
    if not isinstance(folder, RemotePath):
        work = prepare_output(folder, [])
        with locked(work / ".lock") as lock:
            yield work, lock
        return
    digest = hashlib.blake2b(str(folder).encode(), digest_size=8).hexdigest()
    work = Path(tempfile.gettempdir()) / f"piecework-{os.getuid()}-{digest}"
    work.mkdir(mode=0o700, parents=True, exist_ok=True)
    if work.stat().st_uid != os.getuid():
        raise InputError(f"{work}: belongs to another user; set TMPDIR to a folder of your own")
    with locked(work / ".lock") as lock:
        yield work, lock
        shutil.rmtree(work, ignore_errors=True)


def _check_writable(folder: RemotePath) -> None:
    """Fail before counting, not after hours, if the folder cannot be written."""
    probe = folder / ".probe"
    with tempfile.NamedTemporaryFile() as file:
        _upload(Path(file.name), probe)
    probe.unlink(missing_ok=True)


def _publish(work: Path, folder: RemotePath, names: Sequence[str]) -> None:
    (folder / COUNTS_FILE).unlink(missing_ok=True)
    for name in names:
        _upload(work / name, folder / name)


def _upload(source: Path, target: RemotePath) -> None:
    try:
        upload(source, target)
    except OSError as error:
        raise InputError(f"{target}: cannot write: {error.strerror or error}") from error


def _rewrite_subsets(
    folder: Location, description: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    if not isinstance(folder, RemotePath):
        return replace_subset_rows(folder, description, rows)
    with tempfile.TemporaryDirectory() as work:
        changed = replace_subset_rows(Path(work), description, rows)
        for name in (SUBSETS_FILE, COUNTS_FILE):
            _upload(Path(work) / name, folder / name)
    return changed


def _check_strict(description: Mapping[str, Any]) -> None:
    """Raise an error for the first skipped record of counts that were made without `strict`."""
    for row in description["skipped"]:
        raise InputError(strict_message(row["first"][0], row["reason"]))
