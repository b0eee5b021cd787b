"""The results of shards on disk, from which a run that was killed goes on: each is there whole or not at all."""

import json
import os
import secrets
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from piecework.common.files import write_error
from piecework.corpus.skipped import Reason, Skipped
from piecework.counting.shards import Shard

__all__ = ["PartialResults", "RunFile", "ShardResult", "SliceResult"]

_DESCRIPTION = "shard.json"
_UNFINISHED = ".unfinished-"


@dataclass(frozen=True, slots=True)
class RunFile:
    """A file with a part of one table of a shard: sorted, and no key in it twice."""

    name: str
    table: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class SliceResult:
    """What was left out of a slice: by reason how many records, and where the first stand."""

    lines: int
    skipped: dict[str, tuple[int, list[int]]]

    @classmethod
    def of(cls, lines: int, skipped: Skipped) -> "SliceResult":
        """What a reader of this slice, and of nothing else, has counted."""
        by_reason = sorted((str(reason), count) for (_, reason), count in skipped.counts.items())
        places = {str(reason): kept for (_, reason), kept in skipped.places.items()}
        return cls(lines, {reason: (count, places[reason]) for reason, count in by_reason})

    def to_skipped(self, file: str) -> Skipped:
        """The same as the reader had it, under this name of the file."""
        skipped = Skipped()
        for reason, (count, places) in self.skipped.items():
            skipped.add(file, Reason(reason), places, count=count)
        return skipped


@dataclass(frozen=True, slots=True)
class ShardResult:
    """What one shard came to."""

    statistics: Counter[str]
    slices: tuple[SliceResult, ...]
    """One for each slice of the shard."""
    runs: tuple[RunFile, ...] = field(default=())

    def to_json(self) -> str:
        """One line, the same for the same result."""
        return json.dumps(asdict(self) | {"statistics": dict(sorted(self.statistics.items()))}) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "ShardResult":
        """The result that `to_json` wrote."""
        data: dict[str, Any] = json.loads(text)
        slices = tuple(
            SliceResult(part["lines"], {reason: (count, places) for reason, (count, places) in part["skipped"].items()})
            for part in data["slices"]
        )
        return cls(Counter(data["statistics"]), slices, tuple(RunFile(**run) for run in data["runs"]))


class PartialResults:
    """A folder with one folder for each shard that is done, named by its key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def new(self, key: str) -> Iterator[Path]:
        """An empty folder for the files of a shard, which takes the shard's name when all is on disk."""
        unfinished = self.folder / f"{_UNFINISHED}{key}-{secrets.token_hex(4)}"
        try:
            unfinished.mkdir(parents=True)
            yield unfinished
            for path in unfinished.iterdir():
                with path.open("rb") as file:
                    os.fsync(file.fileno())
            done = self.folder / key
            if done.exists():  # of a run that left it damaged, or `load` would have found it
                shutil.rmtree(done)
            unfinished.rename(done)
        except BaseException as error:
            shutil.rmtree(unfinished, ignore_errors=True)
            if isinstance(error, OSError):
                raise write_error(self.folder, error) from error
            raise

    @staticmethod
    def describe(folder: Path, result: ShardResult) -> None:
        """Write the description of a shard, the last of its files."""
        (folder / _DESCRIPTION).write_text(result.to_json())

    def load(self, shard: Shard) -> ShardResult | None:
        """The result of the shard if it is there, and whole."""
        folder = self.folder / shard.key
        try:
            result = ShardResult.from_json((folder / _DESCRIPTION).read_text())
            whole = all((folder / run.name).stat().st_size == run.size_bytes for run in result.runs)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return result if whole and len(result.slices) == len(shard.slices) else None

    def path(self, shard: Shard, run: RunFile) -> Path:
        """Where that file of the shard is."""
        return self.folder / shard.key / run.name

    def remove_unfinished(self) -> None:
        """Remove what processes that were killed have left; only for the one that holds the lock."""
        for path in self.folder.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(path, ignore_errors=True)

    def remove_all_but(self, shards: Iterable[Shard]) -> None:
        """Remove results of other settings or files."""
        wanted = {shard.key for shard in shards}
        for path in self.folder.glob("*"):
            if path.is_dir() and path.name not in wanted:
                shutil.rmtree(path, ignore_errors=True)
