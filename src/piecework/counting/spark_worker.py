"""A task on a cluster: counts one shard into rows, which Spark adds up and sorts.

This file goes to the workers as it is, by value, and imports nothing but the standard library before it has found the
package there: the driver's own, which it has sent along.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["COLUMNS", "KEYS", "RESULT", "CountTask", "pack", "prepare_worker"]

COLUMNS = "table tinyint, subset int, bucket smallint, context tinyint, text binary, count bigint"
KEYS = ("table", "subset", "bucket", "context", "text")

RESULT = -1
"""The `table` of the row with a shard's result: JSON, with the index of the shard as `subset`.

Its key is the shard's own, so it passes through the sum as every row does. A task that was tried several times gives
its rows once, and a sum other than 1 would show that it did not.
"""

BATCH_ROWS = 1 << 16
BATCH_TEXT_BYTES = 16 << 20


@dataclass(frozen=True)
class CountTask:
    """A function for `mapInArrow`: turns indices of shards into the rows of their tables."""

    job: Any
    """A Spark broadcast of a dict: the pickled sampler, the pickled shards, limits."""
    archive: str
    """The name of the archive with the package."""
    environment: Mapping[str, str]
    """Variables for access to storage, for workers that lack them."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of each shard, and one row with its result."""
        import pickle

        prepare_worker(self.archive, self.environment)
        job = self.job.value
        for batch in batches:
            index: Any
            for index in batch.column(0).to_pylist():
                yield from self._rows(index, pickle.loads(job["shards"][index]), pickle.loads(job["sampler"]), job)

    def _rows(self, index: int, shard: Any, sampler: Any, job: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
        import pickle

        import pyarrow as pa

        from piecework.counting.tables import DocumentCounter
        from piecework.counting.worker import filled_counters

        counters = filled_counters(
            shard,
            sampler=sampler,
            new_counter=lambda: DocumentCounter(pickle.loads(job["settings"])),
            table_bytes=job["table_bytes"],
            strict=job["strict"],
            report=lambda _: None,
        )
        names = {name.language: job["subsets"][str(name)] for name in shard.subsets}
        while True:
            try:
                language, counter = next(counters)
                tables = counter.take(ordered=False)  # Spark sorts them
            except StopIteration as end:
                text = end.value.to_json()
                one = pa.table({"text": pa.array([text], pa.large_binary()), "count": pa.array([1], pa.uint64())})
                yield from _batches(one, RESULT, index)
                return
            while tables:  # each given up before the next
                name, table = tables.popitem()
                yield from _batches(table, job["tables"].index(name), names[language])


def prepare_worker(archive: str, environment: Mapping[str, str]) -> None:
    """Make this worker use the package in the driver's archive."""
    import os
    import sys

    from pyspark import SparkFiles

    for name, value in environment.items():
        os.environ.setdefault(name, value)
    folder = SparkFiles.get(archive)
    if folder in sys.path:
        return
    # Our version, not the worker's: another version might count differently.
    for name in [name for name in sys.modules if name.split(".")[0] == "piecework"]:
        del sys.modules[name]
    sys.path.insert(0, folder)
    try:
        import piecework._core  # noqa: F401
    except ImportError as error:
        import platform

        raise ImportError(
            f"PIECEWORK-WORKER: {platform.node()} cannot load the package that the driver sent: Python "
            f"{platform.python_version()} on {platform.machine()} ({error})"
        ) from error


def _batches(table: pa.Table, number: int, subset: int) -> Iterator[pa.RecordBatch]:
    """The rows in the columns of Spark, in batches that fit 32-bit offsets."""
    import pyarrow as pa
    from pyarrow import compute

    from piecework.errors import InputError

    text = "word" if "word" in table.column_names else "unit" if "unit" in table.column_names else "text"
    start = 0
    while start < len(table):
        part = table.slice(start, BATCH_ROWS)
        total_bytes = compute.cumulative_sum(compute.binary_length(part.column(text)).cast("int64"))
        fitting = compute.sum(compute.less_equal(total_bytes, pa.scalar(BATCH_TEXT_BYTES))).as_py() or 0
        part = part.slice(0, max(1, fitting)).combine_chunks()
        start += len(part)
        rows = len(part)
        try:
            counts = part.column("count").cast(pa.int64())
        except pa.ArrowInvalid as error:
            raise InputError("a count is too large for Spark, which has 63 bits; lower the weights") from error
        has_buckets = "bucket" in table.column_names
        columns = {
            "table": pa.repeat(pa.scalar(number, pa.int8()), rows),
            "subset": pa.repeat(pa.scalar(subset, pa.int32()), rows),
            "bucket": part.column("bucket").cast(pa.int16())
            if has_buckets
            else pa.repeat(pa.scalar(0, pa.int16()), rows),
            # `opens` of units, `context` of pre-tokens.
            "context": part.column(1).cast(pa.int8()) if has_buckets else pa.repeat(pa.scalar(0, pa.int8()), rows),
            "text": part.column(text).cast(pa.large_binary()).cast(pa.binary()),
            "count": counts,
        }
        yield from pa.table(columns).to_batches()


def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Packs each batch, compressed, into one row: Spark hands rows to the driver one by one."""
    import pyarrow as pa

    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_batch(batch)
        packed = pa.array([sink.getvalue().to_pybytes()], pa.binary())
        yield pa.RecordBatch.from_arrays([packed], names=["packed"])
