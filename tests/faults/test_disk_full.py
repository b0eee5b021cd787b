"""A disk that is full: a clear error, nothing corrupt, and the run resumes when there is room."""

from pathlib import Path

from counting.corpora import RESULTS, made_up_corpus, make_study, result_bytes, write_corpus
from faults.runs import STUDY
from faults.small_disk import run_on_small_disk
from piecework.counting.local import count


def test_a_full_disk(tmp_path: Path) -> None:
    write_corpus(tmp_path, made_up_corpus(600), suffix=".jsonl.zst", files=3)
    (tmp_path / "study.toml").write_text(STUDY)
    disk = tmp_path / "disk"
    told = run_on_small_disk(
        tmp_path / "study.toml",
        disk,
        "piecework.counting.local:count",
        size_kb=16,
        step_kb=96,
        timeout_s=120,
        shard_bytes=30_000,
    )
    assert len(told.errors) >= 3
    for error in told.errors:
        assert "no space left on the disk" in error
        assert "make room and run the command again" in error
    where = {error.partition(":")[0].removeprefix(f"{disk}/out/") for error in told.errors}
    assert "counts/.partial" in where
    assert any(name.endswith(".parquet") for name in where), "never full while merging"
    assert not [name for name in told.left if "unfinished" in name or name.endswith((".tmp", "counts.json"))]
    count(make_study(tmp_path), out=tmp_path / "expected")
    expected = result_bytes(tmp_path / "expected", (*RESULTS, "counts.json", "inputs.json"))
    assert told.files == {f"counts/{name}": data for name, data in expected.items()}
