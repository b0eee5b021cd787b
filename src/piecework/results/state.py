"""The state of a run: which stages are done in a study's folder. It is kept in run.json."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from piecework.common.manifest import checksum_of_file, checksum_of_json, leads_through_link, write_manifest
from piecework.errors import DamagedError, InputError
from piecework.results.folder import FORMAT, RUN_FILE, read_run

__all__ = ["State", "key_of", "peak_memory_bytes"]


class State:
    """The finished stages: each has the key of its inputs and the hashes of its output files.

    A stage is done if its key is the same and its files are unchanged.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.damage: DamagedError | None = None
        """What is wrong with run.json. Then no stage is known to be done, and all of them run again."""
        self.run: dict[str, Any] = {}
        try:
            self.run = read_run(folder) or {}
        except DamagedError as error:
            self.damage = error

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
            and all(_checksum(self.folder / name) == value for name, value in done["outputs"].items())
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
            "outputs": {path.relative_to(self.folder).as_posix(): _checksum(path) for path in sorted(outputs)},
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
            if leads_through_link(self.folder, path):
                continue
            path.unlink(missing_ok=True)
            if path.parent != self.folder and path.parent.is_dir() and not any(path.parent.iterdir()):
                path.parent.rmdir()

    def write(self, changes: Mapping[str, Any]) -> None:
        """Writes run.json with these changes."""
        self.run = {"format": FORMAT, **self.run, **changes}
        self.run["stages"] = self.run.pop("stages", {})  # the long part last
        write_manifest(self.folder / RUN_FILE, self.run)


def key_of(*parts: object) -> str:
    """A hash of the inputs of a stage, in hexadecimal.

    >>> key_of("train", {"vocab_size": 8000}) == key_of("train", {"vocab_size": 8000})
    True
    """
    return checksum_of_json(parts)


def peak_memory_bytes() -> int:
    """The peak memory of this process and its children so far; 0 if the system does not report it."""
    try:
        import resource
    except ImportError:
        return 0
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return peak if sys.platform == "darwin" else peak * 1024


def _checksum(path: Path) -> str | None:
    try:
        return checksum_of_file(path)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{os.fspath(path)}: cannot read: {error.strerror or error}") from error
