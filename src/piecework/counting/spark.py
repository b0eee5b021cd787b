"""Counts a study's documents on a Spark cluster, with the shards, readers and counter of one machine.

Each shard is a task. Spark adds up the rows of all tasks and sorts them. The driver reads them in order, one partition
at a time, and writes the same files as one machine. Spark repeats tasks that fail or lose their worker.
"""

from __future__ import annotations

import os
import pickle
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from piecework.common.files import remove_temporaries
from piecework.counting.files import KEYS, TABLES, column_types
from piecework.counting.merge import write_subsets, write_table
from piecework.counting.partial import ShardResult
from piecework.counting.plan import Plan
from piecework.counting.spark_cluster import Cluster, check_pyspark, connect, explain, text_of
from piecework.counting.spark_package import package_archive
from piecework.counting.summary import Summary
from piecework.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from piecework.counting.progress import Progress
    from piecework.counting.shards import Shard

__all__ = ["SparkCount", "Watch", "absolute", "first_line"]

# Rows of the shuffle; adaptive execution joins partitions that turn out small.
SMALLEST_PARTITIONS, MOST_PARTITIONS = 4, 4096
POLL_S = 0.5
WAITING_S = 15.0
GIVE_UP_S = 120.0
"""How long a count waits for a worker that takes a task."""
NO_WORKER = "no worker has taken a task: the cluster has none, or none with enough free cores and memory"
ARROW_ROWS = 1 << 16
ARROW_BYTES = 16 << 20


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
        """Count all shards and write the files into the folder, counts.json last; its content."""
        check_pyspark()
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        remove_temporaries(folder)
        try:
            with connect(self.cluster, name=self.plan.study.name, cores=self.cores) as session:
                return self._count(session, folder)
        except (Py4JError, PySparkException) as error:
            text = text_of(error)
            raise InputError(f"counting on Spark: {explain(text) or first_line(text)}") from error
        finally:
            remove_temporaries(folder)

    def _count(self, session: SparkSession, folder: Path) -> dict[str, Any]:
        import pyarrow as pa

        size_bytes = self.plan.size_bytes
        self.progress("counting", 0, size_bytes)
        with Watch(session, self._show_counting, self.warn) as watch:
            rows = self._rows(session).toLocalIterator(prefetchPartitions=True)
            batches = (pa.ipc.open_stream(pa.py_buffer(row[0])).read_all() for row in rows)
            parts = (part for batch in batches for part in _by_table(batch))
            results, rest = self._results(parts)
            watch.stop_showing()
            self.progress("counting", size_bytes, size_bytes)
            summary = Summary(self.plan, results)
            summary.check(allow_empty=self.allow_empty)
            tables = self._write(folder, rest)
        write_subsets(folder, summary.rows)
        return summary.write(folder, tables)

    def _rows(self, session: SparkSession) -> DataFrame:
        """All rows, added up and sorted, packed in batches; nothing runs yet."""
        from pyspark import cloudpickle
        from pyspark.sql import functions

        from piecework.counting import spark_worker

        cloudpickle.register_pickle_by_value(spark_worker)  # type: ignore[no-untyped-call]
        shards = self.plan.shards
        partitions = min(max(len(shards), SMALLEST_PARTITIONS), MOST_PARTITIONS)
        for name, value in {
            "spark.sql.ansi.enabled": "true",  # a sum that does not fit is an error
            "spark.sql.adaptive.enabled": "true",
            "spark.sql.shuffle.partitions": str(partitions),
            "spark.sql.execution.arrow.maxRecordsPerBatch": str(ARROW_ROWS),
            "spark.sql.execution.arrow.maxBytesPerBatch": str(ARROW_BYTES),
        }.items():
            session.conf.set(name, value)
        context = session.sparkContext
        package = package_archive()
        if not any(package.name in archive for archive in context.listArchives):
            context.addArchive(str(package))
        job = context.broadcast(
            {
                "shards": [pickle.dumps(absolute(shard)) for shard in shards],
                "sampler": pickle.dumps(self.plan.sampler()),
                "settings": pickle.dumps(self.plan.study.recipe.count_settings()),
                "subsets": {str(subset.name): index for index, subset in enumerate(self.plan.subsets)},
                "tables": TABLES,
                "table_bytes": self.table_bytes,
                "strict": self.strict,
            }
        )
        environment = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
        task = spark_worker.CountTask(job, package.name, environment)
        keys = spark_worker.KEYS
        # Shuffled first, and then added up: within a shard the core has added up already, and doing it again would
        # hold all of a task's rows in Java's memory.
        return (
            session.range(0, len(shards), 1, max(1, len(shards)))
            .mapInArrow(lambda batches: task(batches), spark_worker.COLUMNS)
            .repartition(*keys)
            .groupBy(*keys)
            .agg(functions.sum("count").alias("count"))
            .orderBy(*keys)
            .mapInArrow(spark_worker.pack, "packed binary")
        )

    def _results(
        self, parts: Iterator[tuple[int, pa.Table]]
    ) -> tuple[list[ShardResult], Iterator[tuple[int, pa.Table]]]:
        """The result of each shard, which sorts first, and the parts of tables that follow."""
        from piecework.counting.spark_worker import RESULT

        results: dict[int, ShardResult] = {}
        first: list[tuple[int, pa.Table]] = []
        for number, part in parts:
            if number != RESULT:
                first.append((number, part))
                break
            for row in part.select(["subset", "text", "count"]).to_pylist():
                if row["count"] != 1 or row["subset"] in results:
                    raise InputError(f"Spark gave {self.plan.shards[row['subset']]} more than once; nothing is written")
                results[row["subset"]] = ShardResult.from_json(row["text"])
        missing = len(self.plan.shards) - len(results)
        if missing:
            raise InputError(f"Spark left {missing:,} of {len(self.plan.shards):,} shards out; nothing is written")
        return [results[index] for index in range(len(results))], chain(first, parts)

    def _write(self, folder: Path, parts: Iterator[tuple[int, pa.Table]]) -> dict[str, dict[str, Any]]:
        """The rows as they come, which is in order, to one file for each table."""
        total = len(TABLES) * len(self.plan.subsets)
        written: dict[str, dict[str, Any]] = {}
        self.progress("merging", 0, total)
        for number, group in groupby(parts, key=lambda part: part[0]):
            tables = (self._named(TABLES[number], part, number, total) for _, part in group)
            written[TABLES[number]] = write_table(
                folder, TABLES[number], tables, pre_tokens=self.plan.counts_pre_tokens
            )
        for name in TABLES:
            if name not in written:
                written[name] = write_table(folder, name, (), pre_tokens=self.plan.counts_pre_tokens)
        self.progress("merging", total, total)
        return written

    def _named(self, name: str, part: pa.Table, number: int, total: int) -> pa.Table:
        """Rows with the names of their subsets, in the columns and types of the file."""
        import pyarrow as pa

        subsets = self.plan.subsets
        types = column_types(name, pre_tokens=self.plan.counts_pre_tokens)
        text = KEYS[name][-1]
        own: dict[str, Any] = {
            "language": pa.array([subset.language for subset in subsets], pa.string()).take(part.column("subset")),
            "category": pa.array([subset.category for subset in subsets], pa.string()).take(part.column("subset")),
            "bucket": part.column("bucket"),
            "opens": part.column("context"),
            "context": part.column("context"),
            text: part.column("text").cast(pa.large_binary()),
            "count": part.column("count"),
        }
        done = number * len(subsets) + part.column("subset")[-1].as_py()
        self.progress("merging", done, total)
        return pa.Table.from_arrays([own[field.name].cast(field.type) for field in types], schema=types)

    def _show_counting(self, done: int, tasks: int) -> None:
        self.progress("counting", self.plan.size_bytes * done // max(1, tasks), self.plan.size_bytes)


def _by_table(batch: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """The parts of a sorted batch that belong to one table each."""
    from pyarrow import compute

    start = 0
    tables: Any = compute.value_counts(batch.column("table"))  # in the order in which they come
    for table in tables.to_pylist():
        yield table["values"], batch.slice(start, table["counts"])
        start += table["counts"]


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
    """Reports the progress of the first stage, and failures, while Spark is at work."""

    def __init__(self, session: SparkSession, show: Callable[[int, int], None], warn: Callable[[str], None]) -> None:
        self._context = session.sparkContext
        self._show = show
        self._warn = warn
        self._done = threading.Event()
        self._showing = threading.Lock()
        self._is_stopped = False
        self.gave_up = False
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._group = f"piecework-{id(self)}"

    def __enter__(self) -> Self:
        self._context.setJobGroup(self._group, "piecework count", interruptOnCancel=True)
        self._thread.start()
        return self

    def stop_showing(self) -> None:
        """Stop reporting progress, which the main thread now does; failures are still reported."""
        with self._showing:
            self._is_stopped = True

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._done.set()
        self._thread.join()
        if self.gave_up:
            raise InputError(
                f"{NO_WORKER} (waited {GIVE_UP_S:.0f} s); start workers, or ask for less memory"
            ) from error

    def _watch(self) -> None:
        failed = 0
        waited_s = total_waited_s = 0.0
        while not self._done.wait(POLL_S):
            try:
                stage = self._first_stage()
            except Exception:  # noqa: BLE001  # the context is gone, which the main thread will report
                return
            if stage is None:
                continue
            if stage.numFailedTasks > failed:
                failed = stage.numFailedTasks
                self._warn(f"{failed:,} task{'s' if failed > 1 else ''} failed so far; Spark tries each again")
            with self._showing:
                if self._is_stopped:
                    continue
                self._show(stage.numCompletedTasks, stage.numTasks)
            counted = stage.numCompletedTasks == stage.numTasks
            if stage.numActiveTasks or counted:
                waited_s = total_waited_s = 0.0
            else:
                waited_s += POLL_S
            if waited_s >= WAITING_S:
                if total_waited_s + waited_s >= GIVE_UP_S:
                    self.gave_up = True
                    self._context.cancelJobGroup(self._group)
                    return
                total_waited_s += waited_s
                waited_s = 0.0
                self._warn(f"{NO_WORKER}; waiting for {GIVE_UP_S - total_waited_s:.0f} s more")

    def _first_stage(self) -> Any:
        tracker = self._context.statusTracker()
        stages = [
            stage
            for job in tracker.getJobIdsForGroup(self._group)
            if (info := tracker.getJobInfo(job))
            for stage in info.stageIds
        ]
        return tracker.getStageInfo(min(stages)) if stages else None


def first_line(text: str) -> str:
    """The line of a Java stack trace that names the cause."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if re.match(r"(Caused by: )?[\w.]+(Exception|Error): ", line)]
    return (causes or lines or ["it failed without a message"])[-1 if causes else 0]
