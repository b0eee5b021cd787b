"""What all commands have in common: help, exit codes, interrupts, terminals, and a quick start."""

import os
import signal
import subprocess
import sys
import termios
from array import array
from binascii import hexlify
from fcntl import ioctl
from pathlib import Path
from typing import BinaryIO

import click
import pytest

from cli.command import COMMAND, Run, environment, on_a_terminal
from faults.runs import cpu_seconds, wait_until
from piecework.cli import COMMANDS, group


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(run: Run, command: str) -> None:
    done = run(command, "--help")
    assert done.returncode == 0
    assert "Examples:" in done.stdout
    assert f"piecework {command}" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_the_main_help_says_what_the_command_says(command: str) -> None:
    found = group.get_command(click.Context(group), command)
    assert found is not None and found.get_short_help_str(200) == COMMANDS[command]


def test_help_and_version(run: Run) -> None:
    done = run("--help")
    assert done.returncode == 0
    for expected in (*COMMANDS, "130 interrupted"):
        assert expected in done.stdout
    assert run("--version").stdout.startswith("piecework ")


def test_an_unknown_command(run: Run) -> None:
    done = run("trian")
    assert done.returncode == 2
    assert 'no such command "trian"; did you mean "train"?' in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_help_imports_nothing_heavy(command: str) -> None:
    program = [sys.executable, "-X", "importtime", "-m", "piecework", command, "--help"]
    done = subprocess.run(program, capture_output=True, check=True, env=environment(), encoding="utf-8")
    imported = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert "click" in imported
    assert imported.isdisjoint({"pyarrow", "pydantic", "rich", "orjson", "zstandard", "google", "numpy"})


@pytest.fixture
def much_text(tmp_path: Path) -> Path:
    """A million distinct words, which take a few seconds to train on."""
    letters = bytes.maketrans(b"0123456789", b"ghijklmnop")
    path = tmp_path / "much.txt"
    with path.open("wb") as file:
        for _ in range(100):
            file.write(hexlify(os.urandom(50_000), b" ", 5).translate(letters) + b"\n")
    return path


def unread_bytes(pipe: BinaryIO) -> int:
    waiting = array("i", [0])
    ioctl(pipe.fileno(), termios.FIONREAD, waiting)
    return waiting[0]


def assert_interrupted(process: "subprocess.Popen[str]", folder: Path) -> None:
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 130, stderr
    assert "interrupted" in stderr
    assert "Traceback" not in stderr
    assert not (folder / "out").exists()
    assert not list(folder.rglob("*.tmp"))


def test_ctrl_c_while_merging(tmp_path: Path, much_text: Path) -> None:
    command = [*COMMAND, "train", str(much_text), "--out", "out"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=environment(), text=True
    ) as process:
        assert process.stderr
        assert "counted" in process.stderr.readline()
        counting_s = cpu_seconds(process.pid)
        wait_until(lambda: cpu_seconds(process.pid) > counting_s + 0.2)
        assert_interrupted(process, tmp_path)


def test_ctrl_c_while_reading(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    command = [*COMMAND, "train", "pipe", "--out", "out"]
    with (
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=environment(),
            text=True,
        ) as process,
        (tmp_path / "pipe").open("wb") as pipe,
    ):
        pipe.write(b"some text\n" * 100_000)
        pipe.flush()
        wait_until(lambda: not unread_bytes(pipe))
        assert_interrupted(process, tmp_path)


def test_ctrl_c_while_waiting_for_a_line(model: Path, tmp_path: Path) -> None:
    command = [*COMMAND, "encode", "--model", str(model)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(),
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("för\n")
        process.stdin.flush()
        assert process.stdout.readline()
        assert_interrupted(process, tmp_path)


def test_bars_and_colours_on_a_terminal(tmp_path: Path, text_file: Path) -> None:
    written = on_a_terminal("train", text_file, "--out", "a", "--vocab-size", 512, stream="stderr", cwd=tmp_path)
    assert "counting" in written
    assert "merging" in written
    assert "\x1b[" in written
    assert "next: " in written
    quiet = on_a_terminal("train", text_file, "--out", "b", "--vocab-size", 512, "-q", stream="stderr", cwd=tmp_path)
    assert quiet == ""
    assert "\x1b[31m" in on_a_terminal("inspect", "no-such", stream="stderr", cwd=tmp_path)


def test_no_color(tmp_path: Path, text_file: Path) -> None:
    assert on_a_terminal("inspect", "no-such", stream="stderr", cwd=tmp_path, NO_COLOR="1").startswith("error: ")
    written = on_a_terminal(
        "train", text_file, "--out", "a", "--vocab-size", 512, stream="stderr", cwd=tmp_path, NO_COLOR="1"
    )
    assert "\x1b[3" not in written


def test_output_is_utf8_in_any_locale(run: Run, model: Path) -> None:
    done = run("encode", "--model", model, stdin="för\n", LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "▁för" in done.stdout
    assert run("inspect", model, PYTHONIOENCODING="ascii").returncode == 0
