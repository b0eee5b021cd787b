"""Runs a contender as a fresh process and takes its CPU time, wall time and peak memory; saves results.

The process that measures must stay small: Linux counts the memory that a process had before `exec` as part of
the peak of the new program. Texts and models are therefore only ever read in the contenders, and each
benchmark runs in a process of its own; its own peak is recorded as `memory_floor_mb`.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.text import DEFAULT_WORK, REPOSITORY, Text, load_text, text_path

RESULTS = Path(__file__).resolve().parent / "results"
PACKAGES = (
    "piecework",
    "sentencepiece",
    "tokenizers",
    "tiktoken",
    "gigatoken",
    "rustbpe",
    "kitoken",
    "transformers",
    "pyarrow",
)


@dataclass(frozen=True)
class Contender:
    """One command to measure. `package` must be installed for it; None if Python is enough."""

    name: str
    command: Sequence[str]
    package: str | None = None
    rounds: int | None = None  # fewer than the benchmark's own, for contenders that are slow
    limit_s: float = 3600.0
    threads: int = 2
    release: Path | None = None  # a folder with another release of the package, imported instead of the installed one


@dataclass(frozen=True)
class Run:
    """The cost of one process. `detail` is the contender's own report: JSON, the last line of its output."""

    state: str
    cpu_s: float
    wall_s: float
    peak_memory_mb: float
    detail: Mapping[str, Any] = field(default_factory=dict)


def contender_command(name: str, *arguments: object) -> list[str]:
    return [sys.executable, "-m", "benchmarks.contenders", name, *map(str, arguments)]


def installed_version(package: str, folder: Path | None = None) -> str | None:
    """The version of a package, installed or in a folder of its own; None if it is missing."""
    path = {"path": [str(folder)]} if folder else {}
    return next((found.version for found in importlib.metadata.distributions(name=package, **path)), None)


def run(contender: Contender) -> Run:
    """Run a contender once, to its end or its time limit."""
    if contender.package and installed_version(contender.package, contender.release) is None:
        return Run("not installed", 0, 0, 0)
    environment = os.environ | {
        "RAYON_NUM_THREADS": str(contender.threads),
        "TOKENIZERS_PARALLELISM": "true" if contender.threads > 1 else "false",
    }
    if contender.release:
        environment["PYTHONPATH"] = str(contender.release)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise each process would compile its sources anew
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(contender.command, stdout=output, stderr=errors, env=environment, cwd=REPOSITORY)
        late = threading.Event()

        def stop() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(contender.limit_s, stop)
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        finally:
            timer.cancel()
            if process.returncode is None:
                process.kill()
        wall_s = time.perf_counter() - start
        output.seek(0)
        last_lines = output.read().decode(errors="replace").strip().splitlines()[-1:]
        errors.seek(0)
        complaint = errors.read().decode(errors="replace").strip().splitlines()[-1:]
    if late.is_set():
        state = f"over the time limit of {contender.limit_s:.0f} s"
    elif process.returncode:
        # The output of the contender goes to the terminal only, because it can have paths of this machine.
        state = f"failed with exit code {process.returncode}"
        print(f"  {contender.name}: {state}: {''.join(complaint)}", file=sys.stderr)
    else:
        state = "ok"
    peak_mb = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
    detail = json.loads(last_lines[0]) if state == "ok" and last_lines and last_lines[0].startswith("{") else {}
    return Run(state, usage.ru_utime + usage.ru_stime, wall_s, peak_mb, detail)


def interleave(contenders: Sequence[Contender], *, rounds: int) -> dict[str, dict[str, Any]]:
    """Run all contenders in turn, `rounds` times (A B C A B C ...), and sum up each one."""
    runs: dict[str, list[Run]] = {contender.name: [] for contender in contenders}
    for number in range(rounds):
        for contender in contenders:
            earlier = runs[contender.name]
            if number >= (contender.rounds or rounds) or any(r.state != "ok" for r in earlier):
                continue
            result = run(contender)
            earlier.append(result)
            print(
                f"  round {number + 1}  {contender.name:<32} {result.cpu_s:8.2f} s CPU "
                f"{result.wall_s:8.2f} s wall {result.peak_memory_mb:8.0f} MB  {result.state}",
                file=sys.stderr,
                flush=True,
            )
    return {name: summarise(results) for name, results in runs.items()}


def summarise(runs: Sequence[Run]) -> dict[str, Any]:
    """Medians and spreads of a contender's runs, with the runs themselves."""
    state = next((r.state for r in runs if r.state != "ok"), "ok")
    if state != "ok":
        return {"state": state}
    summary: dict[str, Any] = {"state": state, "rounds": len(runs)}
    for measure in ("cpu_s", "wall_s", "peak_memory_mb"):
        summary[measure] = spread([getattr(r, measure) for r in runs])
    measures = [key for key, value in runs[0].detail.items() if isinstance(value, float)]
    summary |= {key: spread([r.detail[key] for r in runs]) for key in measures}
    summary |= {key: value for key, value in runs[0].detail.items() if key not in measures}
    return summary


def spread(values: Sequence[float]) -> dict[str, Any]:
    """
    >>> spread([3.0, 1.0, 2.0])
    {'median': 2.0, 'min': 1.0, 'max': 3.0, 'values': [3.0, 1.0, 2.0]}
    """
    rounded = [round(value, 4) for value in values]
    return {"median": statistics.median(rounded), "min": min(rounded), "max": max(rounded), "values": rounded}


def machine() -> dict[str, Any]:
    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def save(results: Path, name: str, content: Mapping[str, Any]) -> None:
    """Write `<name>.json` with the machine, the versions and the date; whole, or not at all."""
    head = {
        "benchmark": name,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": {package: installed_version(package) for package in PACKAGES},
        "memory_floor_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6, 1),
    }
    results.mkdir(parents=True, exist_ok=True)
    path = results / f"{name}.json"
    part = path.with_suffix(".part")
    part.write_text(json.dumps(head | dict(content), indent=1, ensure_ascii=False) + "\n")
    part.replace(path)


@dataclass(frozen=True)
class Bench:
    """The settings that every benchmark gets from its command line."""

    work: Path
    results: Path
    size_mb: int
    rounds: int
    quick: bool

    @property
    def text_file(self) -> Path:
        return text_path(self.work, self.size_mb)

    @property
    def text(self) -> Text:
        return load_text(self.work, self.size_mb)

    def describe_text(self, size_mb: int | None = None) -> dict[str, Any]:
        return asdict(load_text(self.work, size_mb or self.size_mb))


def from_command_line(name: str, description: str | None) -> Bench:
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=description)
    parser.add_argument("--work", type=Path, default=DEFAULT_WORK, help="folder of the texts (benchmarks.text)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the JSON files")
    parser.add_argument("--size", type=int, default=100, metavar="MB", dest="size_mb")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="20 MB, one round")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.size_mb, arguments.rounds = 20, 1
    print(f"benchmarks.{name}: {arguments.size_mb} MB, {arguments.rounds} rounds", file=sys.stderr)
    return Bench(arguments.work.resolve(), arguments.results, arguments.size_mb, arguments.rounds, arguments.quick)
