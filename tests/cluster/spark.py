"""A real Spark cluster on loopback: a master and workers in their own processes, on ports that the system chooses."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

START_S = 90.0

# By default Java compiles for a long run. In a short run, this takes most of the time.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"

SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": QUICK_JAVA,
    "spark.driver.extraJavaOptions": QUICK_JAVA,
}


def java() -> str:
    """The path of Java. Without Java the test is skipped; in CI the test fails."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    if found is None:
        import pytest

        message = "the tests on a cluster need Java 17 or newer: sudo apt-get install openjdk-17-jre-headless"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return found


@dataclass
class SparkCluster:
    """The processes of a cluster."""

    master: str
    folder: Path
    workers: "list[subprocess.Popen[bytes]]" = field(default_factory=list)

    def start_worker(self) -> None:
        number = len(self.workers)
        work = self.folder / f"work-{number}"
        work.mkdir()
        log = self.folder / f"worker-{number}.log"
        options = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0", "--cores", "1", "--memory", "700m"]
        self.workers.append(
            _start("worker.Worker", [*options, "--work-dir", str(work), self.master], log, work=self.folder)
        )
        _wait(lambda: "Successfully registered with master" in log.read_text(), log)

    def kill_worker(self, pid: int) -> None:
        """Kills the worker of this process with SIGKILL, and all processes that the worker has started."""
        worker = next(worker for worker in self.workers if pid in descendants(worker.pid))
        for process in [worker.pid, *descendants(worker.pid)]:
            kill(process)
        worker.wait()

    def python_reading(self, name: str) -> int | None:
        """The id of a task's Python process that has a file of this name open."""
        for worker in self.workers:
            if worker.poll() is None:
                for pid in descendants(worker.pid):
                    if any(Path(target).name == name for target in open_files(pid)):
                        return pid
        return None


@contextmanager
def running_cluster(folder: Path, *, workers: int = 2) -> Iterator[SparkCluster]:
    java()
    log = folder / "master.log"
    master = _start("master.Master", ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"], log, work=folder)
    cluster = SparkCluster("", folder)
    try:
        _wait(lambda: _master_url(log) is not None, log)
        cluster.master = str(_master_url(log))
        for _ in range(workers):
            cluster.start_worker()
        yield cluster
    finally:
        for process in [*cluster.workers, master]:
            for pid in descendants(process.pid):
                kill(pid)
            process.kill()
            process.wait()


def _master_url(log: Path) -> str | None:
    found = re.search(r"Starting Spark master at (spark://[\w.]+:\d+)", log.read_text())
    # The requested port is 0. The line about the started service has the port that was assigned.
    started = re.search(r"Successfully started service 'sparkMaster' on port (\d+)", log.read_text())
    if started is None:
        return found[1] if found and not found[1].endswith(":0") else None
    return f"spark://127.0.0.1:{started[1]}"


def _start(name: str, arguments: list[str], log: Path, *, work: Path) -> "subprocess.Popen[bytes]":
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_", "AWS_"))},
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_JAVA_OPTS": f"{QUICK_JAVA} -Dspark.master.rest.enabled=false",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_DIRS": str(work / "local"),
        "SPARK_NO_DAEMONIZE": "1",
        "PYTHON": sys.executable,
    }
    conf = work / "conf"
    conf.mkdir(exist_ok=True)
    (conf / "log4j2.properties").write_text(
        "rootLogger.level = info\nrootLogger.appenderRef.stdout.ref = console\nappender.console.type = Console\n"
        "appender.console.name = console\nappender.console.target = SYSTEM_ERR\n"
        "appender.console.layout.type = PatternLayout\nappender.console.layout.pattern = %p %c{1}: %m%n\n"
    )
    environment["SPARK_CONF_DIR"] = str(conf)
    with log.open("wb") as file:
        return subprocess.Popen(
            [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments],
            stdout=file,
            stderr=file,
            env=environment,
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )


def _end_with_parent() -> None:
    """Let no part of a cluster outlive tests that are killed."""
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _wait(condition: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while not condition():
        assert time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.05)


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    """All processes below this one."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def open_files(pid: int) -> list[str]:
    found = []
    for path in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            found.append(str(path.readlink()))
        except OSError:
            continue
    return found
