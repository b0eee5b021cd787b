"""Tokenizes shards on a Spark cluster: each shard is a task, which writes the same files as one machine."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from piecework.counting.spark import Watch, absolute, first_line
from piecework.counting.spark_cluster import Cluster, check_pyspark, connect, explain, text_of
from piecework.counting.spark_package import package_archive
from piecework.dataset.shard_result import TokenizedShard
from piecework.dataset.worker import TokenizeJob
from piecework.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from piecework.counting.shards import Shard

__all__ = ["SparkRun"]


@dataclass(frozen=True, slots=True)
class SparkRun:
    """Tokenizes shards on a cluster. The folder of the dataset is one that all workers reach: shared, or remote."""

    cluster: Cluster
    name: str
    cores: int | None
    """The most cores of the cluster to use."""
    show: Callable[[int, int], None]
    """Called with the number of tasks that are done, and with all."""
    warn: Callable[[str], None]

    def tokenize(self, job: TokenizeJob, shards: Sequence[Shard]) -> list[TokenizedShard]:
        """The results of the shards, in their order."""
        check_pyspark()
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        if not shards:
            return []
        try:
            with connect(self.cluster, name=self.name, cores=self.cores) as session:
                return self._tokenize(session, job, shards)
        except (Py4JError, PySparkException) as error:
            text = text_of(error)
            raise InputError(f"tokenizing on Spark: {explain(text) or first_line(text)}") from error

    def _tokenize(self, session: SparkSession, job: TokenizeJob, shards: Sequence[Shard]) -> list[TokenizedShard]:
        from pyspark import cloudpickle

        import piecework.counting.spark_worker as counting_worker
        from piecework.dataset import spark_worker

        for module in (counting_worker, spark_worker):
            cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
        context = session.sparkContext
        package = package_archive()
        if not any(package.name in archive for archive in context.listArchives):
            context.addArchive(str(package))
        content = context.broadcast(
            {"job": pickle.dumps(job), "shards": [pickle.dumps(absolute(shard)) for shard in shards]}
        )
        environment = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
        task = spark_worker.TokenizeTask(content, package.name, environment)
        with Watch(session, self.show, self.warn):
            rows = (
                session.range(0, len(shards), 1, len(shards))
                .mapInArrow(lambda batches: task(batches), spark_worker.COLUMNS)
                .collect()
            )
        results = {row["shard"]: TokenizedShard.from_json(bytes(row["result"])) for row in rows}
        if len(results) < len(shards):
            raise InputError(f"Spark left {len(shards) - len(results):,} of {len(shards):,} shards out")
        return [results[index] for index in range(len(shards))]
