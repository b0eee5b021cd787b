"""`piecework validate`: the study as resolved, for people and for programs; all mistakes and exit code 2."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli.command import Run, environment
from piecework.study.study import Study

STUDY = """\
name = "nordic"
[corpus]
path = "{category}_{language}.jsonl"
[[corpus.subset]]
path = "code/*.py"
language = "code"
category = "python"
code_token = "<|python|>"
[weights]
language = { is = 3, da = 0 }
[recipe]
vocab_size = 1000
[analysis]
vocab_sizes = [500, 1000]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "code").mkdir()
    for name in ("law_is.jsonl", "law_sv.jsonl", "law_da.jsonl", "code/a.py"):
        (tmp_path / name).write_text('{"text": "hej"}\n')
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_a_table_for_people(run: Run) -> None:
    done = run("validate", "study.toml")
    assert done.returncode == 0, done.stderr
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line.strip()}
    assert done.stdout.splitlines()[0] == "nordic  4 subsets in 4 languages, 4 files, 64 bytes as stored"
    assert rows["law_is"] == ["law_is", "1", "16", "bytes", "3", "3%", "0.6%", "field", '"text"']
    assert rows["law_da"][4:7] == ["0", "0%", "0%"]
    assert "after <|python|>" in done.stdout
    assert "1% to train, 0.2% to evaluate; weights act on documents" in done.stdout
    assert "1,000 pieces; also 500" in done.stdout
    assert "\x1b" not in done.stdout
    assert "vocab_size 1000 is not divisible by 128" in done.stderr
    assert "left out because their weight is 0: law_da" in done.stderr
    assert "little to sample from, with one document per file: python_code 1\n" in done.stderr
    assert done.stderr.splitlines()[-1] == "next: piecework count study.toml --dry-run"
    assert run("validate", "study.toml", "-q").stderr == ""


def test_json(run: Run, folder: Path) -> None:
    done = run("validate", "study.toml", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["valid"] is True
    assert found["counting_key"] == Study.load(folder / "study.toml").counting_key()
    subsets = {subset["name"]: subset for subset in found["subsets"]}
    assert list(subsets) == ["python_code", "law_da", "law_is", "law_sv"]
    assert subsets["law_is"] == {
        "name": "law_is",
        "category": "law",
        "language": "is",
        "text": "text",
        "language_field": None,
        "fields": ["text"],
        "documents": "file",
        "code_token": None,
        "weight": "3",
        "train": "0.03",
        "eval": "0.006",
        "size_bytes": 16,
        "files": [{"path": "law_is.jsonl", "size_bytes": 16}],
    }
    assert found["recipe"]["vocab_size"] == 1000
    assert found["sampling"] == {"train": "0.01", "eval": "0.002", "weighting": "documents"}


def test_weights_on_counts_take_no_more_documents(run: Run, folder: Path) -> None:
    (folder / "study.toml").write_text(STUDY + '[sampling]\nweighting = "counts"\n')
    found = json.loads(run("validate", "study.toml", "--json").stdout)
    assert {subset["name"]: (subset["weight"], subset["train"]) for subset in found["subsets"]} == {
        "python_code": ("1", "0.01"),
        "law_da": ("0", "0"),
        "law_is": ("3", "0.01"),
        "law_sv": ("1", "0.01"),
    }


def test_all_mistakes_and_exit_code_2(run: Run, folder: Path) -> None:
    (folder / "study.toml").write_text(STUDY.replace("vocab_size = ", "vocab_sise = ").replace("da = 0", "swe = 0"))
    done = run("validate", "study.toml")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        'error: study.toml:10: [weights]: the corpus has no language "swe"; its languages are code, da, is, sv',
        '       study.toml:12: unknown key "vocab_sise" in [recipe]; did you mean "vocab_size"?',
    ]
    done = run("validate", "study.toml", "--json")
    assert done.returncode == 2
    found = json.loads(done.stdout)
    assert found["valid"] is False
    assert [(mistake["file"], mistake["line"]) for mistake in found["mistakes"]] == [
        ("study.toml", 10),
        ("study.toml", 12),
    ]


def test_no_study(run: Run) -> None:
    done = run("validate", "no-such.toml")
    assert done.returncode == 1
    assert "no-such.toml: cannot read the study file" in done.stderr


@pytest.mark.parametrize("command", ["init", "validate"])
def test_help_imports_nothing_heavy(run: Run, command: str) -> None:
    done = run(command, "--help")
    assert "Examples:" in done.stdout
    assert f"piecework {command}" in done.stdout
    program = [sys.executable, "-X", "importtime", "-m", "piecework", command, "--help"]
    timed = subprocess.run(program, capture_output=True, check=True, env=environment(), encoding="utf-8")
    imported = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in timed.stderr.splitlines()}
    assert imported.isdisjoint({"pyarrow", "pydantic", "rich", "orjson", "zstandard", "google", "numpy"})
