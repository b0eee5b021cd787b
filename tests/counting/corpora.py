"""Corpora for the tests: documents made up, written in every format, cut into files in every way."""

import gzip
import json
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import zstandard

from piecework.counting.merge import MergeJob, SubsetTables, merge_tables
from piecework.counting.partial import PartialResults, ShardResult
from piecework.counting.plan import Plan
from piecework.counting.summary import Summary
from piecework.counting.worker import ShardJob, count_shard
from piecework.study.study import Study

RESULTS = ("train.parquet", "eval.parquet", "eval_plain.parquet", "subsets.parquet")
SYLLABLES = ["för", "en", "ska", "til", "på", "ver", "land", "og", "ð", "het", "ing", "ar", "sæ", "lø", "mo", "ki"]
ODD = ["", " ", "  ", "▁", "▅", "\n", "\t", "\r", "\0", "a,b", "-", "don't", "日本語", "e\u0301", "🙂", "<s>", "\ufffd"]


def made_up_documents(count: int, *, seed: int = 1, copies: bool = True) -> list[str]:
    """Documents of a few lines. Some are odd, and some occur more than once."""
    generator = random.Random(seed)
    words = ["".join(generator.choices(SYLLABLES, k=generator.randint(1, 4))) for _ in range(800)]
    frequencies = [1 / (rank + 1) for rank in range(len(words))]
    documents = []
    for _ in range(count):
        chosen = generator.choices(words, frequencies, k=generator.randint(1, 40))
        if generator.random() < 0.2:
            chosen += generator.choices(ODD, k=3)
            generator.shuffle(chosen)
        separators = generator.choices([" ", " ", " ", "\n", "  ", ", "], k=len(chosen))
        documents.append("".join(part for pair in zip(chosen, separators, strict=True) for part in pair))
    if copies:
        documents += generator.choices(documents, k=count // 10)
    return documents


def made_up_corpus(count: int = 300) -> dict[str, list[str]]:
    names = ("books_sv", "law_sv", "books_is", "code_xx")
    return {name: made_up_documents(count, seed=index) for index, name in enumerate(names)}


def jsonl(texts: Sequence[str]) -> bytes:
    return "".join(json.dumps({"id": 1, "text": text}, ensure_ascii=False) + "\n" for text in texts).encode()


def write(path: Path, texts: Sequence[str]) -> None:
    """Write documents in the format that the name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        table = pyarrow.table({"text": pyarrow.array(texts, pyarrow.string())})
        pyarrow.parquet.write_table(table, path, row_group_size=max(1, len(texts) // 7))
        return
    data = jsonl(texts)
    compress = {".gz": gzip.compress, ".zst": zstandard.compress}.get(path.suffix, bytes)
    path.write_bytes(compress(data))


def write_corpus(
    folder: Path,
    corpus: Mapping[str, Sequence[str]],
    *,
    suffix: str = ".jsonl",
    files: int = 1,
    shuffled: int | None = None,
) -> None:
    """Write each subset into `files` files, named <subset>-<number><suffix>."""
    for name, texts in corpus.items():
        order = list(texts)
        if shuffled is not None:
            random.Random(shuffled).shuffle(order)
        for number in range(files):
            write(folder / f"{name}-{number:05}{suffix}", order[number::files])


def make_study(folder: Path, **settings: Any) -> Study:
    """A study of the files that `write_corpus` writes."""
    given: dict[str, Any] = {
        "name": "test",
        "corpus": {"path": "{category}_{language}-*"},
        "sampling": {"train": "40%", "eval": "15%"},
    }
    return Study(folder=folder, **{**given, **settings})


def count_here(study: Study, folder: Path, *, shard_bytes: int | None = None, table_bytes: int = 1 << 30) -> Plan:
    """What the processes of a run do, in this process: much faster for small corpora."""
    plan = Plan.from_study(study, shard_bytes=shard_bytes)
    partial = PartialResults(folder / ".partial")
    job = ShardJob(plan.sampler(), partial.folder, table_bytes)
    results = [count_shard(job, shard, lambda _: None) for shard in plan.shards]
    Summary(plan, results).write(folder, merge(plan, results, folder, partial))
    return plan


def merge(
    plan: Plan, results: Sequence[ShardResult], folder: Path, partial: PartialResults
) -> dict[str, dict[str, Any]]:
    subsets = []
    for subset in plan.subsets:
        files: dict[str, tuple[Path, ...]] = {}
        for shard, result in zip(plan.shards, results, strict=True):
            mine = [file for file in result.spill_files if file.language == subset.language]
            if subset.name in shard.subsets:
                for file in mine:
                    files[file.table] = (*files.get(file.table, ()), partial.path(shard, file))
        subsets.append(SubsetTables(subset.name, files))
    job = MergeJob(
        subsets=tuple(subsets),
        rows=tuple(Summary(plan, results).rows),
        folder=folder,
        temporary=folder / ".partial" / "merging",
    )
    return merge_tables(job, lambda _: None)


def result_bytes(out: Path, names: Sequence[str] = RESULTS) -> dict[str, bytes]:
    return {name: (out / "counts" / name).read_bytes() for name in names}


def reference_settings(study: Study) -> dict[str, Any]:
    """The settings with which `reference_counts` samples like the study."""
    plan = Plan.from_study(study)
    return {
        "seed": study.seed,
        "train": study.sampling.train,
        "evaluation": study.sampling.eval,
        "weights": {
            str(subset.name): subset.weight if study.sampling.weighting == "documents" else Fraction(subset.weight > 0)
            for subset in plan.subsets
        },
        "tokens": {str(subset.name): subset.code_token for subset in plan.subsets if subset.code_token},
    }
