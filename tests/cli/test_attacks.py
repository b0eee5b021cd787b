"""Inputs that attacks on the commands have found: each gives an error of one line, never a traceback."""

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

import pytest

import piecework as pw
from cli.command import COMMAND, environment
from piecework.common.path_pattern import PathPattern
from piecework.common.threads import in_threads
from piecework.errors import InputError
from pipeline.studies import run_study, write_study


def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, env=environment())
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_a_report_without_its_tables(tmp_path: Path) -> None:
    results, _ = run_study(write_study(tmp_path))
    shutil.rmtree(results.folder / "results")
    done = run("report", results.folder)
    assert done.returncode == 1
    assert "metrics.parquet" in done.stderr and "piecework run makes it again" in done.stderr


def test_more_pieces_than_a_number_can_count(tmp_path: Path) -> None:
    counts = pw.count_words(["ha ha hahaha", "hi hi"] * 9)
    pw.train(counts, pw.Recipe(vocab_size=8)).save(tmp_path / "model")
    (tmp_path / "text.txt").write_text("hihi hihi haha\n" * 9)
    model, text, out = tmp_path / "model", tmp_path / "text.txt", tmp_path / "out"
    done = run("extend", model, "--data", text, "--add", 10**26, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "the text allows only" in done.stderr


@pytest.mark.parametrize("pattern", ["http://x", "s3://{language}.txt", "s3://*"])
def test_patterns_without_a_bucket(pattern: str) -> None:
    with pytest.raises(InputError):
        PathPattern(pattern).find(Path())


def test_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def submit(*_: object) -> NoReturn:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", submit)
    with pytest.raises(InputError, match="ulimit"):
        list(in_threads(abs, [1, 2], threads=2))


@pytest.mark.parametrize(
    "option", ["extend m --out o --data", "evaluate m --data", "compare m --data", "verify m --data"]
)
def test_a_uri_where_files_are_local(option: str) -> None:
    done = run(*option.split(), "s3://key:secret@bucket/x.jsonl")
    assert done.returncode == 2
    assert "a path should hold no credentials" in done.stderr and "secret@" not in done.stderr
    assert "reads files of this machine only" in run(*option.split(), "s3://bucket/x.jsonl").stderr


def test_a_named_pipe_that_nothing_writes_to(tmp_path: Path) -> None:
    study = write_study(tmp_path)
    pipe = tmp_path / "data" / "pipe_sv.jsonl"
    os.mkfifo(pipe)
    for command in ("validate", "count", "run"):
        done = run(command, study)
        assert (done.returncode, done.stderr.count("not a file that can be read again")) == (1, 1), command
    done = run("spm-train", f"--input={pipe}", f"--model_prefix={tmp_path}/m", "--model_type=bpe")
    assert done.returncode == 2
    assert "a named pipe that nothing writes to" in done.stderr
