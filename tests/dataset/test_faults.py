"""The same bytes for any number of threads and after any kill; a full disk; folders that hold something else."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import piecework as pw
from counting.corpora import made_up_corpus, write_corpus
from faults.small_disk import run_on_small_disk
from piecework.common.manifest import seal
from piecework.errors import DamagedError, InputError

ALL = os.environ.get("PIECEWORK_PARITY") == "all"
KILLS = 20 if ALL else 4

STUDY = """
name = "test"
[corpus]
path = "{category}_{language}-*"
[weights]
language = { is = 2.5 }
"""

PROGRAM = """
import json, sys
import piecework as pw
if __name__ == "__main__":
    study, model, out, options = sys.argv[1:]
    pw.tokenize(pw.Study.load(study), model, out=out, **json.loads(options))
"""


@pytest.fixture
def study(tmp_path: Path, tokenizer: pw.Tokenizer) -> Path:
    folder = tmp_path / "study"
    write_corpus(folder, made_up_corpus(200), suffix=".jsonl", files=3)
    tokenizer.save(folder / "model")
    (folder / "study.toml").write_text(STUDY)
    return folder / "study.toml"


def run(study: Path, out: Path, **options: object) -> "subprocess.Popen[bytes]":
    options = {"shard_size": 20_000, "threads": 2, **options}
    command = [sys.executable, "-c", PROGRAM, str(study), str(study.parent / "model"), str(out), json.dumps(options)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def dataset_bytes(out: Path) -> dict[str, bytes]:
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_the_same_bytes_for_any_number_of_threads(study: Path, tmp_path: Path) -> None:
    found = []
    for threads, memory in ((1, None), (2, "600MB"), (7, None)):
        out = tmp_path / f"threads-{threads}"
        pw.tokenize(
            pw.Study.load(study),
            study.parent / "model",
            out=out,
            threads=threads,
            memory=memory,
            shard_size=20_000,
            to="arrow" if ALL else "megatron",
        )
        found.append(dataset_bytes(out))
    assert len(found[0]) > 10
    assert found[0] == found[1] == found[2]


def test_killed_at_any_moment(study: Path, tmp_path: Path) -> None:
    """Killed again and again in the same folder, until a run finishes."""
    whole = tmp_path / "whole"
    started = time.monotonic()
    assert run(study, whole, to="numpy").wait() == 0
    took_s = time.monotonic() - started
    expected = dataset_bytes(whole)
    chance = random.Random(4)
    for number in range(KILLS):
        out = tmp_path / f"killed-{number}"
        process = run(study, out, to="numpy")
        time.sleep(took_s * chance.uniform(0.1, 1.05))
        process.kill()
        process.wait()
        assert run(study, out, to="numpy").wait() == 0
        assert dataset_bytes(out) == expected


def test_killed_while_files_get_their_names(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed at each rename in turn, and before tokenized.json exists."""
    options = {"shard_size": 60_000, "threads": 1}
    dataset = pw.tokenize(pw.Study.load(study), study.parent / "model", out=tmp_path / "whole", **options)
    files = [row["path"] for shard in dataset.description["shards"] for row in shard["files"]]
    expected = dataset_bytes(tmp_path / "whole")
    replace = Path.replace
    for stop in (0, len(files) // 2, len(files)):
        out = tmp_path / f"out-{stop}"
        renamed = 0

        def failing(path: Path, target: str | Path, stop: int = stop) -> Path:
            nonlocal renamed
            if str(target).endswith((".bin", ".idx", "tokenized.json")):
                if renamed == stop:
                    raise KeyboardInterrupt
                renamed += 1
            return replace(path, target)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", failing)
            with pytest.raises(KeyboardInterrupt):
                pw.tokenize(pw.Study.load(study), study.parent / "model", out=out, **options)
        assert not (out / "tokenized.json").exists()
        pw.tokenize(pw.Study.load(study), study.parent / "model", out=out, **options)
        assert dataset_bytes(out) == expected


def test_finished_shards_are_kept_and_damaged_ones_written_again(study: Path, tmp_path: Path) -> None:
    out, options = tmp_path / "out", {"shard_size": 30_000, "threads": 1}

    def stop(done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pw.tokenize(pw.Study.load(study), study.parent / "model", out=out, progress=stop, **options)
    kept = sorted((out / ".partial").glob("*/0.bin"))
    assert len(kept) >= 2
    assert not list((out / ".partial").glob(".unfinished*"))
    times = [path.stat().st_mtime_ns for path in kept]
    kept[0].write_bytes(b"x" + kept[0].read_bytes()[1:])
    reported: list[int] = []
    pw.tokenize(
        pw.Study.load(study),
        study.parent / "model",
        out=out,
        progress=lambda done, _: reported.append(done),
        **options,
    )
    assert reported[0] > 0
    again = {path.stat().st_mtime_ns for path in out.glob("*.bin")}
    assert set(times[1:]) <= again
    assert times[0] not in again
    pw.tokenize(pw.Study.load(study), study.parent / "model", out=tmp_path / "whole", **options)
    assert dataset_bytes(out) == dataset_bytes(tmp_path / "whole")


def test_a_full_disk(study: Path, tmp_path: Path) -> None:
    told = run_on_small_disk(
        study,
        tmp_path / "disk",
        "piecework.dataset.tokenize:tokenize",
        size_kb=60,
        step_kb=200,
        timeout_s=240,
        tokenizer=str(study.parent / "model"),
        shard_size=60_000,
    )
    assert told.errors
    for error in told.errors:
        assert "no space left on the disk; make room and run the command again" in error
    assert not [name for name in told.left if "unfinished" in name or name.endswith((".tmp", "tokenized.json"))]
    pw.tokenize(pw.Study.load(study), study.parent / "model", out=tmp_path / "whole", shard_size=60_000, threads=2)
    assert told.files == dataset_bytes(tmp_path / "whole")


def test_folders_that_hold_something_else(tmp_path: Path, corpus_file: Path, tokenizer: pw.Tokenizer) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("years of work")
    for force in (False, True):
        with pytest.raises(InputError, match=r"holds something else \(thesis.txt\); choose an empty folder"):
            pw.tokenize(corpus_file, tokenizer, out=out, threads=1, force=force)
    assert [path.name for path in out.iterdir()] == ["thesis.txt"]


def test_a_dataset_is_replaced_with_force_only(tmp_path: Path, corpus_file: Path, tokenizer: pw.Tokenizer) -> None:
    out = tmp_path / "out"
    first = pw.tokenize(corpus_file, tokenizer, out=out, threads=1)
    before = dataset_bytes(out)
    assert pw.tokenize(corpus_file, tokenizer, out=out, threads=2).description == first.description
    with pytest.raises(InputError, match=r"holds another dataset \(settings that differ: after\); pass --force"):
        pw.tokenize(corpus_file, tokenizer, out=out, threads=1, append_eos=True)
    assert dataset_bytes(out) == before
    (out / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="holds something else"):
        pw.tokenize(corpus_file, tokenizer, out=out, threads=1, to="numpy", force=True)
    (out / "notes.txt").unlink()
    pw.tokenize(corpus_file, tokenizer, out=out, threads=1, to="numpy", force=True)
    assert not list(out.glob("*.bin"))
    (out / "documents-00000.npy").unlink()
    with pytest.raises(DamagedError, match=r"documents-00000.npy.*missing.*--force"):
        pw.tokenize(corpus_file, tokenizer, out=out, threads=1, to="numpy")


def test_killed_just_before_a_file_has_its_name(tmp_path: Path, corpus_file: Path, tokenizer: pw.Tokenizer) -> None:
    """A random kill seldom comes at this moment. The unfinished files are removed, and whole datasets stay."""
    out = tmp_path / "ids"
    out.mkdir()
    names = [".tokenized.json.0123abcd.tmp", "600/.tokenizer.model.0123abcd.tmp"]
    (out / names[0]).write_bytes(b"unfinished")
    pw.tokenize(corpus_file, tokenizer, out=out, sizes=(600, 900))
    whole = dataset_bytes(out)
    assert not list(out.rglob("*.tmp"))
    for name in names:
        (out / name).write_bytes(b"unfinished")
    pw.tokenize(corpus_file, tokenizer, out=out, sizes=(600, 900))
    assert dataset_bytes(out) == whole


def test_killed_after_all_was_written(tmp_path: Path, corpus_file: Path, tokenizer: pw.Tokenizer) -> None:
    out = tmp_path / "out"
    first = pw.tokenize(corpus_file, tokenizer, out=out, threads=1)
    (out / ".partial").mkdir()
    (out / ".partial/publishing").write_bytes(b"")
    assert pw.tokenize(corpus_file, tokenizer, out=out, threads=1).description == first.description
    assert not (out / ".partial").exists()


def test_files_that_were_damaged_since(tmp_path: Path, corpus_file: Path, tokenizer: pw.Tokenizer) -> None:
    out = tmp_path / "out"
    options: dict[str, Any] = {"out": out, "sizes": (600, 900), "threads": 1}
    pw.tokenize(corpus_file, tokenizer, **options)
    whole = dataset_bytes(out)
    generator = random.Random(5)
    for name, data in whole.items():
        for _ in range(3):
            changed = bytearray(data)
            changed[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
            (out / name).write_bytes(changed)
            if name == "tokenized.json" and json.loads(data) == _json_or_none(changed):
                continue  # only whitespace has changed
            with pytest.raises(InputError, match=name):
                pw.tokenize(corpus_file, tokenizer, **options)
        (out / name).write_bytes(data)
    pw.tokenize(corpus_file, tokenizer, **options)
    assert dataset_bytes(out) == whole


def _json_or_none(data: bytes) -> object:
    try:
        return json.loads(data)
    except ValueError:
        return None


@pytest.mark.parametrize("name", ["../precious.txt", "{folder}/precious.txt", "link/precious.txt", "", "..", "a\0b"])
@pytest.mark.parametrize("force", [False, True])
def test_a_received_folder_removes_nothing_elsewhere(
    tmp_path: Path, corpus_file: Path, tokenizer: pw.Tokenizer, name: str, force: bool
) -> None:
    out = tmp_path / "out"
    pw.tokenize(corpus_file, tokenizer, out=out, threads=1)
    (tmp_path / "precious.txt").write_text("mine")
    (out / "link").symlink_to(tmp_path)
    content = json.loads((out / "tokenized.json").read_bytes())
    content.pop("checksum")
    path = name.format(folder=tmp_path)
    content["shards"][0]["files"].append({"path": path, "size_bytes": 4, "checksum": "0" * 64})
    (out / "tokenized.json").write_bytes(seal(content))
    refusals = r"leads out of the folder|its checksum is another|holds something else \(link"
    with pytest.raises(InputError, match=refusals):
        pw.tokenize(corpus_file, tokenizer, out=out, threads=1, force=force)
    assert (tmp_path / "precious.txt").read_text() == "mine"


def test_two_runs_in_one_folder(tmp_path: Path, corpus_file: Path, tokenizer: pw.Tokenizer) -> None:
    from piecework.counting.lock import locked

    out = tmp_path / "out"
    out.mkdir()
    with locked(out / ".lock"), pytest.raises(InputError, match="another process"):
        pw.tokenize(corpus_file, tokenizer, out=out, threads=1)
