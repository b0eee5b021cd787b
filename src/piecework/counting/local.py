"""A study's documents to counts on this machine: shards on all cores, in bounded memory, going on where it stopped."""

from __future__ import annotations

import contextlib
import functools
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from piecework.common.storage import RemotePath, locate
from piecework.counting.files import TABLES
from piecework.counting.machine import Budget, available_cores, free_memory_bytes, parse_size, task_table_bytes
from piecework.counting.merge import MergeJob, SubsetTables, merge_tables
from piecework.counting.output import count_into, remove_unfinished
from piecework.counting.partial import PartialResults, ShardResult
from piecework.counting.plan import Plan
from piecework.counting.processes import Workers
from piecework.counting.progress import Progress
from piecework.counting.shards import Shard
from piecework.counting.store import Counts
from piecework.counting.summary import subset_rows, sum_by_subset, sum_skipped, write_description
from piecework.counting.worker import ShardJob, count_shard, first_skipped
from piecework.errors import InputError
from piecework.study.subsets import Subset

if TYPE_CHECKING:
    from piecework.counting.spark_cluster import Cluster
    from piecework.study.study import Study

__all__ = ["count", "default_out"]


def default_out(study: Study) -> Path:
    """The folder that a study writes into unless it is told another."""
    return Path("out") / study.name


def count(
    study: Study,
    *,
    out: str | os.PathLike[str] | RemotePath | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    strict: bool = False,
    force: bool = False,
    progress: Progress | None = None,
    warn: Callable[[str], None] = warnings.warn,
    shard_bytes: int | None = None,
    table_bytes: int | None = None,
    cluster: Cluster | None = None,
) -> Counts:
    """Sample and count the documents of a study into the folder `counts` of `out` (default: out/<name>).

    Counts that are there already are loaded, if they are of the same settings and files, and else only replaced with
    `force`. A run that was stopped goes on where it was. All cores are used unless `threads` says how many, and half
    of the free memory unless `memory` says how much ("2GB"). With `strict` the first record that cannot be used is an
    error.

    With a `cluster` the shards are counted there, by Spark; `threads` are then the cores that it may use at most, and
    `memory` is what each task may take. A cluster keeps no results of a run that was stopped.

    The result is the same for any number of threads, amount of memory, `shard_bytes` (how much of a file is counted at
    a time, and lost if the run is killed) and `table_bytes` (how large tables grow in memory before they are written).
    """
    memory_bytes = parse_size(memory) if isinstance(memory, str) else memory
    folder = locate(default_out(study) if out is None else out) / "counts"
    progress = progress or (lambda _stage, _done, _total: None)
    if cluster is not None:
        from piecework.counting.spark import SparkRun

        plan = Plan.of(study, shard_bytes=shard_bytes)
        table_bytes = table_bytes or task_table_bytes(memory_bytes)
        on_cluster = SparkRun(plan, cluster, threads, table_bytes, strict=strict, progress=progress, warn=warn)
        return count_into(folder, plan, on_cluster.count, strict=strict, force=force)
    cores = threads or available_cores()
    budget = Budget.share_out(free_memory_bytes() // 2 if memory_bytes is None else memory_bytes, cores)
    if budget.processes < cores:
        warn(f"the memory is enough for {budget.processes} of {cores} threads; give more --memory to use all")
    plan = Plan.of(study, shard_bytes=shard_bytes)

    def run(folder: Path, lock: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        return _Run(
            plan,
            folder,
            budget=budget,
            table_bytes=table_bytes or budget.table_bytes,
            strict=strict,
            progress=progress,
            warn=warn,
        ).count(lock)

    return count_into(folder, plan, run, strict=strict, force=force)


@dataclass(frozen=True, slots=True)
class _Run:
    plan: Plan
    folder: Path
    budget: Budget
    table_bytes: int
    strict: bool
    progress: Progress
    warn: Callable[[str], None]

    @property
    def partial(self) -> PartialResults:
        return PartialResults(self.folder / ".partial")

    def count(self, lock: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Count the shards that are not done yet, merge, and write what describes the result, counts.json last."""
        self._remove_unfinished()
        self.partial.remove_all_but(self.plan.shards)
        with Workers(keep_open=[lock], warn=self.warn) as workers:
            return self._count(workers)

    def _count(self, workers: Workers) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        results = self._count_shards(workers)
        statistics = sum_by_subset(self.plan, results)
        skipped = sum_skipped(self.plan, results)
        if not any(of["read_documents"] for of in statistics.values()):
            files = len({part.file.path for shard in self.plan.shards for part in shard.slices})
            raise InputError(f"no document in {files:,} file{'s' if files != 1 else ''}: {skipped}")
        rows = subset_rows(self.plan, statistics)
        tables = self._merge(results, rows, workers)
        return write_description(self.folder, self.plan, tables, skipped), rows

    def _count_shards(self, workers: Workers) -> list[ShardResult]:
        shards = self.plan.shards
        done = {index: result for index, shard in enumerate(shards) if (result := self.partial.load(shard))}
        if self.strict:
            _check_results(shards, done)
        left = [index for index in range(len(shards)) if index not in done]
        _check_readable(shards[index] for index in left)
        job = ShardJob(self.plan.sampler(), self.partial.folder, self.table_bytes, strict=self.strict)
        done_bytes = sum(shards[index].size_bytes for index in done)
        self.progress("counting", done_bytes, self.plan.size_bytes)

        def progress(amount: int) -> None:
            nonlocal done_bytes
            done_bytes += amount
            self.progress("counting", done_bytes, self.plan.size_bytes)

        try:
            results = workers.run(
                functools.partial(count_shard, job),
                [shards[index] for index in left],
                processes=self.budget.processes,
                progress=progress,
            )
            with contextlib.closing(results):
                done |= {left[index]: result for index, result in results}
        finally:
            self._remove_unfinished()
        return [done[index] for index in range(len(shards))]

    def _merge(
        self, results: Sequence[ShardResult], rows: Sequence[Mapping[str, Any]], workers: Workers
    ) -> dict[str, dict[str, int]]:
        subsets = tuple(SubsetTables(subset.name, self._table_files(subset, results)) for subset in self.plan.subsets)
        sizes = Counter[str]()
        for result in results:
            for run in result.runs:
                sizes[run.table] += run.size_bytes
        # A job a table, or all processes but one would be idle; the largest first, so that they end at about one time.
        jobs = [
            MergeJob(
                subsets=subsets,
                rows=tuple(rows) if table == "train" else (),
                folder=self.folder,
                temporary=self.partial.folder / f"merging-{table}",
                tables=(table,),
            )
            for table in sorted(TABLES, key=lambda table: -sizes[table])
        ]
        merged = 0
        total = sum(len(result.runs) for result in results)

        def progress(amount: int) -> None:
            nonlocal merged
            merged += amount
            self.progress("merging", merged, total)

        progress(0)
        # One shard was counted by one process, which has little to merge.
        processes = min(self.budget.merging, len(results), len(jobs))
        tables: dict[str, dict[str, int]] = {}
        try:
            written = workers.run(merge_tables, jobs, processes=processes, progress=progress)
            with contextlib.closing(written):
                for _, of in written:
                    tables |= of
        finally:
            self._remove_unfinished()
        return tables

    def _remove_unfinished(self) -> None:
        self.partial.remove_unfinished()
        remove_unfinished(self.folder)

    def _table_files(self, subset: Subset, results: Sequence[ShardResult]) -> dict[str, tuple[Path, ...]]:
        files: dict[str, list[Path]] = {table: [] for table in TABLES}
        for shard, result in zip(self.plan.shards, results, strict=True):
            if shard.subset == subset.name:
                for run in result.runs:
                    files[run.table].append(self.partial.path(shard, run))
        return {table: tuple(paths) for table, paths in files.items()}


def _check_readable(shards: Iterable[Shard]) -> None:
    """Find a file that cannot be opened now, and not after hours; of remote ones, which take longer, try one."""
    tried = False
    for shard in shards:
        for part in shard.slices:
            if isinstance(part.file.path, RemotePath):
                if tried:
                    continue
                tried = True
            try:
                part.file.path.open("rb").close()
            except OSError as error:
                raise InputError(f"{part.file.path}: cannot read: {error.strerror or error}") from error


def _check_results(shards: Sequence[Shard], results: Mapping[int, ShardResult]) -> None:
    """Raise an error for the first record that shards which are done have left out."""
    for index, result in results.items():
        for part, of in zip(shards[index].slices, result.slices, strict=True):
            if of.skipped:
                raise InputError(first_skipped(part, of.to_skipped(str(part.file.path))))
