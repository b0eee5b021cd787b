"""If something is missing, the error is one sentence and comes soon. No file is half-written."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.command import COMMAND, environment
from cluster.spark import descendants, java
from counting.corpora import made_up_corpus, write_corpus
from faults.runs import is_running, wait_until
from piecework.counting.spark_cluster import Cluster, connect, explain
from piecework.errors import InputError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    write_corpus(folder / "data", made_up_corpus(10))
    (folder / "study.toml").write_text('name = "few"\n[corpus]\npath = "data/{category}_{language}-*"\n')
    return folder


def run(folder: Path, *arguments: object, **changes: str) -> "subprocess.CompletedProcess[str]":
    command = [*COMMAND, "count", "study.toml", "--engine", "spark", *map(str, arguments)]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, encoding="utf-8", env={**environment(), **changes}, timeout=120
    )
    assert "Traceback" not in done.stderr
    assert not list(folder.glob("out/**/*.parquet"))
    assert not list(folder.glob("out/**/*.tmp"))
    assert not list(folder.glob("out/**/counts.json"))
    return done


def test_no_java(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "python").symlink_to(sys.executable)
    done = run(folder, PATH=str(tmp_path), JAVA_HOME="")
    assert done.returncode == 1
    assert "Spark needs Java, and there is none on this machine; install Java 17 or newer" in done.stderr
    done = run(folder, JAVA_HOME=str(tmp_path))
    assert f"{tmp_path}/bin/java (JAVA_HOME) does not run" in done.stderr
    old = tmp_path / "old" / "bin" / "java"
    old.parent.mkdir(parents=True)
    old.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_292\"' >&2\n")
    old.chmod(0o755)
    done = run(folder, JAVA_HOME=str(tmp_path / "old"))
    assert f"Spark needs Java 17 or newer, and {old} is 8;" in done.stderr


def test_no_pyspark(folder: Path, tmp_path: Path) -> None:
    """The import finds nothing, as if the extra is not installed."""
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.machinery as machinery\n"
        "found = machinery.PathFinder.find_spec\n"
        "machinery.PathFinder.find_spec = classmethod(\n"
        "    lambda cls, name, path=None, target=None:\n"
        "        None if name.split('.')[0] == 'pyspark' else found(name, path, target))\n"
    )
    done = run(folder, PYTHONPATH=os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]))
    assert done.returncode == 1
    assert "counting on Spark needs pyspark: pip install 'piecework[cluster]'" in done.stderr


def test_masters_that_do_not_answer(folder: Path) -> None:
    java()
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nobody = f"spark://127.0.0.1:{unused.getsockname()[1]}"
        done = run(folder, "--master", nobody)
        assert done.returncode == 1
        assert f"no answer from the master {nobody}" in done.stderr
        assert "Connection refused" in done.stderr
    for master, message in (
        ("http://127.0.0.1", "not a URL that Spark knows; write spark://HOST:7077"),
        ("spark://somewhere", "has no port; the usual one is spark://somewhere:7077"),
    ):
        done = run(folder, "--master", master)
        assert done.returncode == 1
        assert message in done.stderr


def test_a_master_that_says_nothing() -> None:
    """A server accepts the connection and never answers. Spark alone would try for a minute."""
    java()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        master = f"spark://127.0.0.1:{silent.getsockname()[1]}"
        quick = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
        started = time.monotonic()
        with (
            pytest.raises(InputError, match=rf"no answer from the master {master} in 2 s: something listens there"),
            connect(Cluster(master, quick, patience_s=2.0), name="silent"),
        ):
            pass
        assert time.monotonic() - started < 60


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_ctrl_c(folder: Path) -> None:
    java()
    command = [*COMMAND, "count", "study.toml", "--engine", "spark", "--master", "local[1]", "--out", "interrupted"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True
    ) as process:
        # Spark is started by a script, which becomes Java.
        wait_until(lambda: any(b"java" in command_line(pid) for pid in descendants(process.pid)))
        started = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    wait_until(lambda: not any(is_running(pid) for pid in started), seconds=60)
    assert stderr.strip().endswith("error: interrupted")
    assert "Traceback" not in stderr
    assert not list((folder / "interrupted").rglob("*.*"))


def test_usage(folder: Path) -> None:
    def usage(*arguments: str) -> str:
        done = subprocess.run(
            [*COMMAND, "count", "study.toml", *arguments],
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            env=environment(),
        )
        assert done.returncode == 2
        return done.stderr

    assert "--master needs --engine spark" in usage("--master", "local[1]")
    assert '"--conf memory=4g": write it as spark.executor.memory=4g' in usage(
        "--engine", "spark", "--conf", "memory=4g"
    )
    assert "cannot read https://" in usage("--out", "https://example.org/out")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x\npiecework.errors.InputError: a.zst: not a valid .zst file\n at java", "a.zst: not a valid .zst file"),
        ("piecework.errors.InputError: /a: cannot read: No such file or directory", "every machine has to see"),
        ("ImportError: PIECEWORK-WORKER: node7 cannot load the package (x)", "node7 cannot load the package"),
        ("[PYTHON_VERSION_MISMATCH] ...", f"than this one, {sys.version_info[0]}.{sys.version_info[1]}"),
        ('java.io.IOException: Cannot run program "python3.12": error=2', "a worker has no python3.12"),
        ("java.io.IOException: No space left on device", "set spark.local.dir"),
        ("java.lang.OutOfMemoryError: Java heap space", "spark.executor.memory"),
    ],
)
def test_spark_explained(text: str, message: str) -> None:
    assert message in (explain(text) or "")


def test_python_of_the_workers(folder: Path, tmp_path: Path) -> None:
    """A worker without pyarrow. The driver cannot send it pyarrow."""
    java()
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    conf = ["--conf", "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1"]
    done = run(folder, "--master", "local[1]", *conf, PYSPARK_PYTHON=str(python))
    assert done.returncode == 1
    assert "a worker has no Python package" in done.stderr
    assert "on every worker: pip install" in done.stderr
