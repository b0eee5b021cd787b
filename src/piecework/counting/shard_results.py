"""The shards of a plan that are done, and the last step from there: merging their spill files into the tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from piecework.common.files import remove_temporaries
from piecework.common.subset_name import SubsetName
from piecework.counting.files import TABLES
from piecework.counting.merge import MergeJob, SubsetTables
from piecework.counting.partial import PartialResults, ShardResult
from piecework.counting.plan import Plan
from piecework.counting.slice_reading import check_nothing_skipped

__all__ = ["ShardResults"]

# Tables with this much in their spill files are merged by a process of their own. Less is merged sooner than a second
# process has imported what it needs (30 ms).
LITTLE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ShardResults:
    """The results of a plan's shards in a folder, from which a stopped count resumes."""

    plan: Plan
    folder: Path
    """For the tables; the results of shards are in `.partial` below it."""

    @property
    def partial(self) -> PartialResults:
        """The results on disk."""
        return PartialResults(self.folder / ".partial")

    def prepare(self) -> None:
        """Remove what a killed process has left, and results of other settings or files."""
        self.remove_unfinished()
        self.partial.remove_all_but(self.plan.shards)

    def remove_unfinished(self) -> None:
        """Remove what a killed process has left."""
        self.partial.remove_unfinished()
        remove_temporaries(self.folder)

    def load(self, *, strict: bool) -> dict[int, ShardResult]:
        """The shards that are done, by index. With `strict` the first record that they skipped is an error."""
        shards = self.plan.shards
        done = {index: result for index, shard in enumerate(shards) if (result := self.partial.load(shard))}
        if strict:
            for index, result in done.items():
                for part, slice_result in zip(shards[index].slices, result.slices, strict=True):
                    check_nothing_skipped(part, slice_result.to_skipped(str(part.file.path)))
        return done

    @contextmanager
    def merging(self, results: Sequence[ShardResult], rows: Sequence[Mapping[str, Any]]) -> Iterator[list[MergeJob]]:
        """Jobs that can run side by side, the largest first; unfinished files are removed at the end.

        `rows` are those of subsets.parquet.
        """
        subsets = tuple(SubsetTables(name, files) for name, files in self._spill_files(results).items())
        sizes = Counter[str]()
        for result in results:
            for file in result.spill_files:
                sizes[file.table] += file.size_bytes
        tables = sorted(TABLES, key=lambda table: -sizes[table])
        large = [table for table in tables if sizes[table] > LITTLE_BYTES]
        jobs = [(table,) for table in large[:-1]] + [(*large[-1:], *tables[len(large) :])]
        try:
            yield [
                MergeJob(
                    subsets=subsets,
                    rows=tuple(rows) if "train" in job else (),
                    folder=self.folder,
                    temporary=self.partial.folder / f"merging-{job[0]}",
                    tables=job,
                    pre_tokens=self.plan.counts_pre_tokens,
                )
                for job in jobs
            ]
        finally:
            self.remove_unfinished()

    def _spill_files(self, results: Sequence[ShardResult]) -> dict[SubsetName, dict[str, list[Path]]]:
        """The spill files of each subset, by table."""
        files: dict[SubsetName, dict[str, list[Path]]] = {
            subset.name: {table: [] for table in TABLES} for subset in self.plan.subsets
        }
        for shard, result in zip(self.plan.shards, results, strict=True):
            for file in result.spill_files:
                files[SubsetName(shard.category, file.language)][file.table].append(self.partial.path(shard, file))
        return files
