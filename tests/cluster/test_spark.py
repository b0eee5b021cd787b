"""Counting on a real Spark cluster: the files equal those of one machine, even if processes are killed."""

import json
import os
import sysconfig
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.spark import SparkCluster, kill
from cluster.store import BUCKET
from counting.corpora import made_up_corpus, made_up_documents, make_study, write, write_corpus
from piecework.common.storage import RemotePath, upload
from piecework.counting.local import count
from piecework.counting.spark_cluster import Cluster
from piecework.counting.store import Counts
from piecework.errors import InputError
from piecework.study.study import Study
from piecework.training.trainer import train_any

ALL = os.environ.get("PIECEWORK_PARITY") == "all"
LARGEST = "law_no.jsonl.zst"
PART = ("law_is.jsonl.zst", LARGEST, "manual_da.jsonl.zst")
FILES = ("counts.json", "train.parquet", "eval.parquet", "eval_plain.parquet", "subsets.parquet")


def results(folder: Path) -> dict[str, bytes]:
    return {name: (folder / "counts" / name).read_bytes() for name in FILES}


def on_cluster(study: Study, out: Path, cluster: Cluster, **options: Any) -> tuple[Counts, list[str]]:
    told: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        counts = count(study, out=out, cluster=cluster, warn=told.append, **options)
    return counts, told


class Saboteur(threading.Thread):
    """Calls `act` when a task has a file open: once for each process, and at most `times` times."""

    def __init__(self, spark_cluster: SparkCluster, file: str, act: Callable[[int], None], times: int = 1) -> None:
        super().__init__(daemon=True)
        self.acted: list[int] = []
        self._look = lambda: spark_cluster.python_reading(file)
        self._act = act
        self._times = times
        self.start()

    def stop(self) -> None:
        self._times = 0
        self.join()

    def run(self) -> None:
        deadline = time.monotonic() + 120
        while len(self.acted) < self._times and time.monotonic() < deadline:
            pid = self._look()
            if pid is not None and pid not in self.acted:
                self._act(pid)
                self.acted.append(pid)
            time.sleep(0.002)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Study:
    """Real text and the standard library: a part, or all of it with PIECEWORK_PARITY=all.

    Without the development corpus, made-up text is used instead.
    """
    folder = tmp_path_factory.mktemp("real")
    try:
        texts: Path = request.getfixturevalue("shared") / "corpus"
    except pytest.skip.Exception:
        texts = tmp_path_factory.mktemp("made-up")
        for seed, name in enumerate(PART):
            write(texts / name, made_up_documents(50_000 if name == LARGEST else 2_000, seed=seed))
    names = [path.name for path in sorted(texts.glob("*.jsonl.zst"))]
    for name in names if ALL else PART:
        (folder / name).symlink_to(texts / name)
    modules = sorted(Path(sysconfig.get_path("stdlib")).glob("**/*.py" if ALL else "*.py"))
    (folder / "code").mkdir()
    for number, module in enumerate(path for path in modules if "site-packages" not in path.parts):
        (folder / "code" / f"{number:05}.py").symlink_to(module)
    return Study(
        name="real",
        folder=folder,
        corpus={
            "path": "{category}_{language}.jsonl.zst",
            "subset": [
                {
                    "path": "code/*.py",
                    "language": "code",
                    "category": "python",
                    "code_token": "<|python|>",
                    "documents": "file",
                }
            ],
        },
        sampling={"train": "50%", "eval": "10%"},
    )


@pytest.fixture(scope="module")
def expected(study: Study, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("local")
    count(study, out=out, threads=2)
    return results(out)


def test_the_files_are_the_same(study: Study, expected: dict[str, bytes], cluster: Cluster, tmp_path: Path) -> None:
    """Workers that have neither the package nor orjson nor zstandard get them from the driver."""
    seen: list[tuple[str, int, int]] = []
    _, told = on_cluster(
        study, tmp_path, cluster, progress=lambda *progress: seen.append(progress), table_bytes=2_000_000
    )
    assert results(tmp_path) == expected
    assert not told
    assert seen[0][0] == "counting"
    assert seen[-1][0] == "merging"
    assert seen[-1][1] == seen[-1][2]
    assert sorted(path.name for path in (tmp_path / "counts").iterdir()) == sorted((*FILES, "inputs.json"))


def test_languages_in_a_field(cluster: Cluster, tmp_path: Path) -> None:
    """Records of one file belong to several subsets."""
    folder = tmp_path / "data"
    folder.mkdir()
    languages = ("da", "is", "sv")
    texts = {language: made_up_documents(300, seed=seed) for seed, language in enumerate(languages)}
    for part in range(2):
        records = [
            json.dumps({"lang": language, "text": text})
            for row in zip(*texts.values(), strict=True)
            for language, text in zip(texts, row, strict=True)
        ]
        (folder / f"books-{part}.jsonl").write_text("\n".join(records[part::2]) + "\n")
    corpus = {"path": "{category}-*.jsonl", "language_field": "lang", "languages": list(languages)}
    study = Study(name="field", folder=folder, corpus=corpus, sampling={"train": "60%", "eval": "30%"})
    count(study, out=tmp_path / "local")
    on_cluster(study, tmp_path / "spark", cluster, shard_bytes=20_000)
    assert results(tmp_path / "spark") == results(tmp_path / "local")


def test_pre_tokens(cluster: Cluster, tmp_path: Path) -> None:
    """A byte-level study: the same files, and the same tokenizer from them."""
    write_corpus(tmp_path / "data", made_up_corpus(300), files=2)
    study = make_study(tmp_path / "data", recipe={"preset": "gpt4o", "vocab_size": 400})
    here = count(study, out=tmp_path / "local")
    there, told = on_cluster(study, tmp_path / "spark", cluster, shard_bytes=20_000, table_bytes=20_000)
    assert not told
    assert results(tmp_path / "spark") == results(tmp_path / "local")
    assert train_any(there.training(), study.recipe).model == train_any(here.training(), study.recipe).model


def test_a_task_that_fails_twice(
    study: Study, expected: dict[str, bytes], cluster: Cluster, spark_cluster: SparkCluster, tmp_path: Path
) -> None:
    """The Python process of a task is killed, as the system kills a process that takes too much memory."""
    # On a busy machine a task may be done before it is seen; then all is counted again.
    for attempt in range(5):
        saboteur = Saboteur(spark_cluster, LARGEST, kill, times=2)
        _, told = on_cluster(study, tmp_path / str(attempt), cluster)
        saboteur.stop()
        assert results(tmp_path / str(attempt)) == expected
        if len(saboteur.acted) == 2:
            break
    assert len(saboteur.acted) == 2
    assert any("failed so far; Spark tries each again" in message for message in told)


def test_bad_records_are_told_once(cluster: Cluster, tmp_path: Path) -> None:
    write_corpus(tmp_path / "data", made_up_corpus(60), files=2)
    for number, path in enumerate(sorted((tmp_path / "data").iterdir())):
        bad = b'{"text": ""}\nbad\n{"text": null}\n{"other": 1}\n[]\n{"text": 1}\n\xff\n' * (number % 3 + 1)
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:20]) + bad + b"".join(lines[20:]))
    study = make_study(tmp_path / "data")
    count(study, out=tmp_path / "local")
    counts, _ = on_cluster(study, tmp_path / "spark", cluster, shard_bytes=30_000)
    assert results(tmp_path / "spark") == results(tmp_path / "local")
    assert len(counts.description["skipped"]) > 8

    with pytest.raises(InputError, match=r"-0000\d.jsonl:21: empty; without --strict such records are counted"):
        on_cluster(study, tmp_path / "strict", cluster, strict=True)
    assert {path.name for path in (tmp_path / "strict" / "counts").iterdir()} <= {".partial"}
    with pytest.raises(InputError, match=r"holds counts of another run \(settings that differ: seed\); pass --force"):
        on_cluster(make_study(tmp_path / "data", seed=2), tmp_path / "spark", cluster)
    assert results(tmp_path / "spark") == results(tmp_path / "local")


def test_large_counts(cluster: Cluster, tmp_path: Path) -> None:
    """Counts have 64 bits, as on one machine; Spark's own numbers have 63 and a sign. A larger sum is an error."""
    for documents in (12, 24):
        data = tmp_path / str(documents)
        write_corpus(data, {"a_sv": ["hej"] * documents}, files=3)
        study = make_study(
            data,
            sampling={"train": "100%", "eval": "0%"},
            weights={"language": {"sv": 999_999_999_999_999_999}},
        )
        if documents == 12:
            count(study, out=data / "local")
            on_cluster(study, data / "spark", cluster, shard_bytes=200)
            assert results(data / "spark") == results(data / "local")
        else:
            with pytest.raises(InputError, match=r"a count is too large for 64 bits; sample less"):
                on_cluster(study, data / "spark", cluster, shard_bytes=200)
            assert {path.name for path in (data / "spark" / "counts").iterdir()} == {".partial"}


def test_a_stopped_count_keeps_its_finished_shards(cluster: Cluster, tmp_path: Path) -> None:
    write_corpus(tmp_path / "data", made_up_corpus(100), files=20)
    study = make_study(tmp_path / "data")
    count(study, out=tmp_path / "local")

    # The count has more shards than one job.
    def stop(stage: str, done: int, _total: int) -> None:
        if stage == "counting" and done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        on_cluster(study, tmp_path / "spark", cluster, shard_bytes=2_000, progress=stop)
    partial = tmp_path / "spark" / "counts" / ".partial"
    assert list(partial.glob("*/shard.json"))
    seen: list[tuple[str, int, int]] = []
    _, told = on_cluster(
        study, tmp_path / "spark", cluster, shard_bytes=2_000, progress=lambda *progress: seen.append(progress)
    )
    assert not told
    assert seen[0][0] == "counting"
    assert 0 < seen[0][1] < seen[0][2]
    assert results(tmp_path / "spark") == results(tmp_path / "local")


def test_the_store_is_read_and_written(in_store: str, cluster: Cluster, tmp_path: Path) -> None:  # noqa: ARG001
    corpus = made_up_corpus(40)
    write_corpus(tmp_path / "data", corpus)
    remote = RemotePath(f"s3://{BUCKET}/{tmp_path.name}")
    for path in (tmp_path / "data").iterdir():
        upload(path, remote / path.name)
    study = make_study(tmp_path, corpus={"path": f"{remote}/{{category}}_{{language}}-*"})
    count(study, out=tmp_path / "local")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        count(study, out=remote / "out", cluster=cluster)
    for name, content in results(tmp_path / "local").items():
        assert (remote / "out" / "counts" / name).read_bytes() == content, name


def test_a_worker_that_is_killed(
    study: Study, expected: dict[str, bytes], cluster: Cluster, spark_cluster: SparkCluster, tmp_path: Path
) -> None:
    """A worker, its executor and its task are killed within a file. The last test, because one worker is left."""
    saboteur = Saboteur(spark_cluster, LARGEST, spark_cluster.kill_worker)
    _, told = on_cluster(study, tmp_path, cluster)
    assert len(saboteur.acted) == 1
    assert sum(worker.poll() is None for worker in spark_cluster.workers) == 1
    assert results(tmp_path) == expected
    assert told
