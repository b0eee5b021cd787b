"""A task on a cluster: counts shards into spill files, as a process of one machine does, and gives their bytes.

This file is sent to the workers by value. It imports only the standard library, until it has found the package that the
driver has sent along.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

__all__ = ["CountTask", "prepare_worker"]

# Java holds the output of a task in arrays of bytes, which are copied a few times.
BLOCK_BYTES = 16 << 20


@dataclass(frozen=True)
class CountTask:
    """A function for a partition of an RDD: takes indices of shards, gives the parts of their results as bytes."""

    job: Any
    """A Spark broadcast of a dict: the pickled sampler, settings and shards, limits."""
    archive: str
    """The name of the archive with the package."""
    environment: Mapping[str, str]
    """Variables for access to storage, for workers that lack them."""

    def __call__(self, indices: Iterable[int]) -> Iterator[bytes]:
        """For each shard its manifest, then the compressed blocks of its spill files, in the manifest's order."""
        prepare_worker(self.archive, self.environment)
        for index in indices:
            yield from self._parts(index, self.job.value)

    def _parts(self, index: int, job: Mapping[str, Any]) -> Iterator[bytes]:
        import os
        import pickle
        from pathlib import Path
        from tempfile import TemporaryDirectory

        import zstandard

        from piecework.counting.partial import PartialResults
        from piecework.counting.worker import ShardJob, count_shard

        shard = pickle.loads(job["shards"][index])
        # Spark's own folder for temporary files, which has room.
        folders = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
        with TemporaryDirectory(dir=folders[0] or None) as folder:
            shard_job = ShardJob(
                pickle.loads(job["sampler"]),
                Path(folder),
                job["table_bytes"],
                settings=pickle.loads(job["settings"]),
                strict=job["strict"],
            )
            with _no_garbage_collection():
                result = count_shard(shard_job, shard, lambda _: None)
            yield result.to_json()
            compressor = zstandard.ZstdCompressor(level=1)
            partial = PartialResults(shard_job.folder)
            for spill_file in result.spill_files:
                with partial.path(shard, spill_file).open("rb") as file:
                    while block := file.read(BLOCK_BYTES):
                        yield compressor.compress(block)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """The search for reference cycles takes a part of reading, and records have none."""
    import gc

    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def prepare_worker(archive: str, environment: Mapping[str, str]) -> None:
    """Make this worker use the package in the driver's archive."""
    import gc
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
        import piecework.counting.worker  # noqa: F401
    except ImportError as error:
        import platform

        raise ImportError(
            f"PIECEWORK-WORKER: {platform.node()} cannot load the package that the driver sent: Python "
            f"{platform.python_version()} on {platform.machine()} ({error})"
        ) from error
    import pyarrow  # noqa: F401

    # Spark searches for reference cycles after each task. Over all that is imported, this took a quarter of the time of
    # sampling 1 %.
    gc.freeze()
