"""The playground: round trips in four lanes, 200 requests a second on one core, and what it refuses."""

import http.client
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.markdown import Result, figure, table
from benchmarks.measure import Bench, from_command_line, save, spread
from benchmarks.text import REPOSITORY

SIZES = (64_000, 32_000, 16_000, 8_000)
LENGTHS = {1_000: 400, 100_000: 40}
RATE, SECONDS, CONNECTIONS = 200, 20, 8
OVERSIZED_BYTES = 10_000_000


def benchmark(bench: Bench) -> dict[str, Any]:
    folder = bench.work / "playground"
    shutil.rmtree(folder, ignore_errors=True)
    sizes = (8_000, 6_000, 4_000, 2_000) if bench.quick else SIZES
    prepare = [sys.executable, "-m", "benchmarks.playground", "prepare", str(bench.text_file), str(folder)]
    subprocess.run([*prepare, *map(str, sizes)], check=True, cwd=REPOSITORY)
    texts = {length: cut(bench.text_file, length, count) for length, count in LENGTHS.items()}
    rounds = []
    others = []  # what else the machine was doing before each round
    names = [str(size) for size in sizes]
    for _ in range(bench.rounds):
        others.append(round(os.getloadavg()[0], 1))
        with started(folder, sizes) as server:
            measured = {str(length): server.round_trips(names, texts[length]) for length in LENGTHS}
            measured["cuts"] = server.cuts(names[0], texts[100_000])
            measured["oversized"] = server.refusal(names)
            measured["load"] = server.load(names, texts[1_000], seconds=5 if bench.quick else SECONDS)
        rounds.append(measured)
    return {
        "text": bench.describe_text(),
        "settings": {"sizes": sizes, "rate": RATE, "connections": CONNECTIONS, "cores": 1, "load_averages": others},
        "measured": {kind: _spreads([each[kind] for each in rounds]) for kind in rounds[0]},
    }


def _spreads(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The numbers of all rounds. Values that are not numbers come from the first round."""
    return {
        name: spread([float(run[name]) for run in runs]) if isinstance(value, int | float) else value
        for name, value in runs[0].items()
    }


def prepare(text_file: Path, folder: Path, sizes: list[int]) -> None:
    """Makes a tokenizer and smaller ones of it. Runs in a process of its own, because it needs much memory."""
    import piecework as pw

    counts = pw.count_words(text_file.read_text(encoding="utf-8").split("\n"))
    full = pw.train(counts, pw.Recipe.gpt_sw3(vocab_size=sizes[0]))
    for size in sizes:
        (full if size == sizes[0] else full.resize(size)).save(folder / str(size))


def cut(path: Path, length: int, count: int) -> list[str]:
    """Distinct texts of this many characters, from offsets spread over the file."""
    step = path.stat().st_size // (count + 1)
    texts = []
    with path.open("rb") as file:
        for number in range(count):
            file.seek(step * number)
            texts.append(file.read(length * 4).decode("utf-8", "ignore")[1 : length + 1])
    return texts


@contextmanager
def started(folder: Path, sizes: tuple[int, ...]) -> Iterator["Server"]:
    """The playground runs on the first core, and its clients on the other cores."""
    cores = sorted(os.sched_getaffinity(0))
    command = [sys.executable, "-m", "piecework", "playground", *(str(folder / str(size)) for size in sizes)]
    process = subprocess.Popen([*command, "--port", "0"], stderr=subprocess.PIPE, text=True, cwd=REPOSITORY)
    try:
        os.sched_setaffinity(process.pid, cores[:1])
        os.sched_setaffinity(0, cores[1:] or cores)
        assert process.stderr
        line = next(line for line in process.stderr if "http://" in line)
        yield Server(process.pid, int(re.search(r":(\d+)/", line)[1]))  # type: ignore[index]
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        os.sched_setaffinity(0, cores)


class Server:
    def __init__(self, pid: int, port: int) -> None:
        self.pid, self.port = pid, port
        for core_task in Path(f"/proc/{pid}/task").iterdir():
            os.sched_setaffinity(int(core_task.name), os.sched_getaffinity(pid))

    def round_trips(self, names: list[str], texts: list[str]) -> dict[str, Any]:
        """Sends a text and receives four lanes of tokens, one request after the other, like the page."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        self._ask(connection, "encode", _encode(names, texts[0]))
        took = []
        for text in texts:
            body = _encode(names, text)
            begun = time.perf_counter()
            answer = self._ask(connection, "encode", body)
            took.append(time.perf_counter() - begun)
        return {**_latencies(took), "answer_bytes": len(answer)}

    def cuts(self, name: str, texts: list[str]) -> dict[str, Any]:
        """Where a text is cut at every vocabulary size: what a slider needs."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        took = []
        for text in texts:
            begun = time.perf_counter()
            self._ask(connection, "cuts", json.dumps({"text": text, "tokenizer": name}).encode())
            took.append(time.perf_counter() - begun)
        return _latencies(took)

    def refusal(self, names: list[str]) -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        body = _encode(names, "x" * OVERSIZED_BYTES)
        before = self._memory("VmHWM")
        begun = time.perf_counter()
        connection.request("POST", "/api/encode", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        message = json.loads(response.read())["error"]
        took = time.perf_counter() - begun
        grown = self._memory("VmHWM") - before
        return {
            "status": response.status,
            "message": message,
            "ms": round(1000 * took, 1),
            "memory_mb": round(grown, 1),
        }

    def load(self, names: list[str], texts: list[str], *, seconds: int) -> dict[str, Any]:
        """Requests at fixed moments, whether or not the earlier ones have been answered, over several connections."""
        wanted = RATE * seconds
        took: list[float] = []
        failed: list[str] = []
        numbers = iter(range(wanted))
        lock = threading.Lock()
        bodies = [_encode(names, text) for text in texts]
        memory_before, cpu_before = self._memory("VmRSS"), self._cpu_s()
        begun = time.perf_counter() + 0.1

        def worker() -> None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port)
            while True:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                due = begun + number / RATE
                time.sleep(max(0.0, due - time.perf_counter()))
                try:
                    self._ask(connection, "encode", bodies[number % len(bodies)])
                except (OSError, RuntimeError) as error:
                    failed.append(str(error))
                    connection.close()
                took.append(time.perf_counter() - due)  # from the moment when it was due: waiting counts too

        threads = [threading.Thread(target=worker) for _ in range(CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        elapsed = time.perf_counter() - begun
        return {
            "requests": wanted,
            "failed": len(failed),
            "per_s": round(wanted / elapsed, 1),
            **_latencies(took),
            "cpu_share": round((self._cpu_s() - cpu_before) / elapsed, 3),
            "memory_before_mb": round(memory_before, 1),
            "memory_after_mb": round(self._memory("VmRSS"), 1),
            "memory_peak_mb": round(self._memory("VmHWM"), 1),
        }

    def _ask(self, connection: http.client.HTTPConnection, path: str, body: bytes) -> bytes:
        connection.request("POST", f"/api/{path}", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        content = response.read()
        if response.status != 200 or b'"error":' in content[:1000]:
            raise RuntimeError(content[:200].decode("utf-8", "replace"))
        return content

    def _memory(self, name: str) -> float:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(rf"{name}:\s+(\d+)", status)[1]) * 1024 / 1e6  # type: ignore[index]

    def _cpu_s(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _encode(names: list[str], text: str) -> bytes:
    return json.dumps({"text": text, "lanes": [{"tokenizer": name} for name in names]}, ensure_ascii=False).encode()


def _latencies(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    at = {"median_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99, "worst_ms": 1.0}
    found = {name: ordered[min(int(share * len(ordered)), len(ordered) - 1)] for name, share in at.items()}
    found["median_ms"] = statistics.median(ordered)
    return {name: round(1000 * value, 2) for name, value in found.items()}


def playground_section(result: Result) -> list[str]:
    """Markdown for RESULTS.md."""

    def milliseconds(row: Result) -> list[str]:
        return [figure(row[name]) for name in ("median_ms", "p95_ms", "p99_ms", "worst_ms")]

    settings, measured = result["settings"], result["measured"]
    load, oversized = measured["load"], measured["oversized"]
    sizes = ", ".join(f"{size:,}" for size in settings["sizes"])
    rate = f"{settings['rate']} requests a second"
    averages = ", ".join(f"{average:.1f}" for average in settings["load_averages"])
    rows = [
        ["1,000 characters in four lanes", *milliseconds(measured["1000"])],
        ["100,000 characters in four lanes", *milliseconds(measured["100000"])],
        ["100,000 characters, every vocabulary size", *milliseconds(measured["cuts"])],
        [f"1,000 characters in four lanes, {rate}", *milliseconds(load)],
    ]
    return [
        "## The playground",
        "",
        f"The server has one core, and four lanes of {sizes} pieces. The machine's load average before each round was "
        f"{averages}. Round trips over HTTP, in ms:",
        "",
        *table(["", "median", "95 %", "99 %", "worst"], rows),
        f"At {rate}: {sum(load['requests']['values']):,.0f} requests, {sum(load['failed']['values']):.0f} failed, "
        f"{figure(load['per_s'])} answered a second on {figure(load['cpu_share'], digits=2)} of the core; memory from "
        f"{figure(load['memory_before_mb'], digits=0)} to {figure(load['memory_after_mb'], digits=0)} MB. "
        f"A text of 10 MB is refused in {figure(oversized['ms'], digits=0)} ms: “{oversized['message']}”.",
        "",
    ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["prepare"]:
        prepare(Path(sys.argv[2]), Path(sys.argv[3]), [int(size) for size in sys.argv[4:]])
    else:
        told = from_command_line("playground", __doc__)
        save(told.results, "playground", benchmark(told))
