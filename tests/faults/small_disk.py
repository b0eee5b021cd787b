"""A run on a disk that is too small. Each time the disk is full, it is made larger, until the run finishes."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

# A mount namespace for the run alone: any user may mount there, and the mount ends with the namespace.
NAMESPACE = ["unshare", "--mount", "--map-root-user"]

PROGRAM = """
import json, subprocess, sys
from importlib import import_module
from pathlib import Path
from piecework.errors import InputError
from piecework.study.study import Study

study, disk, module, function, options, size_kb, step_kb = sys.argv[1:]
study, disk, options, size_kb = Study.load(study), Path(disk), json.loads(options), int(size_kb)
out, errors, left = disk / "out", [], []
subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_kb}k", "tmpfs", disk], check=True)
while True:
    try:
        getattr(import_module(module), function)(study, out=out, threads=2, **options)
        break
    except InputError as error:
        errors.append(str(error))
        left += [path.relative_to(disk).as_posix() for path in disk.rglob("*")]
    size_kb += int(step_kb)
    subprocess.run(["mount", "-o", f"remount,size={size_kb}k", disk], check=True)
files = {path.relative_to(out).as_posix(): path.read_bytes().hex() for path in out.rglob("*") if path.is_file()}
print(json.dumps({"errors": errors, "left": left, "files": files}))
"""


@dataclass(frozen=True)
class Told:
    """The results: each error, every path that existed after an error, and the files at the end."""

    errors: list[str]
    left: list[str]
    files: dict[str, bytes]


def run_on_small_disk(
    study: Path, disk: Path, function: str, *, size_kb: int, step_kb: int, timeout_s: float, **options: object
) -> Told:
    """Run `module:function` on the study into `disk / "out"`; skips where nothing can be mounted, but not in CI."""
    disk.mkdir()
    try:
        tried = subprocess.run([*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", disk], capture_output=True, text=True)
        refused = tried.stderr if tried.returncode else ""
    except FileNotFoundError as error:
        refused = str(error)
    if refused:
        assert not os.environ.get("CI"), f"a small disk cannot be mounted here: {refused}"
        pytest.skip(f"a small disk cannot be mounted here: {refused.strip()}")
    arguments = [study, disk, *function.split(":"), json.dumps(options), size_kb, step_kb]
    command = [*NAMESPACE, sys.executable, "-c", PROGRAM, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    return Told(told["errors"], told["left"], {name: bytes.fromhex(content) for name, content in told["files"].items()})
