"""Turns documents into training shards on this machine: on all cores, in bounded memory; a killed run resumes."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from piecework.common.manifest import seal, write_manifest
from piecework.common.storage import Location, RemotePath, locate
from piecework.counting.machine import available_cores, free_memory_bytes, parse_size
from piecework.dataset.dataset import TokenizedDataset
from piecework.dataset.description import TOKENIZED, describe, file_row
from piecework.dataset.memory import DatasetBudget
from piecework.dataset.output import existing_dataset, open_folder, publish_file
from piecework.dataset.plan import DatasetPlan, Source, make_plan, model_bytes
from piecework.dataset.run import DatasetRun, Progress
from piecework.dataset.shard_store import LocalStore, RemoteStore
from piecework.dataset.special_ids import ids_around
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
    shuffle: int | None = None,
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
    append or prepend, where it is not the tokenizer's own. With `shuffle`, a seed, the documents of all subsets are
    mixed; that takes no more memory, but twice the disk space while it runs. With a `cluster` each shard is a task of
    Spark; `threads` then limits the cores of the cluster, and `out` is a folder that its workers reach.

    The files are the same for any number of threads and amount of memory, and after any kill: a run with the same
    arguments resumes.

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
        shuffle=shuffle,
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
    if memory_bytes is None:
        memory_bytes = free_memory_bytes() // 2
    budget = DatasetBudget.share_out(memory_bytes, plan, cores)
    if budget.processes < cores and cluster is None:
        warn(f"the memory is enough for {budget.processes} of {cores} threads; give more --memory to use all")
    if plan.shuffle is not None and isinstance(out, RemotePath):
        raise InputError(f"{out}: a shuffled dataset is gathered on a local disk; write it there and copy it")
    with open_folder(out, plan, force=force) as lock:
        store = RemoteStore(out) if isinstance(out, RemotePath) else LocalStore(out)
        if (existing := existing_dataset(out, plan, strict=strict)) is not None:
            store.remove_partial()  # a run may have been killed after it had written all
            return existing
        run = DatasetRun(
            plan,
            store,
            tokenizer_name,
            budget=budget,
            strict=strict,
            progress=progress,
            warn=warn,
            cluster=cluster,
            cores=threads,
        )
        results, written = run.tokenize(lock)
        store.publish(plan.targets, written)
        extra = []
        for folder, resized in zip(plan.folders, plan.encoding.resized, strict=True):
            if folder:
                is_bytes = isinstance(tokenizer, ByteLevelTokenizer)
                path = f"{folder}/tokenizer.{'json' if is_bytes else 'model'}"
                data = model_bytes(pickle.loads(resized) if resized else tokenizer)
                publish_file(out, path, data)
                extra.append(file_row(path, data))
        model = {
            "name": tokenizer_name,
            "kind": tokenizer.kind,
            "sha256": plan.settings["model"],
            "vocab_size": tokenizer.vocab_size,
        }
        description = describe(plan, results, written, model=model, extra_files=extra)
        if isinstance(out, RemotePath):
            publish_file(out, TOKENIZED, seal(description))
        else:
            write_manifest(out / TOKENIZED, description)
        store.remove_partial()
    return TokenizedDataset(out, description)
