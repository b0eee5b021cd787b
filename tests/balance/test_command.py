"""`piecework balance` from a study file and from counts."""

import json
import subprocess
import tomllib
from pathlib import Path

import pytest

from balance.corpora import parallel, write_corpus
from cli.command import COMMAND, environment
from piecework.counting.local import count
from piecework.study.study import Study


def run(*arguments: object, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, "balance", *map(str, arguments)], cwd=cwd, capture_output=True, text=True, env=environment()
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A counted study with parallel text, in its default output folder."""
    folder = tmp_path_factory.mktemp("command")
    study = write_corpus(folder, {"aa": 700, "cc": 200})
    for language, lines in parallel("aa cc").items():
        (folder / f"par_{language}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    count(Study.load(study), out=folder / "out/made-up")
    return folder


def test_from_a_study_file(folder: Path) -> None:
    done = run("study.toml", "--parallel", "par_{language}.txt", "--pivot", "aa", "--out", "balanced", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Most expensive above cheapest language" in done.stdout
    assert "[weights]" in done.stdout and "language = {" in done.stdout
    assert done.stderr.splitlines()[-1] == "next: piecework inspect balanced"
    names = {path.name for path in (folder / "balanced").iterdir()}
    assert {"tokenizer.model", "weights.toml", "balance.json", "frontier.csv"} <= names
    again = run("study.toml", "--out", "balanced", cwd=folder)
    assert again.returncode == 1 and "--force" in again.stderr


def test_from_counts_as_json(folder: Path) -> None:
    done = run("out/made-up", "--recipe", "plain", "--vocab-size", "1200", "--json", "--budget", "5s", cwd=folder)
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert content["metric"] == "word_fertility" and content["vocab_size"] == 1200
    assert "tokenizer is not saved" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere"], 1, "no counts in this folder"),
        (["out/made-up", "--target", "cc"], 2, "write targets as is=1.10,code=1"),
        (["out/made-up", "--budget", "soon"], 2, "no time such as 90s or 2min"),
        (["out/made-up", "--limit", "1.1", "--goal", "equal", "--recipe", "plain"], 1, 'for goal "at-most"'),
        (["out/made-up", "--metric", "premium"], 1, "needs parallel text"),
        (["out/made-up", "--metric", "fertilty"], 1, 'did you mean "fertility"'),
    ],
)
def test_refusals(folder: Path, arguments: list[str], code: int, message: str) -> None:
    done = run(*arguments, cwd=folder)
    assert done.returncode == code
    assert message in done.stderr and "Traceback" not in done.stderr


def test_the_weights_to_copy_are_whole(folder: Path) -> None:
    """A line wider than the terminal is not cut."""
    done = subprocess.run(
        [*COMMAND, "balance", "out/made-up", "--recipe", "plain", "--vocab-size", "1200", "--budget", "2s"],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment() | {"COLUMNS": "24"},
    )
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("language = "))
    assert set(tomllib.loads(line)["language"]) == {"aa", "cc"}
