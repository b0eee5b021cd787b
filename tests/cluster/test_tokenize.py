"""Training shards on a real Spark cluster and in an object store: the files of one machine."""

from pathlib import Path

import pytest

import piecework as pw
from cluster.store import BUCKET
from counting.corpora import made_up_corpus, made_up_documents, write_corpus
from piecework.common.storage import RemotePath, upload
from piecework.counting.spark_cluster import Cluster
from piecework.errors import InputError


@pytest.fixture(scope="module")
def tokenizer() -> pw.Tokenizer:
    return pw.train(pw.count_words(made_up_documents(250)), pw.Recipe.gpt_sw3(vocab_size=900))


def study_in(folder: Path) -> pw.Study:
    return pw.Study(
        name="test", folder=folder, corpus={"path": "{category}_{language}-*"}, weights={"language": {"is": 2.5}}
    )


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_same_files_on_a_cluster(tmp_path: Path, tokenizer: pw.Tokenizer, cluster: Cluster) -> None:
    write_corpus(tmp_path, made_up_corpus(100), suffix=".jsonl.zst", files=2)
    options = {"shard_size": 20_000, "append_eos": True, "sizes": (500, 900)}
    study = study_in(tmp_path)
    pw.tokenize(study, tokenizer, out=tmp_path / "here", threads=1, **options)
    pw.tokenize(study, tokenizer, out=tmp_path / "there", cluster=cluster, **options)
    assert len(files_in(tmp_path / "here")) > 8
    assert files_in(tmp_path / "there") == files_in(tmp_path / "here")
    shuffled = {"shard_size": 20_000, "shuffle": 5}
    pw.tokenize(study, tokenizer, out=tmp_path / "mixed here", threads=1, **shuffled)
    pw.tokenize(study, tokenizer, out=tmp_path / "mixed there", cluster=cluster, **shuffled)
    assert "shuffled-00001.bin" in files_in(tmp_path / "mixed here")
    assert files_in(tmp_path / "mixed there") == files_in(tmp_path / "mixed here")
    (tmp_path / "law_sv-0.jsonl.zst").write_bytes(b"nonsense")
    with pytest.raises(InputError, match=r"law_sv-0.*\.zst"):
        pw.tokenize(study, tokenizer, out=tmp_path / "broken", cluster=cluster, **options)
    assert not (tmp_path / "broken/tokenized.json").exists()


@pytest.mark.usefixtures("in_store")
def test_in_a_store(tmp_path: Path, tokenizer: pw.Tokenizer) -> None:
    write_corpus(tmp_path, made_up_corpus(60), suffix=".jsonl", files=1)
    remote = RemotePath(f"s3://{BUCKET}/{tmp_path.name}")
    for path in sorted(tmp_path.glob("*.jsonl")):
        upload(path, remote / f"corpus/{path.name}")
    here = pw.tokenize(sorted(tmp_path.glob("*.jsonl")), tokenizer, out=tmp_path / "here", threads=1, to="numpy")
    out = remote / "ids"
    stopped = False

    def stop(done: int, total: int) -> None:
        nonlocal stopped
        if done > total // 2 and not stopped:
            stopped = True
            raise KeyboardInterrupt

    options = {"threads": 1, "to": "numpy", "shard_size": 12_000}
    with pytest.raises(KeyboardInterrupt):
        pw.tokenize(str(remote / "corpus"), tokenizer, out=out, progress=stop, **options)
    kept = (out / ".partial").names()
    assert kept
    reported: list[int] = []
    there = pw.tokenize(
        str(remote / "corpus"), tokenizer, out=out, progress=lambda done, _: reported.append(done), **options
    )
    assert reported[0] > 0, "finished shards are kept"
    assert there.tokens == here.tokens
    assert (out / ".partial").names() == []
    pw.tokenize(sorted(tmp_path.glob("*.jsonl")), tokenizer, out=tmp_path / "again", **options)
    for shard in there.description["shards"]:
        for row in shard["files"]:
            assert (out / row["path"]).read_bytes() == (tmp_path / "again" / row["path"]).read_bytes()
    assert pw.tokenize(str(remote / "corpus"), tokenizer, out=out, **options).description == there.description
    with pytest.raises(InputError, match="holds another dataset"):
        pw.tokenize(str(remote / "corpus"), tokenizer, out=out, append_eos=True, **options)
    with pytest.raises(InputError, match="holds something else"):
        pw.tokenize(str(remote / "corpus"), tokenizer, out=remote / "corpus", **options)
