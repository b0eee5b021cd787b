"""Input that is damaged, cannot be read, changes meanwhile, or comes in unusual sizes."""

import gzip
import os
import re
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from itertools import count as count_up
from pathlib import Path
from typing import Any

import pytest
import zstandard

from cli.command import COMMAND, UNPRIVILEGED, environment
from counting.corpora import count_here, made_up_documents, make_study, result_bytes, write
from counting.reference import Reference, assert_same, table_rows
from faults.runs import STUDY
from piecework.common.subset_name import SubsetName
from piecework.corpus.readers import open_batches
from piecework.corpus.sampling import Sampler
from piecework.counting.local import count
from piecework.counting.plan import Plan
from piecework.counting.worker import ShardJob, count_shard
from piecework.errors import InputError

SUBSET = SubsetName("a", "x")


@pytest.mark.parametrize("suffix", [".jsonl.gz", ".jsonl.zst", ".parquet"])
@pytest.mark.parametrize("kept", [0.3, 0.97])
def test_a_truncated_file_is_named(tmp_path: Path, suffix: str, kept: float) -> None:
    for name in ("a_x-0", "a_x-1", "a_x-2"):
        write(tmp_path / f"{name}{suffix}", made_up_documents(100))
    damaged = tmp_path / f"a_x-1{suffix}"
    whole = damaged.read_bytes()
    os.truncate(damaged, int(len(whole) * kept))
    options = {"out": tmp_path / "out", "threads": 2, "shard_bytes": 1000}
    with pytest.raises(InputError, match=rf"{re.escape(str(damaged))}: .*truncated"):
        count(make_study(tmp_path), **options)  # type: ignore[arg-type]
    assert not (tmp_path / "out" / "counts" / "counts.json").exists()
    damaged.write_bytes(whole)
    counts = count(make_study(tmp_path), **options)  # type: ignore[arg-type]
    assert counts.subsets.column("read_documents").to_pylist() == [330]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    write(tmp_path / "a_x-0.jsonl", made_up_documents(50))
    # A regular file whose reading fails for everybody, the superuser too.
    unreadable = tmp_path / "a_x-1.jsonl"
    unreadable.symlink_to("/proc/self/mem")
    with pytest.raises(InputError, match=rf"{re.escape(str(unreadable))}: cannot read: Input/output error"):
        count(make_study(tmp_path), out=tmp_path / "out", threads=1)


def test_a_file_that_must_not_be_read(tmp_path: Path) -> None:
    write(tmp_path / "a_x-0.jsonl", made_up_documents(50))
    (tmp_path / "a_x-0.jsonl").chmod(0)
    (tmp_path / "study.toml").write_text(STUDY)
    command = [*UNPRIVILEGED, *COMMAND, "count", "study.toml", "--out", "out", "--threads", "1"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 1
    assert re.search(r"a_x-0\.jsonl: cannot read: Permission denied", done.stderr)
    assert "Traceback" not in done.stderr


def test_a_file_that_changes_while_it_is_read(tmp_path: Path) -> None:
    write(tmp_path / "a_x-0.jsonl", made_up_documents(50))
    plan = Plan.from_study(make_study(tmp_path))
    write(tmp_path / "a_x-0.jsonl", made_up_documents(51))
    with pytest.raises(InputError, match=r"a_x-0\.jsonl: changed while it was read; run the command again"):
        count_shard(ShardJob(plan.sampler(), tmp_path / "out", 1 << 20), plan.shards[0], lambda _: None)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("how", ["grows", "shrinks", "vanishes", "is replaced"])
@pytest.mark.parametrize("unit", ["block", "line", "file"])
def test_text_that_changes_while_it_is_read(tmp_path: Path, how: str, unit: Any) -> None:
    """What `train`, `extend`, `evaluate` and `compare` read was a part of a file, in silence."""
    path = tmp_path / "text.txt"
    path.write_text("some words\n" * 50_000)
    batches = open_batches([path], text_unit=unit, batch_bytes=20_000)
    next(batches)
    if how == "grows":
        with path.open("a") as file:
            file.write("more\n")
    elif how == "shrinks":
        os.truncate(path, 1000)
    else:
        path.unlink()
        if how == "is replaced":
            path.write_text("other words\n" * 50_000)
    message = "cannot read: No such file" if how == "vanishes" else "changed while it was read"
    with pytest.raises(InputError, match=rf"text\.txt: {message}"):
        list(batches)


def test_files_or_settings_that_changed_since(tmp_path: Path) -> None:
    write(tmp_path / "a_x-0.jsonl", made_up_documents(50))
    count(make_study(tmp_path), out=tmp_path / "out")
    before = result_bytes(tmp_path / "out")
    with pytest.raises(InputError, match=r"counts of another run \(settings that differ: seed\); pass --force"):
        count(make_study(tmp_path, seed=2), out=tmp_path / "out")
    write(tmp_path / "a_x-0.jsonl", made_up_documents(51))
    with pytest.raises(InputError, match=r"counts of another run \(files that changed since: a_x-0\.jsonl\)"):
        count(make_study(tmp_path), out=tmp_path / "out")
    assert result_bytes(tmp_path / "out") == before
    count(make_study(tmp_path), out=tmp_path / "out", force=True)
    assert result_bytes(tmp_path / "out") != before


def test_the_longest_document_and_the_longest_word(tmp_path: Path) -> None:
    """63 MB of words, for training, and a word of 1 MB, for evaluation."""
    sampler = Sampler(seed=1, train=Fraction(1, 2), evaluation=Fraction(1, 2), weights={SUBSET: Fraction(1)})

    def document(text: str, *, evaluation: bool) -> str:
        numbered = (f"{number}{text}" for number in count_up())
        return next(text for text in numbered if sampler.place(text.encode(), SUBSET).evaluation is evaluation)

    n = 3_000_000
    words = document("ord, med mellanslag. " * n, evaluation=False)
    word = document("x" * 1_000_000, evaluation=True)
    write(tmp_path / "a_x-0.jsonl", [words, word])
    study = make_study(tmp_path, sampling={"train": "50%", "eval": "50%"})
    count_here(study, tmp_path / "out", shard_bytes=32_000_000)
    rows = {row[2]: row[3] for row in table_rows(tmp_path / "out" / "train.parquet")}
    first = words[: words.index(" ")]
    assert rows == {first: 1, "▁ord,": n - 1, "▁med": n, "▁mellanslag.": n, "▁": 1}
    for name in ("eval", "eval_plain"):
        [row] = table_rows(tmp_path / "out" / f"{name}.parquet")
        assert row[3:] == (True, word, 1)


def test_10_000_tiny_files(tmp_path: Path) -> None:
    for number in range(10_000):
        (tmp_path / f"a_x-{number}.txt").write_bytes(b"file %d\n" % number)
    study = make_study(tmp_path, sampling={"train": "50%", "eval": "50%"})
    plan = Plan.from_study(study)
    assert len(plan.shards) == 5
    counts = count(study, out=tmp_path / "out", threads=2)
    [row] = counts.subsets.to_pylist()
    assert row["read_documents"] == row["train_documents"] + row["eval_documents"] == 10_000
    expected = Reference()
    sampler = plan.sampler()
    for number in range(10_000):
        placement = sampler.place(b"file %d\n" % number, SUBSET)
        if placement.evaluation:
            for table in (expected.eval, expected.eval_plain):
                table.update(
                    Counter(
                        {
                            ("x", "a", placement.bucket, True, "file"): 1,
                            ("x", "a", placement.bucket, False, f" {number}\n"): 1,
                        }
                    )
                )
        else:
            expected.train.update({("x", "a", "file"): 1, ("x", "a", f"▁{number}"): 1})
    assert_same(counts.folder, expected)


@pytest.mark.parametrize("suffix", [".jsonl.zst", ".txt.gz", ".txt"])
def test_a_line_of_400_megabytes_takes_little_memory(tmp_path: Path, suffix: str) -> None:
    """The file has 50 kB to 400 MB. The unpacked line has 400 MB."""
    path = tmp_path / f"a_x-0{suffix}"
    parts = [b'{"text": "one"}\n{"text": "', *[b"x" * 1_000_000] * 400, b'"}\n{"text": "two"}\n']
    if suffix == ".jsonl.zst":
        with path.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as writer:
            for part in parts:
                writer.write(part)
    else:
        opened: Any = gzip.open(path, "wb", 1) if suffix == ".txt.gz" else path.open("wb")  # noqa: SIM115
        with opened as file:
            file.writelines(parts)
    script = (
        "import resource, sys; from pathlib import Path; from counting.corpora import make_study;"
        "from piecework.counting.local import count;"
        "corpus = {'path': '{category}_{language}-*', 'documents': 'line'};"
        "counts = count(make_study(Path(sys.argv[1]), corpus=corpus), out=sys.argv[1] + '/out', memory='500MB');"
        "print(counts.description['skipped'][0]['reason']);"
        # VmHWM is the peak of this process alone: ru_maxrss includes the peak of the process that started it.
        "status = Path('/proc/self/status').read_text();"
        "own = int(status.split('VmHWM:')[1].split()[0]);"
        "print(max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))"
    )
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert done.returncode == 0, done.stderr
    reason, peak_kb = done.stdout.split("\n")[:2]
    assert reason == "document too long"
    assert int(peak_kb) < 400_000
