"""Random studies, one after another in one process: same files however they run, and nothing left behind.

`python tests/soak/soak.py --minutes 60` (make soak). Each study has random languages, documents, formats, sampling,
weights and recipe. It runs twice, with other settings of threads and memory, and both results are compared byte for
byte. After each study the process has as many threads, open files and children as before; the memory of later studies
does not grow.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import piecework as pw
from counting.corpora import made_up_documents, write
from pipeline.studies import contents

LANGUAGES = ("da", "en", "is", "nb", "sv", "fi", "de")
SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")
WARM_UP = 3
"""The number of studies before memory is compared, because the caches of libraries fill in the first studies."""


@dataclass
class Soak:
    """The results of the studies so far."""

    studies: int = 0
    resident_mb: list[float] = field(default_factory=list)

    def run_one(self, seed: int) -> None:
        """One random study, run twice, or an AssertionError that names the seed."""
        before = _held()
        folder = Path(tempfile.mkdtemp(prefix="piecework-soak-"))
        try:
            study = random_study(folder, random.Random(seed))
            first = _run(study, folder / "first", threads=1, memory=None)
            second = _run(study, folder / "second", threads=2, memory="400MB")
            differing = sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
            assert not differing, f"seed {seed}: other files with other threads and memory: {differing}"
        finally:
            shutil.rmtree(folder)
        gc.collect()
        after = _held()
        assert after == before, f"seed {seed}: left behind: {after - before}, gone: {before - after}"
        self.studies += 1
        self.resident_mb.append(_resident_mb())

    def check_memory(self) -> None:
        """The last third of the studies holds no more memory than the first third after the warm-up."""
        measured = self.resident_mb[WARM_UP:]
        third = len(measured) // 3
        if third < 2:
            return
        early, late = statistics.median(measured[:third]), statistics.median(measured[-third:])
        assert late < early * 1.1 + 20, f"memory grew from {early:.0f} to {late:.0f} MB over {self.studies} studies"


def random_study(folder: Path, choose: random.Random) -> pw.Study:
    """A study of a few hundred documents with random settings."""
    languages = choose.sample(LANGUAGES, k=choose.randint(1, 4))
    suffix = choose.choice(SUFFIXES)
    for language in languages:
        for category in choose.sample(("law", "books", "news"), k=choose.randint(1, 2)):
            documents = made_up_documents(choose.randint(60, 300), seed=choose.randrange(10**6))
            write(folder / "data" / f"{category}_{language}{suffix}", documents)
    size = choose.randint(400, 700)
    settings: dict[str, Any] = {
        "name": "soak",
        "seed": choose.randrange(1000),
        "corpus": {"path": f"data/{{category}}_{{language}}{suffix}"},
        "weights": {"language": {language: choose.choice(["0.5", "1", "2.5"]) for language in languages}},
        "sampling": {"train": "60%", "eval": "20%", "weighting": choose.choice(["documents", "counts"])},
        "recipe": {
            "vocab_size": size,
            "hard_vocab_limit": False,
            "split_digits": choose.random() < 0.5,
            "add_dummy_prefix": choose.random() < 0.8,
            "whitespace_runs": choose.choice(["paper", "portable"]),
            "character_coverage": choose.choice([0.98, 0.9999, 1.0]),
        },
        "analysis": {"vocab_sizes": [size - 60, size], "monolingual": choose.random() < 0.7},
    }
    return pw.Study(folder=folder, **settings)


def _run(study: pw.Study, out: Path, *, threads: int, memory: str | None) -> dict[str, bytes]:
    pw.run(study, out=out, threads=threads, memory=memory, warn=lambda _: None)
    # The resolved study names paths relative to its own folder, which has the same depth in both runs.
    return contents(out)


def _held() -> set[str]:
    """Threads, open files and child processes of this process."""
    threads = {f"thread {thread.name}" for thread in threading.enumerate()}
    files = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            files.add(f"file {descriptor.name}: {descriptor.readlink()}")
        except FileNotFoundError:  # the listing's own file
            continue
    tasks = Path("/proc/self/task").iterdir()
    children = {f"child {pid}" for task in tasks for pid in (task / "children").read_text().split()}
    return threads | {file for file in files if "/proc/" not in file} | children


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    """Run studies for the given number of minutes, and print the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    soak, end = Soak(), time.monotonic() + arguments.minutes * 60
    while time.monotonic() < end:
        soak.run_one(arguments.seed + soak.studies)
        if soak.studies % 20 == 0:
            print(f"{soak.studies} studies, {soak.resident_mb[-1]:.0f} MB", file=sys.stderr, flush=True)
    soak.check_memory()
    print(f"{soak.studies} studies, each run twice, {soak.resident_mb[-1]:.0f} MB at the end, nothing left behind")


if __name__ == "__main__":
    main()
