"""Inputs that attacks on the commands have found: each gives an error of one line, never a traceback."""

import base64
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import piecework as pw
from cli.command import COMMAND, environment
from piecework.common.manifest import checksum_of_file, seal
from piecework.common.path_pattern import PathPattern
from piecework.common.threads import in_threads
from piecework.errors import DamagedError, InputError, PieceworkError
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


RANKS = "".join(f"{base64.b64encode(bytes([byte])).decode()} {byte}\n" for byte in range(256))


@pytest.mark.parametrize("number", [-1, 999_999_999, 1 << 40])
def test_ids_that_are_none(tmp_path: Path, number: int) -> None:
    """A negative id took the place of the last token, in silence; a large one took all memory."""
    saved = pw.train(
        pw.count_pre_tokens(["ha ha"], pre_tokenizer="gpt2"),
        pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=257),
    )
    assert isinstance(saved, pw.ByteLevelTokenizer)
    content = json.loads(saved.json_bytes)
    content["model"]["vocab"]["ha"] = number
    config = {"pattern": r"\s+|\S+", "default_vocab_size": number + 1, "default_num_special_tokens": number}
    files = {
        "tokenizer.json": json.dumps(content),
        "ranks.tiktoken": f"{RANKS}aGFoYQ== {number}\n",
        "tekken.json": json.dumps({"config": config, "vocab": [{"rank": 0, "token_bytes": "AA=="}]}),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(PieceworkError, match=re.escape(name)):
            pw.ByteLevelTokenizer.load(tmp_path / name)


@pytest.mark.parametrize(
    "change",
    [
        {"normalizer": "x"},
        {"pre_tokenizer": ["x"]},
        {"decoder": 1},
        {"added_tokens": ["x"]},
        {"added_tokens": [{"content": 7, "id": 1}]},
        {"added_tokens": [{"content": "x", "id": True}]},
        {"added_tokens": {"x": 1}},
    ],
)
def test_a_tokenizer_json_with_parts_of_other_types(tmp_path: Path, change: dict[str, object]) -> None:
    saved = pw.train(
        pw.count_pre_tokens(["ha ha"], pre_tokenizer="gpt2"), pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=257)
    )
    assert isinstance(saved, pw.ByteLevelTokenizer)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({**json.loads(saved.json_bytes), **change}))
    with pytest.raises(PieceworkError, match=r"tokenizer\.json: "):
        pw.ByteLevelTokenizer.load(path)


@pytest.mark.parametrize("preset", ['["a"]', "{}", "1", "true"])
def test_a_preset_that_is_no_text(tmp_path: Path, preset: str) -> None:
    (tmp_path / "sv.txt").write_text("ha\n")
    study = tmp_path / "study.toml"
    study.write_text(f'[corpus]\npath = "{{language}}.txt"\n[recipe]\npreset = {preset}\n')
    done = run("validate", study)
    assert done.returncode == 2
    assert "study.toml:4: " in done.stderr and "preset" in done.stderr


def test_messages_do_not_control_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text('[corpus]\npath = "x"\n[recipe]\n"\\u001b[31m" = 1\n')
    done = run("validate", tmp_path / "study.toml")
    assert done.returncode == 2
    assert r'unknown key "\x1b[31m"' in done.stderr


@pytest.mark.parametrize("weight", ["x", "1/0", "1e999999999", "-1", "nan"])
def test_counts_with_a_weight_that_is_none(tmp_path: Path, weight: str) -> None:
    """The checksum is right: another program wrote it."""
    counts = pw.count(pw.Study.load(write_study(tmp_path)), out=tmp_path / "out")
    path = counts.folder / "counts.json"
    content = json.loads(path.read_bytes())
    content.pop("checksum")
    content["subsets"][0]["weight"] = weight
    path.write_bytes(seal(content))
    with pytest.raises(DamagedError, match=re.escape(f'the weight "{weight}" is no number')):
        pw.Counts.load(tmp_path / "out")
    del content["subsets"][0]["weight"]
    path.write_bytes(seal(content))
    with pytest.raises(DamagedError, match=r"subsets\[0\] lacks weight"):
        pw.Counts.load(tmp_path / "out")


def change_table(folder: Path, name: str, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change the rows of a study's table, with a right checksum in run.json, as another program could."""
    path = folder / "results" / f"{name}.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)
    content = json.loads((folder / "run.json").read_bytes())
    content.pop("checksum")
    for stage in content["stages"].values():
        if f"results/{name}.parquet" in stage["outputs"]:
            stage["outputs"][f"results/{name}.parquet"] = checksum_of_file(path)
    (folder / "run.json").write_bytes(seal(content))


def test_tables_that_no_study_wrote(tmp_path: Path) -> None:
    """A piece of a billion characters took a bar for each length up to it; a missing value was a traceback."""
    results, _ = run_study(write_study(tmp_path))
    change_table(results.folder, "lengths", lambda rows: rows[5].update(characters=10**9))
    change_table(results.folder, "pieces", lambda rows: rows[300].update(piece="<script>x()</script>"))
    done = run("report", results.folder)
    assert done.returncode == 0, done.stderr
    page = (results.folder / "report.html").read_text(encoding="utf-8")
    assert "over 100" in page and "<script>x" not in page
    change_table(results.folder, "overlap", lambda rows: rows[0].update(dict.fromkeys(rows[0])))
    done = run("report", results.folder)
    assert done.returncode == 1
    assert "its tables are not as a study writes them" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "extend m --data t --add 5 --out o --min-frequency",
        "extend m --data t --add 5 --out o --pad-to-multiple",
        "edit m --out o --pad-to-multiple",
        "edit m --out o --reserve",
        *(f"{name} m --threads" for name in ("balance", "count", "run", "tokenize", "evaluate")),
    ],
)
def test_numbers_that_nothing_can_have(command: str) -> None:
    """They took all memory, or ended in a traceback after the work."""
    done = run(*command.split(), 10**23)
    assert done.returncode == 2
    assert f"{10**23} is not in the range" in done.stderr
