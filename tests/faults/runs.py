"""Runs of `piecework.count` in processes of their own, to be killed or to run out of something."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

STUDY = """
name = "test"
[corpus]
path = "{category}_{language}-*"
[sampling]
train = "40%"
eval = "15%"
"""

PROGRAM = """
import json, sys
from piecework.counting.local import count
from piecework.study.study import Study
if __name__ == "__main__":
    count(Study.load(sys.argv[1]), out=sys.argv[2], **json.loads(sys.argv[3]))
"""


def start(study: Path, out: Path, **options: object) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", PROGRAM, str(study), str(out), json.dumps(options)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def workers(pid: int) -> list[int]:
    """The processes that count for `pid`, and that still run."""
    return [worker for server in servers(pid) for worker in servers(server)]


def servers(pid: int) -> list[int]:
    """The processes that start the workers of `pid`, and that still run. Other tests may have other children."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            serves = b"piecework.counting.worker_process" in path.with_name("cmdline").read_bytes()
        except OSError:
            continue
        if int(parent) == pid and state != "Z" and serves:
            found.append(int(path.parent.name))
    return found


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def cpu_seconds(pid: int) -> float:
    """The processor time that a process has used. On a busy machine it is more reliable than wall time."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until(condition: Callable[[], bool], *, seconds: float = 120.0) -> None:
    """Wait for a condition. The limit is so high that it ends only a test that would wait for ever."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)
