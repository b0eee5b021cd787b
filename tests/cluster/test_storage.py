"""Corpus and counts on s3://: the same as on this machine, and clear errors if the store refuses access."""

import os
import subprocess
from pathlib import Path

import pytest

from cli.command import COMMAND, environment
from cluster.store import BUCKET
from counting.corpora import RESULTS, count_here, made_up_corpus, make_study, result_bytes, write_corpus
from piecework.common.path_pattern import PathPattern
from piecework.common.storage import RemotePath, locate, upload
from piecework.corpus import Skipped, find_files, open_batches
from piecework.counting.local import count
from piecework.counting.store import Counts
from piecework.errors import InputError

FORMATS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")


@pytest.fixture(scope="module")
def corpus_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Subsets in four formats, and records that cannot be used."""
    folder = tmp_path_factory.mktemp("corpus")
    for (name, texts), suffix in zip(made_up_corpus(200).items(), FORMATS, strict=True):
        write_corpus(folder, {name: texts}, suffix=suffix, files=2)
    with (folder / "books_sv-00000.jsonl").open("ab") as file:
        file.write(b'{"text": ""}\nbad\n')
    return folder


@pytest.fixture
def remote(in_store: str, corpus_folder: Path, tmp_path: Path) -> RemotePath:  # noqa: ARG001
    """The same files in the store, in a folder of the test's own."""
    folder = RemotePath(f"s3://{BUCKET}/{tmp_path.name}/data")
    for path in corpus_folder.iterdir():
        upload(path, folder / path.name)
    return folder


def test_paths() -> None:
    path = RemotePath("s3://bucket/a/books_sv.jsonl.zst")
    assert (path.name, path.suffix, path.with_suffix("").suffix) == ("books_sv.jsonl.zst", ".zst", ".jsonl")
    assert str(path.parent / "b") == "s3://bucket/a/b"
    assert locate("file:///tmp/x") == Path("/tmp/x")
    assert sorted([RemotePath("s3://b"), RemotePath("s3://a")])[0].uri == "s3://a"
    with pytest.raises(InputError, match=r"https://x/y: cannot read https://; a path is local, or starts with"):
        locate("https://x/y")


def test_files_are_found_and_read(remote: RemotePath, corpus_folder: Path) -> None:
    assert [path.name for path in remote.files()] == sorted(path.name for path in corpus_folder.iterdir())
    assert remote.is_dir()
    assert not (remote / "no-such").exists()
    for path in remote.files():
        local = corpus_folder / path.name
        assert path.stat().st_size == local.stat().st_size
        assert path.read_bytes() == local.read_bytes()
        texts = [_texts([place]) for place in (path, local)]
        assert texts[0] == texts[1]
    with (remote / "books_sv-00000.jsonl").open() as file:
        file.seek(1000)
        assert file.read(9) == (corpus_folder / "books_sv-00000.jsonl").read_bytes()[1000:1009]
    for pattern in ("/*.parquet", "/{category}_{language}-*", "/**/*_sv-*", "/law_*", ""):
        found = PathPattern(f"{remote}{pattern}").find(Path())
        here = PathPattern(f"{corpus_folder}{pattern}").find(Path())
        assert [(m.path.name, m.category, m.language) for m in found if pattern] == [
            (m.path.name, m.category, m.language) for m in here if pattern
        ]
    assert len(find_files([f"{remote}/*.parquet"])) == 2
    with pytest.raises(InputError, match=r"no-such.txt: no such file or folder"):
        find_files([f"{remote}/no-such.txt"])


def _texts(paths: list[RemotePath | Path]) -> tuple[list[object], dict[object, int]]:
    skipped = Skipped()
    batches = list(open_batches(paths, skipped=skipped, batch_bytes=5000))
    documents = [str(document) for batch in batches for document in batch.documents]
    return list(documents), dict(skipped.by_reason())


@pytest.mark.parametrize("shard_bytes", [None, 20_000])
def test_counts_are_the_same(remote: RemotePath, corpus_folder: Path, tmp_path: Path, shard_bytes: int | None) -> None:
    """Read from the store, and written into it, by processes as on one machine."""
    count_here(make_study(corpus_folder), tmp_path / "here" / "counts")
    study = make_study(tmp_path, corpus={"path": f"{remote}/{{category}}_{{language}}-*"})
    out = remote.parent / "out"
    counts = count(study, out=str(out), threads=2, shard_bytes=shard_bytes)
    assert str(counts.folder) == f"{out}/counts"
    for name in RESULTS:
        assert (out / "counts" / name).read_bytes() == result_bytes(tmp_path / "here", [name])[name], name
    assert sorted((out / "counts").names()) == sorted([*RESULTS, "counts.json", "inputs.json"])
    rows = [row for row in counts.description["skipped"] if row["category"] == "books" and row["language"] == "sv"]
    assert {row["reason"]: row["records"] for row in rows} == {"malformed JSON": 1, "empty": 1}
    assert rows[0]["first"][0].startswith(f"{remote}/books_sv-00000.jsonl:")
    loaded = Counts.load(str(out))
    here = Counts(tmp_path / "here" / "counts", counts.description)
    assert loaded.training() == here.training()
    assert loaded.evaluation("sv").equals(here.evaluation("sv"))
    stopped: list[str] = []
    again = count(study, out=out, progress=lambda stage, _done, _total: stopped.append(stage))
    assert again.description == counts.description
    assert not stopped, "counts that are there are not counted again"
    other = make_study(tmp_path, corpus={"path": f"{remote}/{{category}}_{{language}}-*"}, seed=2)
    with pytest.raises(InputError, match=r"holds counts of another run \(settings that differ: seed\)"):
        count(other, out=out)


def test_pre_tokens_are_the_same(remote: RemotePath, corpus_folder: Path, tmp_path: Path) -> None:
    recipe = {"preset": "llama3", "vocab_size": 400}
    here = count(make_study(corpus_folder, recipe=recipe), out=tmp_path / "here")
    study = make_study(tmp_path, corpus={"path": f"{remote}/{{category}}_{{language}}-*"}, recipe=recipe)
    there = count(study, out=str(remote.parent / "out"), shard_bytes=20_000)
    for name in RESULTS:
        assert (remote.parent / "out" / "counts" / name).read_bytes() == result_bytes(tmp_path / "here", [name])[name]
    assert there.training() == here.training()


def test_the_command(remote: RemotePath, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        f'name = "stored"\n[corpus]\npath = "{remote}/{{category}}_{{language}}-*"\n[sampling]\ntrain = "50%"\n'
    )
    out = remote.parent / "out"

    def run(*arguments: object, **changes: str) -> "subprocess.CompletedProcess[str]":
        command = [*COMMAND, *map(str, arguments)]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, encoding="utf-8", env=environment(**changes), timeout=120
        )

    refused = run("count", "study.toml", "--out", out, AWS_SECRET_ACCESS_KEY="wrong")
    assert refused.returncode == 2
    assert "study.toml:3: path" in refused.stderr
    assert "access denied; the credentials of AWS_ACCESS_KEY_ID are wrong, or do not allow it" in refused.stderr
    missing = run("count", "study.toml", "--out", out, AWS_SECRET_ACCESS_KEY="", AWS_ACCESS_KEY_ID="")
    assert missing.returncode == 2
    assert "there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in missing.stderr
    done = run("count", "study.toml", "--out", out, "-v")
    assert done.returncode == 0, done.stderr
    assert f"next: piecework train --counts {out}" in done.stderr
    trained = run("train", "--counts", out, "--out", "tokenizer", "--vocab-size", 512)
    assert trained.returncode == 0, trained.stderr
    from_text = run("train", f"{remote}/*.jsonl", "--out", "from-text", "--vocab-size", 512, "-q")
    assert from_text.returncode == 0, from_text.stderr
    absent = run("train", "--counts", f"s3://{BUCKET}/nothing")
    assert absent.returncode != 0
    for one in (refused, missing, absent):
        assert "Traceback" not in one.stderr
    elsewhere = run("count", "study.toml", "--out", out, AWS_ENDPOINT_URL="http://127.0.0.1:9")
    assert "cannot reach the storage at http://127.0.0.1:9 (AWS_ENDPOINT_URL)" in elsewhere.stderr


def test_nothing_is_written_where_the_store_refuses(
    remote: RemotePath, corpus_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The output is refused before anything is counted, and nothing is left behind."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "study.toml").write_text(
        f'name = "here"\n[corpus]\npath = "{corpus_folder}/{{category}}_{{language}}-*"\n'
    )
    for changes in ({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, {"AWS_SECRET_ACCESS_KEY": "wrong"}):
        done = subprocess.run(
            [*COMMAND, "count", "study.toml", "--out", f"{remote.parent}/out"],
            cwd=tmp_path,
            capture_output=True,
            encoding="utf-8",
            env={**environment(), **changes},
            timeout=60,
        )
        assert done.returncode == 1, done.stderr
        assert "access denied" in done.stderr
        assert "counting" not in done.stderr
    bucket = subprocess.run(
        [*COMMAND, "count", "study.toml", "--out", "s3://no-such-bucket/out"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        env=dict(os.environ),
        timeout=60,
    )
    assert bucket.returncode == 1
    assert "s3://no-such-bucket" in bucket.stderr
    assert "Traceback" not in bucket.stderr
    assert not (remote.parent / "out").exists()
