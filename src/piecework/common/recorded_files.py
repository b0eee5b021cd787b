"""Files of tokenizers and their checksums: in the run.json of their study, else in a SHA256SUMS beside them.

`sha256sum -c SHA256SUMS` checks the files of a folder too. A file without a checksum is read as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path

from piecework.common.files import check_output, prepare_output, write_together
from piecework.common.manifest import DIGEST_BYTES
from piecework.common.terms import RUN_FILE, SUMS_FILE, TOKENIZERS_FOLDER
from piecework.errors import DamagedError, InputError

__all__ = ["read_recorded", "update_recorded", "write_recorded"]

_FIX_IN_STUDY = "piecework run makes it again; to change a tokenizer, write it into another folder"
_LINE = re.compile(rb"([0-9a-f]{64}) [ *](?:\./)?([^/]+)")
_MOST_BYTES = 1 << 20
"""Ours has less than 1 kB. A longer one lists other things, and is left alone."""
_PATIENCE_S = 10.0

_Entries = list[tuple[bytes, bytes]]
"""The lines of SHA256SUMS with the names that they are about; a line of another kind has the name b""."""


def read_recorded(path: Path) -> bytes:
    """The content of a file; a DamagedError if it has changed since it was written. An OSError is left to the caller.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_recorded(folder, {"greeting": b"hej"})
    >>> read_recorded(folder / "greeting")
    b'hej'
    """
    data = path.read_bytes()
    if _problem(path, data):
        # Another process may have replaced the file, and then its checksum, between our two reads.
        data = path.read_bytes()
        if fix := _problem(path, data):
            raise DamagedError(path, "its checksum is another", fix)
    return data


def write_recorded(
    folder: Path, contents: Mapping[str, bytes], *, force: bool = False, keep_same: bool = False
) -> None:
    """Write files into a folder, which is made, and their checksums. None is overwritten without `force`.

    With `keep_same`, a file that is there with the same content is left as it is, and is no reason to refuse.
    """
    prepare_output(folder, [] if keep_same else list(contents), force=force)
    with _held(folder):
        changed = {name: data for name, data in contents.items() if not (keep_same and _has(folder / name, data))}
        # Another process may have written them since they were looked for.
        check_output(folder, list(changed), force=force)
        _write(folder, changed, contents if _run_file(folder) is None else {})


def update_recorded(files: Mapping[Path, bytes]) -> None:
    """Write files of one folder, and make no other file: only checksums that are there change."""
    folder = next(iter(files)).parent
    with _held(folder):
        _write(folder, {path.name: data for path, data in files.items()}, {})


def _write(folder: Path, contents: Mapping[str, bytes], listed: Mapping[str, bytes]) -> None:
    """Write the files, and the checksums of `listed` and of files that have one.

    After a kill at any moment, no file is refused: it has its checksum or none.
    """
    files = {folder / name: data for name, data in contents.items()}
    path = folder / SUMS_FILE
    before = _entries(folder)
    if before is not None:
        known = {name for name, _ in before}
        wanted = {**listed, **{name: data for name, data in contents.items() if os.fsencode(name) in known}}
        ours = {os.fsencode(name): _line(os.fsencode(name), data) for name, data in wanted.items()}
        others = [entry for entry in before if entry[0] not in ours]
        after = sorted(others + list(ours.items()), key=itemgetter(0))
        replaced = [entry for entry in before if entry not in after]
        if replaced:
            # Until all files have their names, both the old and the new checksum of a file are right.
            write_together({path: _text(replaced + after)})
        if after != before:
            files = {path: _text(after)} | files  # the first one gets its name last
    write_together(files)


def _problem(path: Path, data: bytes) -> str:
    """What to do if this content is not what was written; empty if it is, or if nobody knows."""
    checksum = _checksum_in_study(path)
    if checksum is not None:
        return "" if hashlib.blake2b(data, digest_size=DIGEST_BYTES).hexdigest() == checksum else _FIX_IN_STUDY
    name = os.fsencode(path.name)
    lines = [line for known, line in _entries(path.parent) or [] if known == name]
    if not lines or _line(name, data)[:64] in {line[:64] for line in lines}:
        return ""
    return f"write it again; if the change was intended, delete {path.with_name(SUMS_FILE)}"


def _line(name: bytes, data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode() + b"  " + name


def _text(entries: _Entries) -> bytes:
    return b"".join(line + b"\n" for _, line in entries)


def _entries(folder: Path) -> _Entries | None:
    """The entries of SHA256SUMS; None if something else has this name."""
    path = folder / SUMS_FILE
    try:
        if not path.is_file():
            return None if path.exists() else []
        if path.stat().st_size > _MOST_BYTES:
            return None
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return None
    matches = [(_LINE.fullmatch(line), line) for line in lines if line]
    return [(match[2] if match else b"", line) for match, line in matches]


def _has(path: Path, data: bytes) -> bool:
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False


def _run_file(folder: Path) -> Path | None:
    """The run.json of the study that the folder is a tokenizer of, if any: STUDY/tokenizers/NAME."""
    parents = folder.absolute().parents
    if len(parents) < 2 or parents[0].name != TOKENIZERS_FOLDER:
        return None
    path = parents[1] / RUN_FILE
    return path if path.is_file() else None


def _checksum_in_study(path: Path) -> str | None:
    """What run.json says of a file; None of a file that no stage wrote, and while its stage runs."""
    path = path.absolute()
    run = _run_file(path.parent)
    if run is None:
        return None
    name = path.relative_to(run.parent).as_posix()
    try:
        stages = json.loads(run.read_bytes())["stages"].values()
        found = [stage["outputs"][name] for stage in stages if stage["key"] and name in stage["outputs"]]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None  # no study, or a damaged one: whoever reads its results reports that
    return str(found[0]) if found else None


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """One process at a time writes into the folder, where the file system has locks. No file is made for it."""
    import fcntl

    deadline = time.monotonic() + _PATIENCE_S
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # it may be written, but not listed
        yield
        return
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise InputError(f"{folder}: another process writes into this folder; wait for it to end") from None
                time.sleep(0.01)
            except OSError:
                break
        yield
    finally:
        os.close(descriptor)
