"""Counting on Spark beside counting on this machine: overhead by size, workers, bytes that cross Java, rate per core.

The cluster is a real one, a master and workers of one core each on loopback. So two workers have as many cores as two
processes of the local engine. Each size is counted twice in one application: the first time, Spark compiles its plan
and starts Python on the workers. CPU seconds are those of all processes together: Java and Python, driver and workers.
On a shared machine they are more reliable than wall time. The files are compared with those of the local engine.
"""

import json
import os
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.documents import SAMPLES, prepare
from benchmarks.markdown import DASH, Result, machine, table, times
from benchmarks.measure import Bench, Contender, from_command_line, run, save
from benchmarks.text import load_text, text_path

SMALL_MB = 10
LARGE_MB = 400  # measured where this text is there: a task's fixed cost weighs less
WORKERS = (1, 2)


def benchmark(bench: Bench) -> dict[str, Any]:
    parts = [(bench.size_mb, 4)] if bench.quick else [(bench.size_mb, bench.size_mb // SMALL_MB), (bench.size_mb, 1)]
    if not bench.quick and bench.size_mb < LARGE_MB and text_path(bench.work, LARGE_MB).exists():
        parts.append((LARGE_MB, 1))
    rows = []
    for size_mb, share in parts:
        corpus = bench.work / f"documents_{size_mb}mb_1_{share}_jsonl"
        prepare(text_path(bench.work, size_mb), corpus, share=share, formats=("JSONL",))
        rows.append({"folder": str(corpus / "JSONL"), "size_mb": round(load_text(bench.work, size_mb).size_mb / share)})
    folders = [row["folder"] for row in rows]
    results: dict[str, list[dict[str, Any]]] = {}
    for processes in WORKERS:
        results[f"local, {processes}"] = _run("local", processes, *folders)
    for workers in WORKERS:
        results[f"spark, {workers}"] = _run("spark", workers, *folders)
    return {
        "text": bench.describe_text(),
        "settings": {"samples": SAMPLES},
        "sizes_mb": [row["size_mb"] for row in rows],
        "engines": results,
    }


def _run(engine: str, cores: int, *folders: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "benchmarks.cluster", "run", engine, str(cores), *folders]
    done = run(Contender(f"{engine}, {cores}", command, limit_s=600))
    if done.state != "ok":
        raise SystemExit(f"{engine} with {cores}: {done.state}")
    for row in done.detail["rows"]:
        print(f"  {engine}, {cores}: {row}", file=sys.stderr, flush=True)
    return list(done.detail["rows"])


def _study(folder: str, sample: str) -> Any:
    import piecework

    train, evaluation = SAMPLES[sample]
    return piecework.Study(
        folder=folder, corpus={"path": "{category}_{language}-*"}, sampling={"train": train, "eval": evaluation}
    )


def count_local(processes: str, *folders: str) -> dict[str, Any]:
    from piecework.counting.local import count

    rows = []
    for folder, sample in _jobs(folders):
        out = Path(folder).parent / f"local-{sample}"
        started, cpu_s = time.monotonic(), sum(os.times()[:4])
        count(_study(folder, sample), out=out, threads=int(processes), force=True)
        rows.append(
            {
                "sample": sample,
                "wall_s": time.monotonic() - started,
                "cpu_s": sum(os.times()[:4]) - cpu_s,
                "size_bytes": _size(out),
            }
        )
    return {"rows": rows}


def count_spark(workers: str, *folders: str) -> dict[str, Any]:
    from tests.cluster.spark import SETTINGS, running_cluster

    from piecework.counting.local import count
    from piecework.counting.spark_cluster import Cluster, connect

    warnings.simplefilter("ignore")
    rows = []
    with TemporaryDirectory() as temporary:
        events = Path(temporary, "events")
        events.mkdir()
        settings = {
            **{key: value for key, value in SETTINGS.items() if "extraJavaOptions" not in key},
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events.as_uri(),
            "spark.eventLog.compress": "false",
        }
        Path(temporary, "cluster").mkdir()
        with running_cluster(Path(temporary, "cluster"), workers=int(workers)) as cluster:
            started = time.monotonic()
            with connect(Cluster(cluster.master, settings), name="benchmark"):
                connect_s = time.monotonic() - started
                for folder, sample in _jobs(folders):
                    row: dict[str, Any] = {"sample": sample, "connect_s": connect_s}
                    for which in ("first_s", "wall_s"):
                        out = Path(temporary, "out")
                        shutil.rmtree(out, ignore_errors=True)
                        at, cpu_s = time.time(), _tree_cpu_s()
                        count(_study(folder, sample), out=out, cluster=Cluster())
                        row[which] = time.time() - at
                        row["cpu_s"] = _tree_cpu_s() - cpu_s
                    row |= {"size_bytes": _size(out), "started": at, "ended": at + row["wall_s"]}
                    local = Path(folder).parent / f"local-{sample}" / "counts"
                    names = ("counts.json", "train.parquet", "eval.parquet", "eval_plain.parquet", "subsets.parquet")
                    row["equal"] = all(
                        (local / name).read_bytes() == (out / "counts" / name).read_bytes() for name in names
                    )
                    rows.append(row)
        tasks = list(_tasks(events))
    for row in rows:
        started, ended = row.pop("started"), row.pop("ended")
        own = [task for task in tasks if started <= task["launched_s"] <= ended]
        row["result_bytes"] = sum(task["result_bytes"] for task in own)
        row["task_s"] = sum(task["run_s"] for task in own)
        row["tasks"] = len(own)
    return {"rows": rows}


def _tree_cpu_s() -> float:
    """CPU seconds of this process and all below it, also ended ones: the driver, its Java, the master, the workers."""
    from tests.cluster.spark import descendants

    ticks = 0
    for pid in (os.getpid(), *descendants(os.getpid())):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _tasks(events: Path) -> Iterator[dict[str, Any]]:
    """The tasks in Spark's own log."""
    for path in sorted(events.rglob("*")):
        for line in path.read_text().splitlines() if path.is_file() else ():
            event = json.loads(line) if line.startswith("{") else {}
            metrics = event.get("Task Metrics")
            if event.get("Event") == "SparkListenerTaskEnd" and metrics:
                yield {
                    "launched_s": event["Task Info"]["Launch Time"] / 1000,
                    "run_s": metrics["Executor Run Time"] / 1000,
                    "result_bytes": metrics["Result Size"],
                }


def _jobs(folders: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for folder in folders:
        yield folder, "all"
    for folder in folders[1:] or folders:
        yield folder, "paper"


def _size(out: Path) -> int:
    from piecework.counting.store import Counts

    return sum(Counts.load(out).subsets.column("read_bytes").to_pylist())


JOBS: dict[str, Callable[..., dict[str, Any]]] = {"local": count_local, "spark": count_spark}


def cluster_section(result: Result) -> list[str]:
    """Markdown for RESULTS.md."""
    engines = result["engines"]
    rows = []
    for number, local in enumerate(engines["local, 1"]):
        size_mb = local["size_bytes"] / 1e6
        for name, of in engines.items():
            row = of[number]
            spark = "result_bytes" in row
            rows.append(
                [
                    f"{size_mb:,.0f} MB, {row['sample']}, {name}",
                    f"{row['cpu_s']:.1f}",
                    DASH if not spark else times(row["cpu_s"] / local["cpu_s"]),
                    f"{row['wall_s']:.1f}" + (f" ({row['first_s']:.1f})" if spark else ""),
                    f"{size_mb / row['cpu_s']:.1f}",
                    f"{row['result_bytes'] / row['size_bytes']:.3f}" if spark else DASH,
                ]
            )
    equal = all(row["equal"] for name, of in engines.items() if name.startswith("spark") for row in of)
    verdict = "All files of Spark equal the local engine's." if equal else "**Files differ from the local engine's.**"
    connect_s = max(of[0]["connect_s"] for name, of in engines.items() if name.startswith("spark"))
    return [
        "## Counting on a Spark cluster",
        "",
        "From JSONL, with 1 and 2 processes on one machine, and with 1 and 2 workers of one core each, a real "
        "cluster on the same machine, whose cores the driver, its Java and the master share. "
        "Shards are of the usual size. CPU seconds are those of all processes. Of Spark "
        "the second count in an application is given, with the seconds of the first in parentheses; starting the "
        f"application took {connect_s:.0f} s more. Each was run once, so wall time says little. {verdict}",
        "",
        *table(["", "CPU s", "beside one process", "wall s", "MB of text per CPU s", "sent per byte"], rows),
    ]


# A machine of 16 cores with 64 GB at a large provider, on demand, costs about 0.8 US dollars per hour.
DOLLARS_PER_CORE_HOUR = 0.05
CORPUS_BYTES = 1.2e12


def guide_section(result: Result) -> list[str]:
    """The time and the cost of 1.2 TB, from the measured rates."""
    rows = []
    for row in [max((r for r in result["engines"]["spark, 2"] if r["sample"] == name), key=_bytes) for name in SAMPLES]:
        rate = row["size_bytes"] / row["cpu_s"]
        core_hours = CORPUS_BYTES / rate / 3600
        share = row["result_bytes"] / row["size_bytes"]
        rows.append(
            [
                {"all": "every document counted", "paper": "1 % and 0.2 % sampled, as in the paper"}[row["sample"]],
                f"{rate / 1e6:.0f} MB/s",
                f"{core_hours:,.1f}",
                *(f"{60 * core_hours / cores:,.0f} min" for cores in (16, 64, 256)),
                f"{256 * rate / 1e9:.1f} GB/s",
                f"{share * CORPUS_BYTES / 1e9:,.0f} GB",
                f"{core_hours * DOLLARS_PER_CORE_HOUR:,.2f} $",
            ]
        )
    header = ["1.2 TB of JSONL text", "per core", "core hours", "16 cores", "64 cores", "256 cores"]
    return [
        *table([*header, "which read", "sent at most", f"at {DOLLARS_PER_CORE_HOUR} $ a core hour"], rows),
        f"From one run over {max(result['sizes_mb'])} MB on two workers, in bytes of text per CPU second of all "
        f"processes, Spark's own included (`benchmarks/results/cluster.json`; {machine(result).split(';')[0]}). "
        "Java's compiling weighs more on so little text than on a corpus. What is sent to the driver, which merges "
        "it, falls with the size of shards, and these are larger for a corpus of terabytes.",
    ]


def _bytes(row: Result) -> int:
    return int(row["size_bytes"])


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        print(json.dumps(JOBS[sys.argv[2]](*sys.argv[3:])))
    else:
        told = from_command_line("cluster", __doc__)
        save(told.results, "cluster", benchmark(told))
