"""The folder that counts go into: kept if they are those that are asked for; one elsewhere is filled at the end."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from piecework.common.files import prepare_output
from piecework.common.storage import Location, RemotePath, upload
from piecework.counting.files import COUNTS_FILE, SUBSETS_FILE, TABLES, table_file
from piecework.counting.lock import locked
from piecework.counting.merge import write_subsets
from piecework.counting.store import Counts, read_description
from piecework.counting.summary import statistics_of, subset_rows
from piecework.counting.worker import strict_message
from piecework.errors import InputError

if TYPE_CHECKING:
    from piecework.counting.plan import Plan

__all__ = ["count_into", "remove_unfinished"]

Count = Callable[[Path, int], tuple[dict[str, Any], list[dict[str, Any]]]]
"""Counts into a folder, which holds a lock, and returns what counts.json says, and the rows of subsets.parquet."""


def count_into(folder: Location, plan: Plan, count: Count, *, strict: bool = False, force: bool = False) -> Counts:
    """The counts of the plan: those in the folder if they are of the same settings and files, else counted now.

    Counts of another run are replaced with `force` only. A remote folder gets its files when all of them are whole,
    counts.json last, which makes them valid.
    """
    with _workplace(folder) as (work, lock):
        description = read_description(folder)
        if description is None or force:
            if isinstance(folder, RemotePath):
                _check_writable(folder)
            (work / COUNTS_FILE).unlink(missing_ok=True)
            description, rows = count(work, lock)
            counts = Counts(folder, description, rows)
            if isinstance(folder, RemotePath):
                _publish(work, folder, [*map(table_file, TABLES), SUBSETS_FILE, COUNTS_FILE])
        else:
            if difference := plan.difference(description):
                raise InputError(
                    f"{folder}: holds counts of another run ({difference}); pass --force to replace them, "
                    "or choose another --out"
                )
            if strict:
                _check_strict(description)
            counts = Counts(folder, description)
            if plan.weights != counts.weights:
                # They act on counts, or the settings would differ.
                rows = subset_rows(plan, statistics_of(counts))
                _rewrite_subsets(folder, rows)
                counts = Counts(folder, description, rows)
        shutil.rmtree(work / ".partial", ignore_errors=True)
    return counts


@contextmanager
def _workplace(folder: Location) -> Iterator[tuple[Path, int]]:
    """The folder itself; for a remote one, a folder of its own on this machine, where a stopped run goes on."""
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
    """Find that nothing can be written now, and not after hours."""
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


def _rewrite_subsets(folder: Location, rows: Sequence[Mapping[str, Any]]) -> None:
    if not isinstance(folder, RemotePath):
        write_subsets(folder, rows)
        return
    with tempfile.TemporaryDirectory() as work:
        write_subsets(Path(work), rows)
        _upload(Path(work) / SUBSETS_FILE, folder / SUBSETS_FILE)


def remove_unfinished(folder: Path) -> None:
    """What killed processes were about to write: the lock says that there are no others."""
    for path in folder.glob(".*.tmp"):
        path.unlink(missing_ok=True)


def _check_strict(description: Mapping[str, Any]) -> None:
    """Raise an error for the first record that was left out."""
    for reasons in description["skipped"].values():
        firsts = ((of["first"][0], reason) for reason, of in reasons.items())
        # A location ends with the number of the line or row, unless it is the file as a whole.
        location, reason = min(firsts, key=lambda first: int(re.search(r"\d*$", first[0])[0] or 0))  # type: ignore[index]
        raise InputError(strict_message(location, reason))
