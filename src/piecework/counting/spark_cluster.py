"""Connects to a Spark cluster, or says what is missing."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from piecework.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Cluster", "check_pyspark", "connect", "explain", "text_of"]

OLDEST_JAVA = 17
# Java only hands out tasks and carries their results. By default it compiles as for days of work. For 100 MB this took
# about 0.8 of 3 CPU s, as long as the tasks.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# Spark itself tries three times for 20 s before it gives up.
PATIENCE_S = 30.0
CONNECT_S = 5.0
LOG_LINES = 3


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where to count: the URL of a master, and Spark's own settings.

    If no master is given, Spark's own settings name it (spark-submit, conf/spark-defaults.conf); else it is this
    machine, `local[*]`.
    """

    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    patience_s: float = PATIENCE_S
    """How long to wait for a master to answer."""
    say: Callable[[str], None] = field(default=lambda _: None, compare=False)
    """Called with messages: that Spark starts, and how long it took."""


def check_pyspark() -> None:
    """Raise an InputError that says what to install where pyspark is missing."""
    if importlib.util.find_spec("pyspark") is None:
        raise InputError("counting on Spark needs pyspark: pip install 'piecework[cluster]'")


@contextmanager
def connect(cluster: Cluster, *, name: str, cores: int | None = None) -> Iterator[SparkSession]:
    """A session with its own settings. A Spark that already runs in this process is used, and left running."""
    check_pyspark()
    import pyspark
    from pyspark.sql import SparkSession

    with warnings.catch_warnings(), _quiet_py4j():
        warnings.simplefilter("ignore")  # pyspark about versions of pandas, which is not used
        active = SparkSession.getActiveSession()
        if active is not None:
            yield active.newSession()
            return
        if "PYSPARK_GATEWAY_PORT" not in os.environ:  # else spark-submit has started Java, and this program
            _check_java()
        if cluster.master:
            _check_master(cluster.master)
        cluster.say(f"starting Spark{f' on {cluster.master}' if cluster.master else ''}: usually 5 to 30 s")
        started = time.monotonic()
        conf = pyspark.SparkConf().setAll(list(_settings(cluster, name, cores).items()))
        with tempfile.TemporaryFile() as log:
            context = _start(cluster, conf, log)
            cluster.say(f"Spark has started in {time.monotonic() - started:.1f} s")
            try:
                yield SparkSession(context)
            finally:
                with suppress(Exception):  # a context that has failed may not stop either
                    context.stop()


@contextmanager
def _quiet_py4j() -> Iterator[None]:
    """Hides the log of py4j when its connection ends, for example by Ctrl-C. We report the error ourselves."""

    def is_another(record: logging.LogRecord) -> bool:
        return "py4j" not in record.pathname

    loggers = [logging.getLogger(name) for name in (None, "py4j", "py4j.clientserver", "py4j.java_gateway")]
    for logger in loggers:
        logger.addFilter(is_another)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_another)


def _settings(cluster: Cluster, name: str, cores: int | None) -> dict[str, str]:
    settings = {
        "spark.app.name": f"piecework count {name}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for name in ("spark.driver.defaultJavaOptions", "spark.executor.defaultJavaOptions"):
        if not _has_default(name):
            settings[name] = QUICK_JAVA
    master = cluster.master
    if master is None and not _has_default_master():
        master = f"local[{cores or '*'}]"
    if master:
        settings["spark.master"] = master
    if cores and not (master or "").startswith("local"):
        settings["spark.cores.max"] = str(cores)
    host = re.match(r"local\b|spark://(?:localhost|127\.|\[::1\])", master or "")
    if host:  # all of it is on this machine: nothing should listen on its network, and the Python is this one
        settings["spark.driver.host"] = settings["spark.driver.bindAddress"] = "127.0.0.1"
        settings["spark.pyspark.python"] = os.environ.get("PYSPARK_PYTHON") or sys.executable
    return settings | dict(cluster.conf)


def _has_default_master() -> bool:
    return "PYSPARK_GATEWAY_PORT" in os.environ or bool(os.environ.get("MASTER")) or _has_default("spark.master")


def _has_default(name: str) -> bool:
    """Whether Spark's own file of settings has this one."""
    home = os.environ.get("SPARK_HOME", "")
    defaults = Path(os.environ.get("SPARK_CONF_DIR") or Path(home, "conf"), "spark-defaults.conf")
    try:
        return re.search(rf"^\s*{re.escape(name)}\b", defaults.read_text(), re.MULTILINE) is not None
    except OSError:
        return False


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    fix = f"install Java {OLDEST_JAVA} or newer (apt-get install openjdk-17-jre-headless), or set JAVA_HOME"
    if java is None:
        raise InputError(f"Spark needs Java, and there is none on this machine; {fix}")
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        where = f"{java} (JAVA_HOME)" if home else java
        raise InputError(f"Spark needs Java, and {where} does not run ({error}); {fix}") from error
    version = re.search(r'version "(?:1\.)?(\d+)', told)
    if version and int(version[1]) < OLDEST_JAVA:
        raise InputError(f"Spark needs Java {OLDEST_JAVA} or newer, and {java} is {version[1]}; {fix}")


def _check_master(master: str) -> None:
    """Fails at once if nothing listens there; Spark would try for a minute."""
    if re.match(r"local\b|yarn$|k8s://", master):
        return
    if not master.startswith("spark://"):
        raise InputError(
            f'--master "{master}": not a URL that Spark knows; write spark://HOST:7077, k8s://https://HOST:443, '
            "yarn, or local[4]"
        )
    failures = []
    for address in master.removeprefix("spark://").split(","):  # masters that can replace each other
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise InputError(f'--master "{master}": {address} has no port; the usual one is spark://{address}:7077')
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
            return
        except OSError as error:
            failures.append(f"{address}: {error.strerror or error}")
    raise InputError(
        f"no answer from the master {master} ({'; '.join(failures)}); is it running? "
        "docs/cluster.md says how to start one"
    )


def _start(cluster: Cluster, conf: Any, log: IO[bytes]) -> Any:
    """Starts Java, with its messages in our own log, and a context."""
    import pyspark
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    in_time = True
    try:
        gateway: Any = pyspark.SparkContext._gateway or _launch_java(conf, log)

        def give_up() -> None:
            nonlocal in_time
            in_time = False
            gateway.proc.kill()

        watch = threading.Timer(cluster.patience_s, give_up)
        if (cluster.master or "").startswith("spark://"):
            watch.start()
        try:
            context = pyspark.SparkContext(conf=conf, gateway=gateway)
            # Only spark-submit reads this setting by itself.
            context.pythonExec = conf.get("spark.pyspark.python", context.pythonExec)
            return context
        finally:
            watch.cancel()
    except (Py4JError, PySparkException, OSError) as error:
        text = text_of(error) if in_time else ""
        _forget_java()
        if not in_time or re.search(r"Spark context stopped while waiting|All masters are unresponsive", text):
            raise InputError(
                f"no answer from the master {cluster.master} in {cluster.patience_s:.0f} s: something listens there, "
                "but not a master of this version of Spark "
                f"({pyspark.__version__})"
            ) from error
        raise InputError(f"Spark does not start: {explain(text) or _last_words(log) or text}") from error


def _launch_java(conf: Any, log: IO[bytes]) -> Any:
    """Starts Java in a thread of its own. An interrupt in the middle would leave it running."""
    from pyspark.java_gateway import launch_gateway

    with ThreadPoolExecutor(1) as thread:
        started = thread.submit(
            launch_gateway,
            conf=conf,
            popen_kwargs={"stdout": log, "stderr": log, "stdin": subprocess.PIPE},
        )
        try:
            return started.result()
        except KeyboardInterrupt:
            gateway: Any = started.result()
            gateway.proc.kill()
            gateway.proc.wait()
            raise


def _forget_java() -> None:
    """Makes the next session start its own Java."""
    import pyspark

    gateway, pyspark.SparkContext._gateway, pyspark.SparkContext._jvm = pyspark.SparkContext._gateway, None, None
    pyspark.SparkContext._active_spark_context = None
    if gateway is not None and getattr(gateway, "proc", None):
        gateway.proc.kill()
        with suppress(OSError):
            gateway.proc.stdin.close()
        gateway.proc.wait()


def _last_words(log: IO[bytes]) -> str:
    log.seek(0)
    lines = log.read().decode(errors="replace").splitlines()
    telling = [line for line in lines if re.search(r"^(Caused by: )?[\w.]+(Exception|Error): |^Error", line)]
    return " / ".join((telling or lines)[-LOG_LINES:])


def text_of(error: BaseException) -> str:
    """The text of an error. py4j asks Java for it, which may have ended."""
    from py4j.protocol import Py4JError

    try:
        return str(error)
    except (Py4JError, OSError):
        return "Java has ended"


def explain(text: str) -> str | None:
    """A short message for a known error of Spark, instead of pages of Java and Python; None if it is unknown.

    >>> explain("... ModuleNotFoundError: No module named 'pyarrow' ...")
    'a worker has no Python package "pyarrow"; on every worker: pip install pyarrow'
    """
    if found := re.findall(r"piecework\.errors\.\w+: (.+)", text):
        hint = ""
        if "no such file" in found[-1].lower():
            hint = " (on a worker: every machine has to see the corpus at the same path, or it has to be on s3://)"
        return f"{found[-1].strip()}{hint}"
    if found := re.findall(r"PIECEWORK-WORKER: (.+)", text):
        return f"{found[-1].strip()}; use the same Python and kind of machine as on the driver (PYSPARK_PYTHON)"
    if found := re.findall(r"No module named '?([\w.]+)", text):
        package = found[-1].split(".")[0]
        return f'a worker has no Python package "{package}"; on every worker: pip install {package}'
    if "PYTHON_VERSION_MISMATCH" in text or "different version" in text:
        return (
            f"the workers run another version of Python than this one, {sys.version_info[0]}.{sys.version_info[1]}; "
            "set PYSPARK_PYTHON to the same on all"
        )
    if found := re.findall(r'Cannot run program "([^"]+)"', text):
        return f"a worker has no {found[-1]}; set PYSPARK_PYTHON to a Python that is there on every worker"
    if "No space left on device" in text:
        return "no space left on the disk of a worker; set spark.local.dir to a larger one (--conf)"
    if "OutOfMemoryError" in text:
        return "a worker ran out of memory; give it more with --conf spark.executor.memory=4g"
    return None
