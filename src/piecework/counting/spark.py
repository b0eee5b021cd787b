"""Counts a study's documents on a Spark cluster, with the shards, readers and counter of one machine.

Each shard is a task, which gives the spill files that it would have written on one machine. The driver keeps them and
merges them, as on one machine. Spark repeats tasks that fail or lose their worker. Rows would cost more than counting:
Java would hold, sort and compress each of them.
"""

from __future__ import annotations

import os
import pickle
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from piecework.common.pre_tokenizer import SLOW
from piecework.counting.merge import merge_tables
from piecework.counting.partial import PartialResults, ShardResult
from piecework.counting.plan import Plan
from piecework.counting.progress import merge_report
from piecework.counting.shard_results import ShardResults
from piecework.counting.spark_cluster import Cluster, check_pyspark, connect, explain, text_of
from piecework.counting.spark_package import package_archive
from piecework.counting.summary import Summary
from piecework.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from piecework.counting.progress import Progress
    from piecework.counting.shards import Shard
    from piecework.counting.spark_worker import CountTask

__all__ = ["SparkCount", "Watch", "absolute", "first_line"]

# A job costs Java more than a task does (8 shards of 12 MB took 0.3 CPU s less in one job than in eight), and a stopped
# count loses the jobs that are not done. The results of a job are in Java's memory: a few hundredths of its input.
JOB_SHARDS, JOB_BYTES = 16, 256_000_000
# Spark has twice as many jobs at a time as the cluster has cores. FEWEST_JOBS lets a cluster grow that adds workers for
# waiting work. MOST_JOBS limits the threads of this process.
FEWEST_JOBS, MOST_JOBS = 64, 512
POLL_S = 0.5
WAITING_S = 15.0
GIVE_UP_S = 120.0
"""How long a count waits for a worker that takes a task."""
NO_WORKER = "no worker has taken a task: the cluster has none, or none with enough free cores and memory"


@dataclass(frozen=True, slots=True)
class SparkCount:
    """Counts a plan on a cluster."""

    plan: Plan
    cluster: Cluster
    cores: int | None
    """The most cores of the cluster to use."""
    table_bytes: int
    """How large a task lets its tables grow before it hands them on."""
    strict: bool
    allow_empty: bool
    progress: Progress
    warn: Callable[[str], None]

    def count(self, folder: Path, _lock: int) -> dict[str, Any]:
        """Count the shards that are not done yet, merge, and write counts.json last; its content."""
        done = ShardResults(self.plan, folder)
        done.prepare()
        shards = self.plan.shards
        results = done.load(strict=self.strict)
        left = [index for index in range(len(shards)) if index not in results]
        if left and self.plan.counts_slowly:
            self.warn(SLOW)
        if not left:
            self.progress("counting", self.plan.size_bytes, self.plan.size_bytes)
        try:
            if left:
                results |= self._count_shards(done, left)
        finally:
            done.remove_unfinished()
        in_order = [results[index] for index in range(len(shards))]
        summary = Summary(self.plan, in_order)
        summary.check(allow_empty=self.allow_empty, warn=self.warn)
        return summary.write(folder, self._merge(done, in_order, summary.rows))

    def _count_shards(self, done: ShardResults, left: Sequence[int]) -> dict[int, ShardResult]:
        """Count these shards on the cluster. Each result is kept in the folder as soon as it is there."""
        check_pyspark()
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            with connect(self.cluster, name=self.plan.study.name, cores=self.cores) as session:
                task = self._task(session)
                with Watch(session, lambda _done, _tasks: None, self.warn) as watch:
                    return self._run(session, task, watch, done, left)
        except (Py4JError, PySparkException) as error:
            text = text_of(error)
            raise InputError(f"counting on Spark: {explain(text) or first_line(text)}") from error

    def _task(self, session: SparkSession) -> CountTask:
        from pyspark import cloudpickle

        from piecework.counting import spark_worker

        cloudpickle.register_pickle_by_value(spark_worker)  # type: ignore[no-untyped-call]
        context = session.sparkContext
        package = package_archive()
        if not any(package.name in archive for archive in context.listArchives):
            context.addArchive(str(package))
        job = context.broadcast(
            {
                "shards": [pickle.dumps(absolute(shard)) for shard in self.plan.shards],
                "sampler": pickle.dumps(self.plan.sampler()),
                "settings": pickle.dumps(self.plan.study.recipe.count_settings()),
                "table_bytes": self.table_bytes,
                "strict": self.strict,
            }
        )
        environment = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
        return spark_worker.CountTask(job, package.name, environment)

    def _run(
        self, session: SparkSession, task: CountTask, watch: Watch, done: ShardResults, left: Sequence[int]
    ) -> dict[int, ShardResult]:
        """Several jobs, with a task for each shard: a job gives its results when all of them are there."""
        context = session.sparkContext
        shards = self.plan.shards
        rdd = context.parallelize(left, len(left))

        def count_some(numbers: range) -> list[ShardResult]:
            watch.join()
            parts = iter(context.runJob(rdd, task, numbers))  # raises an error if a task has failed too often
            return [receive(done.partial, shards[left[number]], parts) for number in numbers]

        done_bytes = self.plan.size_bytes - sum(shards[index].size_bytes for index in left)
        self.progress("counting", done_bytes, self.plan.size_bytes)
        results: dict[int, ShardResult] = {}
        jobs = list(_jobs([shards[index].size_bytes for index in left]))
        together = min(len(jobs), max(FEWEST_JOBS, min(2 * context.defaultParallelism, MOST_JOBS)))
        with ThreadPoolExecutor(together) as threads:
            running = {threads.submit(count_some, numbers): numbers for numbers in jobs}
            try:
                for job in as_completed(running):
                    for number, result in zip(running[job], job.result(), strict=True):
                        results[left[number]] = result
                        done_bytes += shards[left[number]].size_bytes
                    self.progress("counting", done_bytes, self.plan.size_bytes)
            except BaseException:
                for job in running:
                    job.cancel()
                # More than once: a job that starts just now is not cancelled.
                while wait(running, timeout=0).not_done:
                    watch.cancel()
                    wait(running, timeout=POLL_S)
                raise
        return results

    def _merge(
        self, done: ShardResults, results: Sequence[ShardResult], rows: Sequence[Mapping[str, Any]]
    ) -> dict[str, dict[str, Any]]:
        report = merge_report(self.progress, sum(len(result.spill_files) for result in results))
        tables: dict[str, dict[str, Any]] = {}
        with done.merging(results, rows) as jobs:
            for job in jobs:
                tables |= merge_tables(job, report)
        return tables


def _jobs(sizes_bytes: Sequence[int]) -> Iterator[range]:
    """Ranges of shards that are one job: few tasks, whose results fit into Java's memory."""
    start = size_bytes = 0
    for number, shard_bytes in enumerate(sizes_bytes):
        if number > start and (number - start == JOB_SHARDS or size_bytes + shard_bytes > JOB_BYTES):
            yield range(start, number)
            start, size_bytes = number, 0
        size_bytes += shard_bytes
    if sizes_bytes:
        yield range(start, len(sizes_bytes))


def receive(partial: PartialResults, shard: Shard, parts: Iterator[bytes]) -> ShardResult:
    """Keep the files of a shard, as `CountTask` gives them."""
    import zstandard

    decompressor = zstandard.ZstdDecompressor()
    with partial.new(shard.key) as folder:
        result = ShardResult.from_json(next(parts))
        for spill_file in result.spill_files:
            with (folder / spill_file.name).open("wb") as file:
                left = spill_file.size_bytes
                while left:
                    left -= file.write(decompressor.decompress(next(parts)))
        partial.describe(folder, result)
    return result


def absolute(shard: Shard) -> Shard:
    """The shard with paths that do not depend on the folder of the process."""
    slices = tuple(
        replace(part, file=replace(part.file, path=part.file.path.absolute()))
        if isinstance(part.file.path, Path)
        else part
        for part in shard.slices
    )
    return replace(shard, slices=slices)


class Watch:
    """Reports progress and failures of the jobs of several threads, and gives up if no worker takes a task."""

    def __init__(self, session: SparkSession, show: Callable[[int, int], None], warn: Callable[[str], None]) -> None:
        self._context = session.sparkContext
        self._show = show
        self._warn = warn
        self._done = threading.Event()
        self._is_cancelled = False
        self.gave_up = False
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._group = f"piecework-{id(self)}"
        self._finished: set[int] = set()

    def __enter__(self) -> Self:
        self.join()
        self._thread.start()
        return self

    def join(self) -> None:
        """Make the jobs of this thread belong to those that are watched; an InputError if these were cancelled."""
        if self._is_cancelled:
            raise InputError("counting on Spark was stopped")
        self._context.setJobGroup(self._group, "piecework", interruptOnCancel=True)

    def cancel(self) -> None:
        """Cancel all jobs that are watched."""
        self._is_cancelled = True
        with suppress(Exception):  # the context may be gone, and its jobs with it
            self._context.cancelJobGroup(self._group)

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._done.set()
        self._thread.join()
        if self.gave_up:
            raise InputError(
                f"{NO_WORKER} (waited {GIVE_UP_S:.0f} s); start workers, or ask for less memory"
            ) from error

    def _watch(self) -> None:
        failures: dict[int, int] = {}
        failed = 0
        waited_s = total_waited_s = took_s = 0.0
        # A look takes a few calls of Java for each running job.
        has_ended = False
        while not has_ended:
            has_ended = self._done.wait(pause_s := max(POLL_S, 10 * took_s))  # a last look for failures at the end
            started = time.monotonic()
            try:
                stages = self._stages()
            except Exception:  # noqa: BLE001  # the context is gone, which the main thread will report
                return
            took_s = time.monotonic() - started
            failures |= {stage.stageId: stage.numFailedTasks for stage in stages}
            if sum(failures.values()) > failed:
                failed = sum(failures.values())
                self._warn(f"{failed:,} task{'s' if failed > 1 else ''} failed so far; Spark tries each again")
            if has_ended or not stages:
                continue
            completed = sum(stage.numCompletedTasks for stage in stages)
            self._show(completed, sum(stage.numTasks for stage in stages))
            if completed or any(stage.numActiveTasks for stage in stages):
                waited_s = total_waited_s = 0.0
            else:
                waited_s += pause_s
            if waited_s >= WAITING_S:
                if total_waited_s + waited_s >= GIVE_UP_S:
                    self.gave_up = True
                    self.cancel()
                    return
                total_waited_s += waited_s
                waited_s = 0.0
                self._warn(f"{NO_WORKER}; waiting for {GIVE_UP_S - total_waited_s:.0f} s more")

    def _stages(self) -> list[Any]:
        """The stages of the jobs that run, or have ended since the last look."""
        tracker = self._context.statusTracker()
        stages = []
        for job in tracker.getJobIdsForGroup(self._group):
            if job in self._finished or not (info := tracker.getJobInfo(job)):
                continue
            if info.status != "RUNNING":
                self._finished.add(job)
            stages += [stage for of in info.stageIds if (stage := tracker.getStageInfo(of))]
        return stages


def first_line(text: str) -> str:
    """The line of a Java stack trace that names the cause."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if re.match(r"(Caused by: )?[\w.]+(Exception|Error): ", line)]
    return (causes or lines or ["it failed without a message"])[-1 if causes else 0]
