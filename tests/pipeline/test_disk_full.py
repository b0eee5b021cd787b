"""A disk that is full in the midst of a study: a clear error, nothing left over, and on it goes when there is room."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from faults.test_disk_full import NAMESPACE
from pipeline.studies import contents

PROGRAM = """
import json, subprocess, sys
from pathlib import Path
from piecework.errors import InputError
from piecework.pipeline.run import run
from piecework.study import Study

study, disk = Study.load(sys.argv[1]), Path(sys.argv[2])
size_kb, errors, leftovers = 300, [], []
subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_kb}k", "tmpfs", disk], check=True)
while True:
    try:
        run(study, out=disk / "out", threads=2)
        break
    except InputError as error:
        errors.append(str(error))
        leftovers += [str(path) for path in disk.rglob("*.tmp")]
    size_kb += 500
    subprocess.run(["mount", "-o", f"remount,size={size_kb}k", disk], check=True)
out = disk / "out"
files = {path.relative_to(out).as_posix(): path.read_bytes().hex() for path in out.rglob("*") if path.is_file()}
print(json.dumps({"errors": errors, "leftovers": leftovers, "files": files}))
"""


def test_a_full_disk(study: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        tried = subprocess.run([*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", disk], capture_output=True, text=True)
        refused = tried.stderr if tried.returncode else ""
    except FileNotFoundError as error:
        refused = str(error)
    if refused:
        assert not os.environ.get("CI"), f"a small disk cannot be mounted here: {refused}"
        pytest.skip(f"a small disk cannot be mounted here: {refused.strip()}")
    command = [*NAMESPACE, sys.executable, "-c", PROGRAM, str(study), str(disk)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["errors"]
    assert all("no space left on the disk; make room and run the command again" in error for error in told["errors"])
    assert told["leftovers"] == []
    # The resolved study names its corpus from where it lies, which is another place here; and the report shows it.
    without = ("run.json", "study.toml", "report.html")
    found = {name: bytes.fromhex(data) for name, data in told["files"].items() if name not in without}
    assert found == contents(study.parent / "out", without=without)
