"""Counts a study's documents on this machine: on all cores, in bounded memory; a killed count resumes."""

from __future__ import annotations

import contextlib
import functools
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from piecework.common.pre_tokenizer import SLOW
from piecework.common.storage import RemotePath, locate
from piecework.counting.machine import Budget, available_cores, free_memory_bytes, parse_size, task_table_bytes
from piecework.counting.merge import merge_tables
from piecework.counting.output import count_into
from piecework.counting.partial import ShardResult
from piecework.counting.plan import Plan
from piecework.counting.processes import Workers
from piecework.counting.progress import Progress, merge_report
from piecework.counting.shard_results import ShardResults
from piecework.counting.shards import Shard
from piecework.counting.store import Counts
from piecework.counting.summary import Summary
from piecework.counting.worker import ShardJob, count_shard
from piecework.errors import InputError

if TYPE_CHECKING:
    from piecework.counting.spark_cluster import Cluster
    from piecework.study.study import Study

__all__ = ["check_readable", "count", "count_plan", "default_out"]

# What counting and merging import, here or when they first need it.
PRELOAD = ("piecework.counting.worker", "piecework.counting.merge", "orjson", "pyarrow.parquet", "zstandard")


def default_out(study: Study) -> Path:
    """The folder that a study writes into unless another is named."""
    return Path("out") / study.name


def count(
    study: Study,
    *,
    out: str | os.PathLike[str] | RemotePath | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    strict: bool = False,
    allow_empty: bool = False,
    force: bool = False,
    progress: Progress | None = None,
    warn: Callable[[str], None] = warnings.warn,
    shard_bytes: int | None = None,
    table_bytes: int | None = None,
    cluster: Cluster | None = None,
) -> Counts:
    """Sample and count the documents of a study into the folder `counts` of `out` (default: out/<name>).

    Counts of the same settings and files are loaded. Others are replaced with `force` only. A killed count resumes.
    All cores are used unless `threads` says how many, and half of the free memory unless `memory` says how much
    ("2GB").

    Records that cannot be used are skipped and counted by reason. With `strict` the first one is an error. A subset
    that loses all its documents is an EmptySubsetError, unless `allow_empty`.

    With a `cluster` the shards are counted there, by Spark. Then `threads` limits the cores that it uses, and `memory`
    is the memory of each task.

    The result is the same for any number of threads, amount of memory, `shard_bytes` (how much of a file is counted at
    a time, and lost when the count is killed) and `table_bytes` (how large tables grow in memory before they are
    spilled).
    """
    return count_plan(
        Plan.from_study(study, shard_bytes=shard_bytes),
        out=out,
        threads=threads,
        memory=memory,
        strict=strict,
        allow_empty=allow_empty,
        force=force,
        progress=progress,
        warn=warn,
        table_bytes=table_bytes,
        cluster=cluster,
    )


def count_plan(
    plan: Plan,
    *,
    out: str | os.PathLike[str] | RemotePath | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    strict: bool = False,
    allow_empty: bool = False,
    force: bool = False,
    progress: Progress | None = None,
    warn: Callable[[str], None] = warnings.warn,
    table_bytes: int | None = None,
    cluster: Cluster | None = None,
) -> Counts:
    """The same for a plan."""
    memory_bytes = parse_size(memory) if isinstance(memory, str) else memory
    folder = locate(default_out(plan.study) if out is None else out) / "counts"
    progress = progress or (lambda _stage, _done, _total: None)
    if cluster is not None:
        from piecework.counting.spark import SparkCount  # here: few counts are made on Spark

        table_bytes = table_bytes or task_table_bytes(memory_bytes)
        on_cluster = SparkCount(
            plan,
            cluster,
            threads,
            table_bytes,
            strict=strict,
            allow_empty=allow_empty,
            progress=progress,
            warn=warn,
        )
        return count_into(folder, plan, on_cluster.count, strict=strict, force=force, warn=warn)
    cores = threads or available_cores()
    budget = Budget.share_out(free_memory_bytes() // 2 if memory_bytes is None else memory_bytes, cores)
    if budget.processes < cores:
        warn(f"the memory is enough for {budget.processes} of {cores} threads; give more --memory to use all")

    def count_here(folder: Path, lock: int) -> dict[str, Any]:
        return _LocalCount(
            ShardResults(plan, folder),
            budget=budget,
            table_bytes=table_bytes or budget.table_bytes,
            strict=strict,
            allow_empty=allow_empty,
            progress=progress,
            warn=warn,
        ).count(lock)

    return count_into(folder, plan, count_here, strict=strict, force=force, warn=warn)


@dataclass(frozen=True, slots=True)
class _LocalCount:
    """Counts a plan into a folder, with processes of this machine."""

    done: ShardResults
    budget: Budget
    table_bytes: int
    strict: bool
    allow_empty: bool
    progress: Progress
    warn: Callable[[str], None]

    def count(self, lock: int) -> dict[str, Any]:
        """Count the shards that are not done yet, merge, and write counts.json last; its content."""
        self.done.prepare()
        with Workers(preload=PRELOAD, keep_open=[lock], warn=self.warn) as workers:
            results = self._count_shards(workers)
            summary = Summary(self.done.plan, results)
            summary.check(allow_empty=self.allow_empty, warn=self.warn)
            return summary.write(self.done.folder, self._merge(results, summary.rows, workers))

    def _count_shards(self, workers: Workers) -> list[ShardResult]:
        plan = self.done.plan
        shards = plan.shards
        done = self.done.load(strict=self.strict)
        left = [index for index in range(len(shards)) if index not in done]
        if left and plan.counts_slowly:
            self.warn(SLOW)
        check_readable(shards[index] for index in left)
        job = ShardJob(
            plan.sampler(),
            self.done.partial.folder,
            self.table_bytes,
            settings=plan.study.recipe.count_settings(),
            strict=self.strict,
        )
        done_bytes = sum(shards[index].size_bytes for index in done)
        self.progress("counting", done_bytes, plan.size_bytes)

        def progress(amount: int) -> None:
            nonlocal done_bytes
            done_bytes += amount
            self.progress("counting", done_bytes, plan.size_bytes)

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
            self.done.remove_unfinished()
        return [done[index] for index in range(len(shards))]

    def _merge(
        self, results: Sequence[ShardResult], rows: Sequence[Mapping[str, Any]], workers: Workers
    ) -> dict[str, dict[str, Any]]:
        report = merge_report(self.progress, sum(len(result.spill_files) for result in results))
        tables: dict[str, dict[str, Any]] = {}
        with self.done.merging(results, rows) as jobs:
            # One shard was counted by one process, which has little to merge.
            processes = min(self.budget.merging, len(results), len(jobs))
            written = workers.run(merge_tables, jobs, processes=processes, progress=report)
            with contextlib.closing(written):
                for _, described in written:
                    tables |= described
        return tables


def check_readable(shards: Iterable[Shard]) -> None:
    """Fail now, not after hours, if a file cannot be opened. Of remote files, which take longer, only one is tried."""
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
