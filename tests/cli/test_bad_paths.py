"""Paths that cannot be used, and limits that are too low: each is an error of one line."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from cli.command import COMMAND, Run, environment

SMALL = ("--recipe", "plain", "--vocab-size", 200)
NOT_UTF8 = os.fsdecode(b"bad\xff")
STUDY = """\
[corpus]
path = "{language}.txt"
documents = "line"
[sampling]
train = "60%"
eval = "40%"
[recipe]
preset = "plain"
vocab_size = 200
"""


@pytest.fixture
def study(tmp_path: Path, text_file: Path) -> Path:
    (tmp_path / "sv.txt").write_bytes(text_file.read_bytes())
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def test_a_folder_that_is_not_utf8(run: Run, tmp_path: Path, text_file: Path) -> None:
    """Tokenizers can be written there and read; JSON shows the name with an escape."""
    assert run("train", text_file, "--out", NOT_UTF8, *SMALL).returncode == 0
    for command in (
        ["inspect", NOT_UTF8, "--json"],
        ["export", NOT_UTF8, "--to", "hf", "--out", f"{NOT_UTF8}/hf", "--json"],
        ["edit", NOT_UTF8, "--reserve", 2, "--out", f"{NOT_UTF8}/edited", "--json"],
        ["evaluate", NOT_UTF8, "--data", text_file, "--json"],
        ["compare", NOT_UTF8, f"{NOT_UTF8}/edited", "--data", text_file, "--json"],
        ["encode", "--compare", "--json", NOT_UTF8, f"{NOT_UTF8}/edited", "text"],
    ):
        done = run(*command)
        assert done.returncode == 0, done.stderr
        assert "bad\\udcff" in json.dumps(json.loads(done.stdout)).replace("\\\\", "\\")
    (tmp_path / NOT_UTF8 / "a.txt").write_bytes(text_file.read_bytes())
    assert run("train", NOT_UTF8, "--out", "out", "--json", *SMALL).returncode == 0


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize("command", ["count", "run"])
def test_results_in_a_folder_that_is_not_utf8(run: Run, tmp_path: Path, command: str) -> None:
    done = run(command, "study.toml", "--out", NOT_UTF8)
    assert done.returncode == 2
    assert "the path is not valid UTF-8; choose another one" in done.stderr
    assert not (tmp_path / NOT_UTF8).exists()


def test_a_study_in_a_folder_that_is_not_utf8(run: Run, study: Path) -> None:
    (study.parent / NOT_UTF8).mkdir()
    for name in ("study.toml", "sv.txt"):
        (study.parent / name).rename(study.parent / NOT_UTF8 / name)
    done = run("run", f"{NOT_UTF8}/study.toml", "--out", "out")
    assert done.returncode == 1
    assert "is not valid UTF-8; rename the file or folder" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "", "--out", "out"], "the path is empty"),
        (["train", "TEXT", "--out", "s3://bucket/out"], "this command writes to local folders only"),
        (["export", "MODEL", "--to", "hf", "--out", "s3://bucket/out"], "this command writes to local folders only"),
        (["edit", "MODEL", "--reserve", "1", "--out", "s3://bucket/out"], "this command writes to local folders only"),
        (["run", "study.toml", "--out", "s3://bucket/out"], "this command writes to local folders only"),
        (["train", "http://host/x", "--out", "out"], "cannot read http://"),
    ],
)
@pytest.mark.usefixtures("study")
def test_paths_that_are_refused(
    run: Run, tmp_path: Path, text_file: Path, model: Path, arguments: list[str], message: str
) -> None:
    replaced = {"TEXT": text_file, "MODEL": model}
    done = run(*(replaced.get(argument, argument) for argument in arguments))
    assert done.returncode == 2
    assert message in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["study.toml", "sv.txt"]


def test_file_uris(run: Run, tmp_path: Path, text_file: Path) -> None:
    done = run("train", f"file://{text_file}", "--out", f"file://{tmp_path}/out", *SMALL)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/tokenizer.model").is_file()
    (tmp_path / "sv.txt").write_bytes(text_file.read_bytes())
    (tmp_path / "study.toml").write_text(STUDY.replace("{language}", f"file://{tmp_path}/{{language}}"))
    done = run("validate", "study.toml")
    assert done.returncode == 2
    assert "write the path of a local file without file://" in done.stderr


@pytest.mark.parametrize(
    "pattern", ["[!z-a]/{language}.txt", "[z-a]/{language}.txt", "[]/{language}", "**/{language}/[!z-a]"]
)
def test_patterns_that_are_not_valid(run: Run, tmp_path: Path, pattern: str) -> None:
    (tmp_path / "study.toml").write_text(STUDY.replace("{language}.txt", pattern))
    done = run("validate", "study.toml")
    assert done.returncode == 2
    assert "not a valid pattern" in done.stderr
    assert run("train", pattern, "--out", "out").returncode == 1


def test_a_number_that_the_core_cannot_hold(run: Run, tmp_path: Path, study: Path) -> None:
    study.write_text(STUDY + "minimum_frequency = 9223372036854775808\n")
    done = run("count", "study.toml", "--out", "out")
    assert done.returncode == 2
    assert "study.toml:10: minimum_frequency = 9223372036854775808" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize(
    ("limit", "reason"), [("-n 10", "Too many open files; raise the limit"), ("-f 3", "File too large")]
)
def test_low_limits(tmp_path: Path, limit: str, reason: str) -> None:
    line = f"ulimit {limit}; {' '.join(COMMAND)} run study.toml --out out 2>&1 | cat; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert reason in done.stdout.splitlines()[-1]
    assert "Traceback" not in done.stdout
