"""Standard streams that are closed, full, or a pipe without reader: the work is done, or the exit code is an error."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.command import COMMAND, environment

Shell = Callable[[str], "subprocess.CompletedProcess[str]"]

SMALL = "--recipe plain --vocab-size 200"


@pytest.fixture
def shell(tmp_path: Path, text_file: Path, model: Path) -> Shell:
    """Run a line of bash in which $P is the command, $T a text and $M a model."""

    def shell(line: str) -> "subprocess.CompletedProcess[str]":
        names = {"P": " ".join(COMMAND), "T": str(text_file), "M": str(model)}
        return subprocess.run(
            ["bash", "-c", f"set -o pipefail; {line}"],
            cwd=tmp_path,
            env=environment(**names),
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )

    return shell


@pytest.mark.parametrize(
    "streams",
    [
        "2>&1 | head -1",
        "2>&1 >/dev/null | true",
        "2>&1 | true",
        "--json | true",
        "2>&-",
        "2>/dev/full",
        ">&-",
        ">&- 2>&- <&-",
        "> /dev/full 2>&1",
    ],
)
def test_work_is_done_although_nobody_reads(shell: Shell, tmp_path: Path, streams: str) -> None:
    done = shell(f'$P train "$T" --out out {SMALL} {streams}')
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert {"tokenizer.json", "tokenizer.model"} <= {path.name for path in (tmp_path / "out").iterdir()}


@pytest.mark.parametrize(
    "command", ['inspect "$M"', 'inspect "$M" --json', 'encode --model "$M" $T', "--help", "--version"]
)
@pytest.mark.parametrize(
    ("stream", "reason"), [(">/dev/full", "No space left on device"), (">&-", "it is closed")], ids=["full", "closed"]
)
def test_data_that_cannot_be_written_is_an_error(shell: Shell, command: str, stream: str, reason: str) -> None:
    done = shell(f"$P {command} {stream}")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"error: cannot write to stdout: {reason}"
    assert "Traceback" not in done.stderr


def test_the_exit_code_does_not_depend_on_the_reader(shell: Shell, tmp_path: Path) -> None:
    """A check that fails also fails if the reader of its output has gone."""
    (tmp_path / "study.toml").write_text('[corpus]\npath = "{language}.txt"\n[recipe]\nvocab_sise = 1\n')
    assert shell("$P validate study.toml --json | true").returncode == 2
    assert shell("$P inspect no-such 2>/dev/full").returncode == 1
    assert shell("$P no-such-command 2>/dev/full").returncode == 2
    assert shell("$P no-such-command 2>&-").returncode == 2


def test_endless_input_ends_with_its_reader(shell: Shell) -> None:
    done = shell("set +o pipefail; yes 'för' | timeout 60 $P encode --model \"$M\" | head -1; echo ${PIPESTATUS[1]}")
    assert done.stdout.splitlines() == ["▁för", "0"], done.stderr


def test_a_closed_stdin(shell: Shell) -> None:
    done = shell('$P encode --model "$M" <&-')
    assert (done.returncode, done.stderr) == (1, "error: stdin is closed; name a FILE\n")


def test_closed_streams_are_not_taken_by_files(shell: Shell, tmp_path: Path) -> None:
    """Otherwise the first opened file would get the number of stderr, and messages would be written into it."""
    assert shell(f'$P train "$T" --out out {SMALL} -v >&- 2>&- <&-').returncode == 0
    assert shell("$P inspect out").returncode == 0
    assert b"peak memory" not in (tmp_path / "out/tokenizer.vocab").read_bytes()
