"""A disk that is full: a clear error, nothing corrupt, and the run goes on when there is room."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from counting.corpora import RESULTS, made_up_corpus, make_study, result_bytes, write_corpus
from faults.runs import STUDY
from piecework.counting.local import count

# In a mount namespace of its own, where any user may mount, and which takes the mount with it when it ends.
NAMESPACE = ["unshare", "--mount", "--map-root-user"]

# Gives the disk more room each time that it was full, and says how often and what was told.
PROGRAM = """
import json, subprocess, sys
from pathlib import Path
from piecework.counting.local import count
from piecework.errors import InputError
from piecework.study import Study

study, disk = Study.load(sys.argv[1]), Path(sys.argv[2])
size_kb, errors, leftovers = 16, [], []
subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_kb}k", "tmpfs", disk], check=True)
while True:
    try:
        count(study, out=disk / "out", threads=2, shard_bytes=30_000)
        break
    except InputError as error:
        errors.append(str(error))
        leftovers += [str(path) for path in disk.rglob("*") if "unfinished" in path.name or path.suffix == ".tmp"]
        leftovers += [str(path) for path in disk.rglob("counts.json")]
    size_kb += 96
    subprocess.run(["mount", "-o", f"remount,size={size_kb}k", disk], check=True)
results = {path.name: path.read_bytes().hex() for path in (disk / "out" / "counts").iterdir()}
print(json.dumps({"errors": errors, "leftovers": leftovers, "results": results, "size_kb": size_kb}))
"""


def test_a_full_disk(tmp_path: Path) -> None:
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
    write_corpus(tmp_path, made_up_corpus(600), suffix=".jsonl.zst", files=3)
    (tmp_path / "study.toml").write_text(STUDY)
    command = [*NAMESPACE, sys.executable, "-c", PROGRAM, str(tmp_path / "study.toml"), str(disk)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert len(told["errors"]) >= 3
    for error in told["errors"]:
        assert "no space left on the disk" in error
        assert "make room and run the command again" in error
    where = {error.partition(":")[0].removeprefix(f"{disk}/out/") for error in told["errors"]}
    assert "counts/.partial" in where
    assert any(name.endswith(".parquet") for name in where), "never full while merging"
    assert not told["leftovers"]
    count(make_study(tmp_path), out=tmp_path / "expected")
    expected = result_bytes(tmp_path / "expected", (*RESULTS, "counts.json"))
    assert told["results"] == {name: data.hex() for name, data in expected.items()}
