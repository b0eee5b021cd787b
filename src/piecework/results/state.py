"""The state of a run: which stages are done in a study's folder. It is kept in run.json."""

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
    """The finished stages: each has the key of its inputs and the hashes of its output files.

    A stage is done if its key is the same and its files are unchanged.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run: dict[str, Any] = read_run(folder) or {}

    @property
    def stages(self) -> dict[str, Any]:
        """By name: key, outputs, time and memory."""
        stages: dict[str, Any] = self.run.setdefault("stages", {})
        return stages

    def forget(self) -> None:
        """Marks every stage as not done. Their files stay known, and are deleted if no stage writes them again."""
        for stage in self.stages.values():
            stage["key"] = ""

    def is_done(self, stage: str, key: str) -> bool:
        """Whether the stage is done and need not run."""
        done = self.stages.get(stage)
        return (
            done is not None
            and done["key"] == key
            and all(_hash_of(self.folder / name) == value for name, value in done["outputs"].items())
        )

    @contextmanager
    def doing(self, stage: str, key: str, *, spent_s: float = 0.0) -> Iterator[list[Path]]:
        """Runs a stage: it adds the files it writes to the list, and they are recorded at the end.

        `spent_s` is the time already spent on the stage.
        """
        # The results are incomplete from now until the last stage is done. Files of the previous run of this stage stay
        # known, since the stage may not write all of them again.
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
        """The output files of stages, with their hashes."""
        return {name: value for stage in stages for name, value in self.stages[stage]["outputs"].items()}

    def remove_all_but(self, stages: Iterable[str]) -> None:
        """Deletes the files of all other stages: sizes and languages that the study no longer has."""
        for stage in sorted(self.stages.keys() - set(stages)):
            kept = self.outputs(each for each in self.stages if each != stage)
            self._remove(self.stages[stage]["outputs"].keys() - kept.keys())
            del self.stages[stage]
            self.write({"complete": False})

    def _remove(self, names: Iterable[str]) -> None:
        """Deletes files, and folders that are empty afterwards."""
        for name in names:
            path = self.folder / name
            path.unlink(missing_ok=True)
            if path.parent != self.folder and path.parent.is_dir() and not any(path.parent.iterdir()):
                path.parent.rmdir()

    def write(self, changes: Mapping[str, Any]) -> None:
        """Writes run.json with these changes."""
        self.run = {"format": FORMAT, **self.run, **changes}
        self.run["stages"] = self.run.pop("stages", {})  # the long part last
        text = json.dumps(self.run, indent=1, ensure_ascii=False)
        with replace_atomically(self.folder / RUN_FILE) as temporary:
            temporary.write_bytes(text.encode("utf-8", "backslashreplace") + b"\n")


def key_of(*parts: object) -> str:
    """A hash of the inputs of a stage, in hexadecimal.

    >>> key_of("train", {"vocab_size": 8000}) == key_of("train", {"vocab_size": 8000})
    True
    """
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def peak_memory_bytes() -> int:
    """The peak memory of this process and its children so far; 0 if the system does not report it."""
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
