"""What has been done in a study's folder: run.json, written anew after each stage."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from piecework.common.files import replace_atomically
from piecework.errors import InputError
from piecework.results.folder import FORMAT, RUN_FILE, read_run

__all__ = ["State", "key_of", "peak_memory_bytes"]


class State:
    """The stages that are done, each with the key of what it was made from and the hashes of what it made.

    A stage is done if it was done with the same key, and its files are still as it left them.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run: dict[str, Any] = read_run(folder) or {}

    @property
    def stages(self) -> dict[str, Any]:
        """By name: key, outputs, seconds and memory."""
        stages: dict[str, Any] = self.run.setdefault("stages", {})
        return stages

    def forget(self) -> None:
        """Have every stage done again; what it made is still known, and removed if it is not made again."""
        for stage in self.stages.values():
            stage["key"] = ""

    def is_done(self, stage: str, key: str) -> bool:
        """Whether there is nothing to do."""
        done = self.stages.get(stage)
        return (
            done is not None
            and done["key"] == key
            and all(_hash_of(self.folder / name) == value for name, value in done["outputs"].items())
        )

    @contextmanager
    def doing(self, stage: str, key: str, *, spent_s: float = 0.0) -> Iterator[list[Path]]:
        """Do a stage: what it has written is added to the list, and recorded when all of it is there.

        `spent_s` is how long was worked on it before.
        """
        # From here on the results as a whole are not what the settings say, until the last stage is done. What the
        # stage made before is remembered, since not all of it may be made again.
        before = self.stages.get(stage, {}).get("outputs", {})
        if stage in self.stages:
            self.stages[stage]["key"] = ""
        self.write({"complete": False})
        started = time.monotonic()
        outputs: list[Path] = []
        yield outputs
        self.stages[stage] = {
            "key": key,
            "elapsed_s": round(spent_s + time.monotonic() - started, 3),
            "peak_memory_bytes": peak_memory_bytes(),
            "outputs": {path.relative_to(self.folder).as_posix(): _hash_of(path) for path in sorted(outputs)},
        }
        self._remove(before.keys() - self.outputs(self.stages).keys())
        self.write({})

    def outputs(self, stages: Iterable[str]) -> dict[str, str]:
        """The files that stages made, with their hashes."""
        return {name: value for stage in stages for name, value in self.stages[stage]["outputs"].items()}

    def keep_only(self, stages: Iterable[str]) -> None:
        """Remove what other stages made: sizes and languages that the study has no more."""
        for stage in sorted(self.stages.keys() - set(stages)):
            kept = self.outputs(each for each in self.stages if each != stage)
            self._remove(self.stages[stage]["outputs"].keys() - kept.keys())
            del self.stages[stage]
            self.write({"complete": False})

    def _remove(self, names: Iterable[str]) -> None:
        """Files that are made no more, and folders that are empty without them."""
        for name in names:
            path = self.folder / name
            path.unlink(missing_ok=True)
            if path.parent != self.folder and path.parent.is_dir() and not any(path.parent.iterdir()):
                path.parent.rmdir()

    def write(self, changes: Mapping[str, Any]) -> None:
        """Write run.json with these changes."""
        self.run = {"format": FORMAT, **self.run, **changes}
        self.run["stages"] = self.run.pop("stages", {})  # the long part last
        text = json.dumps(self.run, indent=1, ensure_ascii=False)
        with replace_atomically(self.folder / RUN_FILE) as temporary:
            temporary.write_bytes(text.encode("utf-8", "backslashreplace") + b"\n")


def key_of(*parts: object) -> str:
    """A hash of what a stage depends on, in hexadecimal.

    >>> key_of("train", {"vocab_size": 8000}) == key_of("train", {"vocab_size": 8000})
    True
    """
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def peak_memory_bytes() -> int:
    """The most memory that this process, or one that it started, has held so far; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:
        return 0
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return peak if sys.platform == "darwin" else peak * 1024


def _hash_of(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{os.fspath(path)}: cannot read: {error.strerror or error}") from error
