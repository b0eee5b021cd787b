"""A run that is killed at any moment, or stopped by Ctrl-C: the next run resumes, and ends with the same files."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

from cli.command import COMMAND, environment
from pipeline.studies import contents, write_study

KILLS = 6


def start(study: Path, out: Path) -> "subprocess.Popen[str]":
    command = [*COMMAND, "run", str(study), "--out", str(out), "--threads", "2", "-q"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True)


def file_count(folder: Path) -> int:
    """The number of files. Folders may disappear while they are read."""
    return sum(len(files) for _, _, files in os.walk(folder))


def test_killed_at_random_moments(run_once: Path, tmp_path: Path) -> None:
    study, out = write_study(tmp_path), tmp_path / "out"
    # inputs.json has the times at which the files of the corpus were written.
    without = ("run.json", "inputs.json", ".lock")
    expected = contents(run_once / "out", without=without)
    generator = random.Random(5)
    killed = 0
    for files in sorted(generator.sample(range(len(expected) - 1), KILLS)):
        process = start(study, out)
        # The moment depends on the number of files, plus a short wait: a busy machine may need long to get there.
        while process.poll() is None and file_count(out) < files:
            time.sleep(0.005)
        time.sleep(generator.uniform(0, 0.3))
        process.send_signal(signal.SIGKILL)  # nothing happens if the last files took less time than the wait
        _, stderr = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), stderr
        killed += process.returncode != 0
    assert killed > KILLS // 2
    with start(study, out) as process:
        _, stderr = process.communicate()
    assert process.returncode == 0, stderr
    assert contents(out, without=without) == expected
    assert not list(out.rglob(".*"))


def test_ctrl_c(tmp_path: Path) -> None:
    study = write_study(tmp_path)
    with subprocess.Popen(
        [*COMMAND, "run", str(study), "--out", str(tmp_path / "out"), "-v"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    ) as process:
        assert process.stderr
        for line in process.stderr:
            if line.strip() == "training":
                break
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    if process.returncode == 0:  # it ended before the signal arrived
        return
    assert process.returncode == 130, stderr
    assert "stopped; the same command resumes the run" in stderr
    assert "Traceback" not in stderr
    assert not list(tmp_path.rglob("*.tmp"))
    assert not (tmp_path / "out" / ".lock").exists()
