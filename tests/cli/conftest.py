"""Fixtures of the tests of the command line: running it, a text, and a model."""

import subprocess
from pathlib import Path

import pytest

from cli.command import COMMAND, Run, environment, made_up_lines


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `piecework` with arguments in an empty folder."""

    def run(*arguments: object, stdin: str = "", **changes: str) -> "subprocess.CompletedProcess[str]":
        # As bytes: text mode would turn "\r\n" into "\n".
        done = subprocess.run(
            [*COMMAND, *map(str, arguments)],
            input=stdin.encode(),
            capture_output=True,
            cwd=tmp_path,
            env=environment(**changes),
            timeout=120,
            check=False,
        )
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture(scope="session")
def text_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "lines.txt"
    path.write_text("\n".join(made_up_lines()) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory, text_file: Path) -> Path:
    """A tokenizer of the gpt-sw3 recipe, as `piecework train` leaves it."""
    out = tmp_path_factory.mktemp("model") / "made up"
    arguments = ["train", str(text_file), "--out", str(out), "--vocab-size", "512"]
    subprocess.run([*COMMAND, *arguments], check=True, capture_output=True, env=environment(), timeout=120)
    return out / "tokenizer.model"
