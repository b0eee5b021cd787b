"""How big can it get: 0.1 to 12 GB of text, counted to disk and trained at 64,000 pieces, beside SentencePiece.

Usage: python -m benchmarks.scale [--sizes 100 400 1000 4000 12000] [--peers 100 400 1000 4000]

The text is generated (benchmarks.generated_text). `real` in the result is real text. To be compared with it, `twin` is
generated from this real text, and `grown` from a smaller one. Each size is measured once and kept in the work folder,
so a stopped run resumes. Sizes that are not named keep their earlier results, and sizes at which SentencePiece failed
need not try it again. Piecework reads Parquet files of documents of about 8 KB; SentencePiece reads the same lines
from a text file. 12 GB need 20 GB of disk and half an hour.
"""

import argparse
import json
import shutil
import subprocess
import sys
import threading
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.markdown import DASH, Result, table, times
from benchmarks.measure import RESULTS, Contender, machine, run, save
from benchmarks.text import DEFAULT_WORK, REPOSITORY, SIZES_MB, text_path
from benchmarks.train import VOCAB_SIZE, compare, sentencepiece_trainer

KINDS = ("real", "twin", "grown", "generated")
GROWN = {100: 20}  # the smaller text must have the same mix
SIZES = (100, 400, 1000, 4000, 12000)
PEER_SIZES = (100, 400, 1000, 4000)
PEER_LIMIT_S = 900
PEER_MEMORY_BYTES = 8_000_000_000
PARTS = 24
DOCUMENT_BYTES = 8_000
GROUP_BYTES = 32 << 20
MEMORY = "8GB"
STUDY = f"""name = "large"
[corpus]
path = "data/part*_{{language}}.parquet"
[sampling]
train = "100%"
eval = "0%"
[recipe]
preset = "gpt-sw3"
vocab_size = {VOCAB_SIZE}
whitespace_runs = "none"
"""


class Tree:
    """The memory of a process and its children together, measured five times per second."""

    def __init__(self) -> None:
        self.peak_mb = 0.0
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Tree":
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._watcher.join()

    def _watch(self) -> None:
        own = Path("/proc/self").resolve().name
        while not self._ended.wait(0.2):
            parents: dict[str, list[str]] = {}
            pages: dict[str, int] = {}
            for folder in Path("/proc").glob("[0-9]*"):
                try:
                    parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
                    memory = (folder / "statm").read_text().split()
                except OSError:
                    continue
                parents.setdefault(parent, []).append(folder.name)
                pages[folder.name] = int(memory[1]) - int(memory[2])  # without memory that processes share
            below = parents.get(own, [])
            total = 0
            while below:
                total += sum(pages[each] for each in below)
                below = [child for each in below for child in parents.get(each, [])]
            self.peak_mb = max(self.peak_mb, total * 4096 / 1e6)


def measured(contender: Contender) -> dict[str, Any]:
    """Cost of one run; memory is that of all its processes together."""
    with Tree() as tree:
        result = run(contender)
    cost = asdict(result) | {"all_processes_mb": round(tree.peak_mb, 1)}
    print(f"  {contender.name}: {cost['cpu_s']:.1f} CPU s, {cost['wall_s']:.1f} s, {tree.peak_mb:.0f} MB", flush=True)
    return {name: round(value, 1) if isinstance(value, float) else value for name, value in cost.items()}


def piecework(*arguments: object) -> Contender:
    program = str(Path(sys.executable).with_name("piecework"))
    return Contender(f"piecework {arguments[0]}", [program, *map(str, arguments)], package="piecework")


class Size:
    """One size of text, of one kind, with its measurements."""

    def __init__(self, work: Path, size_mb: int, kind: str) -> None:
        self.work, self.size_mb, self.kind = work, size_mb, kind
        self.folder = work / "scale" / f"{kind}_{size_mb}mb"
        self.text = text_path(work, size_mb) if kind == "real" else self.folder / "text.txt"
        self._record = self.folder / "measured.json"
        self.costs: dict[str, Any] = json.loads(self._record.read_text()) if self._record.exists() else {}

    def measure(self, *, peer: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if "count" not in self.costs:
            self._make_text()
            self._keep(
                "count", measured(piecework("count", self.folder / "study.toml", "--out", self.folder, "--force"))
            )
        description = json.loads((self.folder / "counts" / "counts.json").read_text())
        self._keep("rows", description["tables"]["train"]["rows"])
        self._keep("size_bytes", sum(subset["read_bytes"] for subset in description["subsets"]))
        if "train" not in self.costs:
            trained = self.folder / "piecework"
            settings = ("--memory", MEMORY, "--vocab-size", VOCAB_SIZE, "--set", "whitespace_runs=none", "--force")
            self._keep("train", measured(piecework("train", "--counts", self.folder, "--out", trained, *settings)))
            self._keep("estimated_mb", round(self._estimate_mb(), 1))
        if self.kind != "generated" and "runs" not in self.costs:
            self._keep("runs", int(self._in_a_process("print(scale.distinct_runs(*arguments))", self.folder)))
        if peer and "sentencepiece" not in self.costs:
            self._make_text()
            oracle = self.folder / "sentencepiece"
            shutil.rmtree(oracle, ignore_errors=True)
            contender = sentencepiece_trainer(self.text, oracle)
            limited = ["prlimit", f"--as={PEER_MEMORY_BYTES}", *contender.command]
            contender = replace(contender, command=limited, limit_s=PEER_LIMIT_S)
            self._keep("sentencepiece", measured(contender))
            self._keep("same_model", compare(self.folder / "piecework", oracle))
        self._keep("speed", round(self.costs["size_bytes"] / 1e6 / self.costs["count"]["cpu_s"], 1))
        if self.kind != "real":
            self.text.unlink(missing_ok=True)
        shutil.rmtree(self.folder / "data", ignore_errors=True)

    def _estimate_mb(self) -> float:
        code = "import sys; from piecework.cli.training_estimate import streamed_training_bytes as estimate;"
        command = [sys.executable, "-c", f"{code} print(estimate(int(sys.argv[1])))", str(self.costs["rows"])]
        return int(subprocess.run(command, capture_output=True, check=True, text=True).stdout) / 1e6

    def _in_a_process(self, call: str, *arguments: object) -> str:
        """Otherwise its memory would count as memory of the contenders that start later."""
        code = f"import sys; from benchmarks import scale; arguments = sys.argv[1:]; {call}"
        command = [sys.executable, "-c", code, *map(str, arguments)]
        return subprocess.run(command, check=True, cwd=REPOSITORY, capture_output=True, text=True).stdout

    def _keep(self, name: str, value: Any) -> None:
        self.costs[name] = value
        self._record.write_text(json.dumps(self.costs, indent=1) + "\n")

    def _make_text(self) -> None:
        """The text in one file for SentencePiece, and as documents in parts for the processes that count."""
        if not self.text.exists():
            command = [sys.executable, "-m", "benchmarks.generated_text", "--work", str(self.work)]
            command += ["--size", str(self.size_mb), "--out", str(self.text)]
            if self.kind != "generated":
                fitted_mb = GROWN[self.size_mb] if self.kind == "grown" else self.size_mb
                command += ["--model", str(fitted_mb), "--mix", str(self.size_mb)]
            subprocess.run(command, check=True, cwd=REPOSITORY, stderr=subprocess.DEVNULL)
        (self.folder / "study.toml").write_text(STUDY)
        data = self.folder / "data"
        if not data.exists():
            unfinished = self.folder / "data.new"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            part_bytes = max(self.size_mb * 1_000_000 // PARTS, 8_000_000)
            self._in_a_process("scale.write_documents(*arguments)", self.text, unfinished, part_bytes)
            unfinished.rename(data)


def distinct_runs(folder: str) -> int:
    """The number of distinct runs of letters in the counted words: nearly all chunks that training merges in."""
    import numpy as np
    import pyarrow.parquet

    from benchmarks.text_spans import run_hashes

    found = []
    with pyarrow.parquet.ParquetFile(Path(folder, "counts", "train.parquet")) as file:
        for batch in file.iter_batches(columns=["word"]):
            words = [word.encode().removeprefix("▁".encode()) for word in batch.column("word").to_pylist()]
            data = np.frombuffer(b"\n".join([*words, b""]), np.uint8)
            ends = np.cumsum([len(word) + 1 for word in words]) - 1
            starts = ends - [len(word) for word in words]
            found.append(np.unique(run_hashes(data, starts, ends)[0]))
    return len(np.unique(np.concatenate(found)))


def write_documents(text: str, folder: str, part: str) -> None:
    """Write the lines of a text as documents of about 8 KB into Parquet files of about `part` bytes of text."""
    import pyarrow
    import pyarrow.parquet

    schema = pyarrow.schema([("text", pyarrow.large_string())])
    number, part_bytes = 0, int(part)
    with Path(text).open("rb") as file:
        while file.peek(1):
            path = Path(folder) / f"part{number:03}_mixed.parquet"
            written = 0
            with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
                while written < part_bytes and (lines := file.readlines(min(GROUP_BYTES, part_bytes))):
                    documents, size = [[]], 0
                    for line in lines:
                        if size > DOCUMENT_BYTES:
                            documents.append([])
                            size = 0
                        documents[-1].append(line)
                        size += len(line)
                    column = pyarrow.array([b"".join(each) for each in documents], pyarrow.large_binary())
                    writer.write_table(pyarrow.table([column.cast(pyarrow.large_string())], schema=schema))
                    written += sum(map(len, lines))
            number += 1


def scale_section(result: Result) -> list[str]:
    """Markdown for RESULTS.md and for docs/scale.md."""
    rows = []
    for kind in KINDS:
        for size, cost in result.get(kind, {}).items():
            peer = cost.get("sentencepiece")
            train = cost["train"]
            theirs = [DASH] * 4
            if peer and peer["state"] == "ok":
                whole_s = cost["count"]["cpu_s"] + train["cpu_s"]
                memory = peer["peak_memory_mb"] / max(cost["count"]["all_processes_mb"], train["peak_memory_mb"])
                same = "yes" if cost["same_model"].get("equal") else "**no**"
                theirs = [f"{peer['cpu_s']:,.0f}", f"{peer['peak_memory_mb']:,.0f}"]
                theirs += [f"{times(peer['cpu_s'] / whole_s)}, {times(memory)}", same]
            elif peer:
                theirs[0] = peer["state"]
            rows.append(
                [
                    f"{int(size):,} MB, {kind}",
                    f"{cost['rows']:,}",
                    f"{cost['count']['cpu_s']:,.1f}",
                    f"{cost['count']['all_processes_mb']:,.0f}",
                    f"{train['cpu_s']:,.1f}",
                    f"{train['peak_memory_mb']:,.0f}",
                    f"{cost['estimated_mb'] / train['peak_memory_mb'] - 1:+.0%}",
                    *theirs,
                ]
            )
    header = ["text", "distinct words", "count, CPU s", "MB", "train, CPU s", "MB", "estimate"]
    header += ["SentencePiece, CPU s", "MB", "ratios", "same model"]
    return [
        f"## How big can it get: {result['vocab_size']:,} pieces from Parquet",
        "",
        "Counting is from Parquet to sorted counts on disk, with two processes; its memory is that of all processes. "
        f"Training reads these counts in a stream, with `--memory {result['memory_limit']}`; *estimate* is what it "
        "said before it began, against what it took. SentencePiece reads the same lines from a text file, and may "
        "take 8 GB too. The ratios are its CPU time to that of counting and training together, and its memory to the "
        "larger of the two. Each was measured once, on a machine with other work"
        f"{_dates(result)}.",
        "",
        *table(header, rows),
        *_likeness(result),
    ]


def _dates(result: Result) -> str:
    """On which days the sizes were measured, if these are several."""
    days: dict[str, list[str]] = {}
    for kind in KINDS:
        for size, cost in result.get(kind, {}).items():
            days.setdefault(cost["measured"], []).append(f"{int(size):,} MB, {kind}")
    latest = max(days, default="")
    return f"; {' and '.join(days[latest])} on {latest}, all else before" if len(days) > 1 else ""


def _likeness(result: Result) -> list[str]:
    """How much generated text differs from the real text that it stands for."""
    rows = []
    for kind in ("twin", "grown"):
        for size, cost in result.get(kind, {}).items():
            real = result["real"].get(size)
            if not real or "runs" not in cost or "runs" not in real:
                continue
            pairs = [(cost[name], real[name]) for name in ("rows", "runs")]
            pairs += [(cost["train"][name], real["train"][name]) for name in ("cpu_s", "peak_memory_mb")]
            rows.append([f"{int(size):,} MB, {kind}", *(f"{ours / theirs - 1:+.0%}" for ours, theirs in pairs)])
    if not rows:
        return []
    return [
        "How generated text differs from the real text: *twin* is fitted to this text itself, *grown* to a smaller one "
        "of the same mix. Runs are of letters; training merges inside them.",
        "",
        *table(["", "distinct words", "distinct runs", "training, CPU", "training, memory"], rows),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--work", type=Path, default=DEFAULT_WORK, help="folder of the texts (benchmarks.text)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the JSON file")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), metavar="MB")
    parser.add_argument("--peers", type=int, nargs="*", default=list(PEER_SIZES), metavar="MB")
    arguments = parser.parse_args()
    recorded = arguments.results / "scale.json"
    earlier = json.loads(recorded.read_text()) if recorded.exists() else {}
    found: dict[str, dict[str, Any]] = {kind: dict(earlier.get(kind, {})) for kind in KINDS}
    for kind in KINDS:
        for size_mb in arguments.sizes:
            there = size_mb in SIZES_MB and text_path(arguments.work, size_mb).exists()
            if (kind != "generated" and not there) or (kind == "grown" and size_mb not in GROWN):
                continue
            size = Size(arguments.work.resolve(), size_mb, kind)
            print(f"{size_mb} MB, {kind}", flush=True)
            size.measure(peer=size_mb in arguments.peers and kind == "generated")
            peer = found[kind].get(str(size_mb), {}).get("sentencepiece")
            failed = {"sentencepiece": peer} if peer and peer["state"] != "ok" else {}
            found[kind][str(size_mb)] = failed | size.costs | {"measured": f"{datetime.now(UTC):%Y-%m-%d}"}
    save(arguments.results, "scale", {"vocab_size": VOCAB_SIZE, "memory_limit": MEMORY, "machine": machine(), **found})


if __name__ == "__main__":
    main()
