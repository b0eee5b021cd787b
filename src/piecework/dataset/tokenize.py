"""Turns documents into training shards on this machine: on all cores, in bounded memory; a killed run resumes."""

from __future__ import annotations

import contextlib
import functools
import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from piecework.common.manifest import write_manifest
from piecework.common.storage import Location, RemotePath, locate
from piecework.counting.local import check_readable
from piecework.counting.machine import Budget, available_cores, free_memory_bytes, parse_size
from piecework.counting.processes import Workers
from piecework.dataset.dataset import TokenizedDataset
from piecework.dataset.description import TOKENIZED, describe, file_row
from piecework.dataset.output import existing_dataset, open_folder, publish_file
from piecework.dataset.plan import DatasetPlan, Source, make_plan, model_bytes
from piecework.dataset.shard_result import TokenizedShard
from piecework.dataset.shard_store import LocalStore, RemoteStore, ShardTarget
from piecework.dataset.special_ids import ids_around
from piecework.dataset.worker import TokenizeJob, tokenize_shard
from piecework.errors import InputError
from piecework.study.study import Study
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.load import load_tokenizer
from piecework.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from piecework.counting.spark_cluster import Cluster
    from piecework.dataset.encoding import AnyNative
    from piecework.dataset.formats import FormatName

__all__ = ["tokenize", "tokenize_plan"]

Progress = Callable[[int, int], None]
"""Called with the stored bytes that were read, and with all there are."""


def tokenize(
    source: Study | Source | str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    tokenizer: AnyNative | str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | RemotePath,
    to: FormatName = "megatron",
    sizes: Sequence[int] = (),
    append_eos: bool = False,
    prepend_bos: bool = False,
    eos: str | None = None,
    bos: str | None = None,
    shard_size: int | str | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    strict: bool = False,
    force: bool = False,
    progress: Progress | None = None,
    warn: Callable[[str], None] = warnings.warn,
    cluster: Cluster | None = None,
) -> TokenizedDataset:
    """Write the token ids of all documents into the folder `out`, in shards for training.

    The source is a study, whose subsets are taken as often as their weights say, or files, folders and globs. With
    `sizes` there is a dataset for each of these vocabulary sizes, from one encoding. `eos` and `bos` name the piece to
    append or prepend, where it is not the tokenizer's own. The files are the same for any number of threads and amount
    of memory, and after any kill: a run with the same arguments resumes. With a `cluster` each shard is a task of
    Spark; `threads` then limits the cores of the cluster, and `out` is a folder that its workers reach.

    >>> import tempfile, pathlib, piecework as pw
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.jsonl").write_text('{"text": "ha ha"}\\n{"text": "hade"}\\n')
    >>> tokenizer = pw.train(["ha hade"], vocab_size=9)
    >>> dataset = pw.tokenize(folder / "a.jsonl", tokenizer, out=folder / "ids", threads=1)
    >>> dataset.documents, sorted(path.name for path in dataset.folder.iterdir())
    (2, ['documents-00000.bin', 'documents-00000.idx', 'tokenized.json'])
    """
    name = "tokenizer"
    if isinstance(tokenizer, str | os.PathLike):
        name = Path(tokenizer).name
        loaded = load_tokenizer(tokenizer)
        if not isinstance(loaded, Tokenizer | ByteLevelTokenizer):
            raise InputError(f"{tokenizer}: a {loaded.kind} tokenizer; a dataset needs BPE that runs in the core")
        tokenizer = loaded
    before, after = ids_around(tokenizer, bos=bos, eos=eos, prepend_bos=prepend_bos, append_eos=append_eos)
    if isinstance(source, Study):
        source = Source.from_study(source)
    elif not isinstance(source, Source):
        source = Source.from_files([source] if isinstance(source, str | os.PathLike) else list(source))
    plan = make_plan(
        source,
        tokenizer,
        format_name=to,
        sizes=sizes,
        before=before,
        after=after,
        shard_bytes=parse_size(shard_size) if isinstance(shard_size, str) else shard_size,
    )
    return tokenize_plan(
        plan,
        tokenizer,
        out=locate(out),
        tokenizer_name=name,
        threads=threads,
        memory_bytes=parse_size(memory) if isinstance(memory, str) else memory,
        strict=strict,
        force=force,
        progress=progress or (lambda _done, _total: None),
        warn=warn,
        cluster=cluster,
    )


def tokenize_plan(
    plan: DatasetPlan,
    tokenizer: AnyNative,
    *,
    out: Location,
    tokenizer_name: str,
    threads: int | None,
    memory_bytes: int | None,
    strict: bool,
    force: bool,
    progress: Progress,
    warn: Callable[[str], None],
    cluster: Cluster | None = None,
) -> TokenizedDataset:
    """The same for a plan."""
    if cluster is not None and isinstance(out, Path):
        out = out.absolute()  # tasks have a folder of their own
    cores = threads or available_cores()
    budget = Budget.share_out(free_memory_bytes() // 2 if memory_bytes is None else memory_bytes, cores)
    if budget.processes < cores and cluster is None:
        warn(f"the memory is enough for {budget.processes} of {cores} threads; give more --memory to use all")
    targets = tuple(
        ShardTarget(shard.key, tuple(f"{folder}/{name}".lstrip("/") for folder in plan.folders))
        for shard, name in zip(plan.shards, plan.names, strict=True)
    )
    with open_folder(out, plan, force=force) as lock:
        if (existing := existing_dataset(out, plan, strict=strict)) is not None:
            return existing
        store = RemoteStore(out) if isinstance(out, RemotePath) else LocalStore(out)
        store.remove_unfinished()
        store.remove_others(targets)
        job = TokenizeJob(
            store=store,
            encoding=plan.encoding,
            format=plan.format,
            tokenizer_name=tokenizer_name,
            weights=plan.weights,
            seed=plan.source.seed,
            targets={target.key: target for target in targets},
            strict=strict,
        )
        run = _Run(plan, job, targets, budget.processes, progress, warn, cluster, threads)
        try:
            results = run.tokenize(lock)
        finally:
            store.remove_unfinished()
        if not any(result.statistics["read_documents"] for result in results):
            from piecework.dataset.description import skipped_records

            shards = f"{len(plan.shards):,} shard{'s' if len(plan.shards) != 1 else ''}"
            raise InputError(f"no document in {shards}: {_all(skipped_records(plan, results))}")
        store.publish(targets, results)
        extra = []
        for folder, size in zip(plan.folders, plan.encoding.sizes, strict=True):
            if folder:
                is_bytes = isinstance(tokenizer, ByteLevelTokenizer)
                path = f"{folder}/tokenizer.{'json' if is_bytes else 'model'}"
                data = model_bytes(tokenizer if size == tokenizer.vocab_size else tokenizer.resize(size))
                publish_file(out, path, data)
                extra.append(file_row(path, data))
        model = {
            "name": tokenizer_name,
            "kind": tokenizer.kind,
            "sha256": plan.settings["model"],
            "vocab_size": tokenizer.vocab_size,
        }
        description = describe(plan, results, model=model, extra_files=extra)
        if isinstance(out, RemotePath):
            from piecework.common.manifest import seal

            publish_file(out, TOKENIZED, seal(description))
        else:
            write_manifest(out / TOKENIZED, description)
        store.remove_partial()
    return TokenizedDataset(out, description)


def _all(skipped: Any) -> Any:
    from piecework.corpus.skipped import Skipped

    total = Skipped()
    for one in skipped.values():
        total.update(one)
    return total


@dataclass(frozen=True, slots=True)
class _Run:
    """Tokenizes the shards of a plan with processes of this machine, or on a cluster."""

    plan: DatasetPlan
    job: TokenizeJob
    targets: tuple[ShardTarget, ...]
    processes: int
    progress: Progress
    warn: Callable[[str], None]
    cluster: Cluster | None
    cores: int | None
    """Of the cluster."""

    def tokenize(self, lock: int | None) -> list[TokenizedShard]:
        """The results of all shards; those that are done already are loaded."""
        shards = self.plan.shards
        with ThreadPoolExecutor(self.processes) as pool:  # checksums are computed without the GIL
            found = list(pool.map(self.job.store.load, self.targets))
        done = {index: result for index, result in enumerate(found) if result is not None}
        # Large files that cannot be split come first, so that no process works on one alone at the end.
        left = sorted((index for index in range(len(shards)) if index not in done), key=lambda i: -shards[i].size_bytes)
        if self.cluster is None:
            check_readable(shards[index] for index in left)
        done_bytes = sum(shards[index].size_bytes for index in done)
        self.progress(done_bytes, self.plan.size_bytes)

        def progress(amount: int) -> None:
            nonlocal done_bytes
            done_bytes += amount
            self.progress(done_bytes, self.plan.size_bytes)

        if self.cluster is not None:
            from piecework.dataset.spark import SparkRun

            total = self.plan.size_bytes

            def show(tasks: int, all_tasks: int) -> None:
                self.progress(done_bytes + (total - done_bytes) * tasks // max(1, all_tasks), total)

            on_cluster = SparkRun(self.cluster, self.plan.source.name, self.cores, show, self.warn)
            done |= dict(zip(left, on_cluster.tokenize(self.job, [shards[index] for index in left]), strict=True))
            self.progress(total, total)
            return [done[index] for index in range(len(shards))]
        job = self._with_threads(len(left))
        with Workers(keep_open=[] if lock is None else [lock], warn=self.warn) as workers:
            results = workers.run(
                functools.partial(tokenize_shard, job),
                [shards[index] for index in left],
                processes=self.processes,
                progress=progress,
            )
            with contextlib.closing(results):
                done |= {left[index]: result for index, result in results}
        return [done[index] for index in range(len(shards))]

    def _with_threads(self, shards: int) -> TokenizeJob:
        """Cores for which there is no shard encode within the processes of the others."""
        from dataclasses import replace

        return replace(self.job, threads=max(1, self.processes // max(1, shards)))
