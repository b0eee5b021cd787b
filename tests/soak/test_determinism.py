"""The same study gives the same files in processes with different settings."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.studies import contents, write_study

SURROUNDINGS = {
    "hash seed": ({"PYTHONHASHSEED": "12345"}, []),
    "another hash seed, C locale": ({"PYTHONHASHSEED": "7", "LC_ALL": "C", "PYTHONUTF8": "0"}, []),
    "time zone": ({"TZ": "Pacific/Kiritimati"}, []),
    "one thread": ({}, ["--threads", "1"]),
    "eight threads": ({}, ["--threads", "8"]),
    "little memory": ({}, ["--memory", "300MB"]),
    "optimised Python": ({"PYTHONOPTIMIZE": "2"}, []),
    "narrow terminal": ({"COLUMNS": "20", "TERM": "dumb", "NO_COLOR": "1"}, []),
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def expected(study: Path) -> dict[str, bytes]:
    return run(study, study.parent / "expected", {"PYTHONHASHSEED": "0"}, [])


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_the_same_files(study: Path, expected: dict[str, bytes], name: str) -> None:
    environment, options = SURROUNDINGS[name]
    found = run(study, study.parent / name, environment, options)
    assert found.keys() == expected.keys()
    assert [path for path in expected if found[path] != expected[path]] == []


def run(study: Path, out: Path, environment: dict[str, str], options: list[str]) -> dict[str, bytes]:
    command = [sys.executable, "-m", "piecework", "run", str(study), "--out", str(out), "-q", "--latex", *options]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return contents(out)
