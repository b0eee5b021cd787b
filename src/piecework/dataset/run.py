"""Tokenizes the shards of a plan, with processes of this machine or on a cluster; shards that are done are kept."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from piecework.corpus.fields import needed_field
from piecework.corpus.skipped import Skipped
from piecework.counting.local import check_readable
from piecework.counting.processes import Workers
from piecework.dataset.description import skipped_records
from piecework.dataset.memory import ENVIRONMENT, DatasetBudget, gathering_processes
from piecework.dataset.plan import DatasetPlan
from piecework.dataset.shard_result import TokenizedShard
from piecework.dataset.shard_store import LocalStore, RemoteStore, ShardTarget
from piecework.dataset.shuffle import Bucket, GatherJob, gather_bucket
from piecework.dataset.worker import TokenizeJob, tokenize_shard
from piecework.errors import InputError

if TYPE_CHECKING:
    from piecework.counting.spark_cluster import Cluster

__all__ = ["DatasetRun", "Progress"]

Progress = Callable[[int, int], None]
"""Called with the stored bytes that were read, and with all there are; a shuffle counts them a second time."""


@dataclass(frozen=True, slots=True)
class DatasetRun:
    """One run of a plan into a store."""

    plan: DatasetPlan
    store: LocalStore | RemoteStore
    tokenizer_name: str
    budget: DatasetBudget
    strict: bool
    progress: Progress
    warn: Callable[[str], None]
    cluster: Cluster | None
    cores: int | None
    """The most cores of the cluster to use."""

    def tokenize(self, lock: int | None) -> tuple[list[TokenizedShard], list[TokenizedShard]]:
        """The results of all input shards, and of all shards of the dataset: the same unless they are shuffled."""
        plan = self.plan
        self.store.remove_unfinished()
        self.store.remove_others([*plan.input_targets, *plan.targets])
        try:
            with Workers(
                preload=[tokenize_shard.__module__, gather_bucket.__module__, "pyarrow.parquet"],
                keep_open=[] if lock is None else [lock],
                environment=ENVIRONMENT,
                warn=self.warn,
            ) as workers:
                results = self._tokenize_inputs(workers)
                if not any(result.statistics["read_documents"] for result in results):
                    shards = f"{len(plan.shards):,} shard{'s' if len(plan.shards) != 1 else ''}"
                    first = plan.source.subsets[0]
                    fix = f"; {needed_field(first.files, first.text_field)}" if not plan.source.is_study else ""
                    raise InputError(f"no document in {shards}: {_all(skipped_records(plan, results).values())}{fix}")
                if plan.shuffle is None:
                    return results, results
                documents = sum(result.statistics["documents"] for result in results)
                return results, self._gather(workers, gathering_processes(self.budget, plan, documents))
        finally:
            self.store.remove_unfinished()

    def _tokenize_inputs(self, workers: Workers) -> list[TokenizedShard]:
        plan = self.plan
        job = TokenizeJob(
            store=self.store,
            encoding=plan.encoding,
            format=plan.format,
            tokenizer_name=self.tokenizer_name,
            weights=plan.weights,
            seed=plan.source.seed,
            targets={target.key: target for target in plan.input_targets},
            strict=self.strict,
            shuffle=None if plan.shuffle is None else (plan.shuffle, len(plan.targets)),
        )
        done, left = self._load(plan.input_targets)
        shards = plan.shards
        # Large files that cannot be split come first, so that no process works on one alone at the end.
        left.sort(key=lambda index: -shards[index].size_bytes)
        tasks = [shards[index] for index in left]
        progress = self._progress_from(sum(shards[index].size_bytes for index in done), 0)
        if self.cluster is not None:
            from piecework.dataset.spark import SparkRun  # here: few datasets are made on Spark

            total = sum(task.size_bytes for task in tasks)
            reported = 0

            def show(tasks_done: int, all_tasks: int) -> None:
                nonlocal reported
                now = total * tasks_done // max(1, all_tasks)
                progress(now - reported)
                reported = now

            on_cluster = SparkRun(self.cluster, plan.source.name, self.cores, show, self.warn)
            done |= dict(zip(left, on_cluster.tokenize(job, tasks), strict=True))
        else:
            check_readable(tasks)
            # Cores without a shard of their own encode inside the other processes.
            processes = self.budget.processes
            job = replace(job, threads=max(1, processes // max(1, len(left))))
            done |= self._run(workers, functools.partial(tokenize_shard, job), tasks, left, progress, processes)
        return [done[index] for index in range(len(shards))]

    def _gather(self, workers: Workers, processes: int) -> list[TokenizedShard]:
        plan, store = self.plan, self.store
        assert isinstance(store, LocalStore)
        done, left = self._load(plan.targets)
        job = GatherJob(
            store=store,
            encoding=plan.encoding,
            format=plan.format,
            tokenizer_name=self.tokenizer_name,
            buckets=len(plan.targets),
            inputs=tuple(target.key for target in plan.input_targets),
        )
        size_bytes = plan.size_bytes // len(plan.targets)
        progress = self._progress_from(len(done) * size_bytes, 1)
        tasks = [Bucket(index, plan.targets[index], size_bytes) for index in left]
        done |= self._run(workers, functools.partial(gather_bucket, job), tasks, left, progress, processes)
        return [done[index] for index in range(len(plan.targets))]

    def _load(self, targets: Sequence[ShardTarget]) -> tuple[dict[int, TokenizedShard], list[int]]:
        """The results that are there, and the indices of the others."""
        with ThreadPoolExecutor(self.budget.processes) as pool:  # checksums are computed without the GIL
            found = list(pool.map(self.store.load, targets))
        done = {index: result for index, result in enumerate(found) if result is not None}
        return done, [index for index in range(len(targets)) if index not in done]

    def _progress_from(self, done_bytes: int, passes_done: int) -> Callable[[int], None]:
        size_bytes = self.plan.size_bytes
        total = size_bytes * (1 if self.plan.shuffle is None else 2)
        done = done_bytes + passes_done * size_bytes

        def progress(amount: int) -> None:
            nonlocal done
            done += amount
            self.progress(done, total)

        progress(0)
        return progress

    def _run(
        self,
        workers: Workers,
        function: Callable[[Any, Callable[[int], None]], TokenizedShard],
        tasks: Sequence[Any],
        indices: Sequence[int],
        progress: Callable[[int], None],
        processes: int,
    ) -> dict[int, TokenizedShard]:
        results = workers.run(function, tasks, processes=processes, progress=progress)
        with contextlib.closing(results):
            return {indices[index]: result for index, result in results}


def _all(skipped: Any) -> Skipped:
    total = Skipped()
    for one in skipped:
        total.update(one)
    return total
