"""A task on a cluster: tokenizes one shard into the dataset's folder. This file goes to the workers by value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from piecework.counting.spark_worker import prepare_worker

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["COLUMNS", "TokenizeTask"]

COLUMNS = "shard int, result binary"


@dataclass(frozen=True)
class TokenizeTask:
    """A function for `mapInArrow`: turns indices of shards into their results."""

    job: Any
    """A Spark broadcast of a dict: the pickled job and the pickled shards."""
    archive: str
    environment: Mapping[str, str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The result of each shard, when its files are written."""
        import pickle

        import pyarrow as pa

        prepare_worker(self.archive, self.environment)
        from piecework.dataset.worker import tokenize_shard

        content = self.job.value
        job = pickle.loads(content["job"])
        for batch in batches:
            index: Any
            for index in batch.column(0).to_pylist():
                result = tokenize_shard(job, pickle.loads(content["shards"][index]), lambda _: None)
                columns: list[Any] = [pa.array([index], pa.int32()), pa.array([result.to_json()], pa.binary())]
                yield pa.RecordBatch.from_arrays(columns, names=["shard", "result"])
