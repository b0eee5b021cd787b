"""Results of shards on disk, from which a killed count resumes. A shard without a whole result is counted again."""

import os
import secrets
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from piecework.common.files import write_failure
from piecework.common.manifest import Each, Shape, checksum_of_file, inner_path, seal, unseal
from piecework.corpus.passages import Candidate
from piecework.corpus.skipped import Reason, Skipped
from piecework.counting.shards import Shard

__all__ = ["UNMATCHED", "PartialResults", "ShardResult", "SliceResult", "SpillFile"]

UNMATCHED = "unmatched_parts_"
"""The name of a statistic starts so, and ends with a character: parts of the text that start with it, and that the
pattern does not match."""

_MANIFEST = "shard.json"
_UNFINISHED = ".unfinished-"

_SHAPE: Mapping[str, Shape] = {
    "statistics": Each(Each(int)),
    "slices": [{"lines": int, "skipped": Each(Each({"count": int, "numbers": [int]}))}],
    "passages": Each({"is_trained_on": bool, "is_short": bool, "rank": int, "text": str}),
    "spill_files": [{"name": str, "table": str, "language": str, "size_bytes": int, "checksum": str}],
}


@dataclass(frozen=True, slots=True)
class SpillFile:
    """A sorted file with a part of one table of a shard, for one language; no key is in it twice."""

    name: str
    table: str
    language: str
    size_bytes: int
    checksum: str

    @classmethod
    def at(cls, path: Path, table: str, language: str) -> "SpillFile":
        """The spill file that was written at this path."""
        return cls(path.name, table, language, path.stat().st_size, checksum_of_file(path))

    def is_whole(self, folder: Path) -> bool:
        """Whether the file in this folder is still as it was written."""
        path = inner_path(folder, self.name)
        return path.stat().st_size == self.size_bytes and checksum_of_file(path) == self.checksum


@dataclass(frozen=True, slots=True)
class SliceResult:
    """What was skipped in a slice.

    By language and reason: the number of records, and the line or row numbers of the first few.
    """

    lines: int
    skipped: dict[str, dict[str, dict[str, Any]]]

    @classmethod
    def from_skipped(cls, lines: int, by_language: Mapping[str, Skipped]) -> "SliceResult":
        """The records that a reader of this slice, and of nothing else, has skipped."""
        found = {}
        for language, skipped in sorted(by_language.items()):
            records = {
                str(reason): {"count": count, "numbers": skipped.numbers[file, reason]}
                for (file, reason), count in skipped.counts.items()
            }
            if records:
                found[language] = dict(sorted(records.items()))
        return cls(lines, found)

    def to_skipped(self, file: str) -> dict[str, Skipped]:
        """The records that the reader skipped, by language, under this name of the file."""
        found: dict[str, Skipped] = {}
        for language, reasons in self.skipped.items():
            skipped = found.setdefault(language, Skipped())
            for reason, records in reasons.items():
                skipped.add(file, Reason(reason), records["numbers"], count=records["count"])
        return found


@dataclass(frozen=True, slots=True)
class ShardResult:
    """The result of counting one shard."""

    statistics: dict[str, Counter[str]]
    """By language."""
    slices: tuple[SliceResult, ...]
    """One for each slice of the shard."""
    passages: dict[str, Candidate]
    """By language."""
    spill_files: tuple[SpillFile, ...] = field(default=())

    def to_json(self) -> bytes:
        """One line; equal results give equal lines."""
        statistics = {name: dict(sorted(self.statistics[name].items())) for name in sorted(self.statistics)}
        passages = {name: asdict(self.passages[name]) for name in sorted(self.passages)}
        content = {
            "statistics": statistics,
            "slices": [asdict(each) for each in self.slices],
            "passages": passages,
            "spill_files": [asdict(each) for each in self.spill_files],
        }
        return seal(content, indent=None)

    @classmethod
    def from_json(cls, data: bytes) -> "ShardResult":
        """The result that `to_json` wrote; a ValueError where it is damaged."""
        content = unseal(data, _SHAPE)
        return cls(
            {language: Counter(statistics) for language, statistics in content["statistics"].items()},
            tuple(SliceResult(**part) for part in content["slices"]),
            {language: Candidate(**passage) for language, passage in content["passages"].items()},
            tuple(SpillFile(**file) for file in content["spill_files"]),
        )


class PartialResults:
    """A folder with one folder for each shard that is done, named by its key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def new(self, key: str) -> Iterator[Path]:
        """An empty folder for the files of a shard. It takes the shard's name when all of them are on disk."""
        unfinished = self.folder / f"{_UNFINISHED}{key}-{secrets.token_hex(4)}"
        try:
            unfinished.mkdir(parents=True)
            yield unfinished
            for path in unfinished.iterdir():
                with path.open("rb") as file:
                    os.fsync(file.fileno())
            done = self.folder / key
            if done.exists():  # damaged, or `load` would have found it
                shutil.rmtree(done)
            unfinished.rename(done)
        except BaseException as error:
            shutil.rmtree(unfinished, ignore_errors=True)
            if isinstance(error, OSError):
                raise write_failure(self.folder, error) from error
            raise

    @staticmethod
    def describe(folder: Path, result: ShardResult) -> None:
        """Write the manifest of a shard, the last of its files."""
        (folder / _MANIFEST).write_bytes(result.to_json())

    def load(self, shard: Shard) -> ShardResult | None:
        """The result of the shard; None if it is missing or damaged, so that the shard is counted again."""
        folder = self.folder / shard.key
        try:
            result = ShardResult.from_json((folder / _MANIFEST).read_bytes())
            whole = all(file.is_whole(folder) for file in result.spill_files)
        except (OSError, ValueError):
            return None
        return result if whole and len(result.slices) == len(shard.slices) else None

    def path(self, shard: Shard, file: SpillFile) -> Path:
        """The path of a spill file of the shard."""
        return self.folder / shard.key / file.name

    def remove_unfinished(self) -> None:
        """Remove what killed processes have left. Only the process that holds the lock may call this."""
        for path in self.folder.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(path, ignore_errors=True)

    def remove_all_but(self, shards: Iterable[Shard]) -> None:
        """Remove results of other settings or files."""
        wanted = {shard.key for shard in shards}
        for path in self.folder.glob("*"):
            if path.is_dir() and path.name not in wanted:
                shutil.rmtree(path, ignore_errors=True)
