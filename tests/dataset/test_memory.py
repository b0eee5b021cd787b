"""`--memory` holds for all processes together, in every format, at the smallest limit that is accepted."""

import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet
import pytest

import piecework as pw
from counting.corpora import jsonl, made_up_documents
from piecework.counting.machine import parse_size
from piecework.dataset.memory import DatasetBudget
from piecework.dataset.plan import Source, make_plan
from piecework.errors import InputError


class _Peak:
    """The largest memory that this process's new children, and theirs, held at one moment.

    Pages that they share count once. Other tests may have left a JVM; and between fork and exec a child has this
    process's memory, and its command line.
    """

    def __init__(self) -> None:
        self.size_bytes = 0
        self._own_command = Path("/proc/self/cmdline").read_bytes()
        self._earlier = set(_descendants(os.getpid()))
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.01):
            total = 0
            for pid in set(_descendants(os.getpid())) - self._earlier:
                try:
                    if Path(f"/proc/{pid}/cmdline").read_bytes() == self._own_command:
                        continue
                    memory = Path(f"/proc/{pid}/smaps_rollup").read_text()
                except OSError:
                    continue
                if found := re.search(r"^Pss: +(\d+) kB", memory, re.MULTILINE):
                    total += int(found[1]) * 1024
            self.size_bytes = max(self.size_bytes, total)


def _descendants(pid: int) -> Iterator[int]:
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = path.read_text().split()
        except OSError:
            continue
        for child in map(int, children):
            yield child
            yield from _descendants(child)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """About 10 MB in each file: more than all batches and buffers together."""
    folder = tmp_path_factory.mktemp("memory")
    texts = [" ".join(made_up_documents(20, seed=seed)) for seed in range(60)] * 25
    texts = [f"{number} {text}" for number, text in enumerate(texts)]
    (folder / "a.jsonl").write_bytes(jsonl(texts))
    pyarrow.parquet.write_table(pa.table({"text": texts}), folder / "a.parquet")
    return {suffix: folder / f"a.{suffix}" for suffix in ("jsonl", "parquet")}


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("jsonl", {"to": "parquet", "sizes": (600, 900)}),
        ("parquet", {"to": "megatron"}),
        ("parquet", {"to": "arrow", "shuffle": 1}),
    ],
)
def test_the_smallest_limit_holds(
    tmp_path: Path, inputs: dict[str, Path], tokenizer: pw.Tokenizer, source: str, options: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match="1 MB of memory are too little") as refused:
        pw.tokenize(inputs[source], tokenizer, out=tmp_path / "ids", memory="1MB", **options)
    smallest = re.search(r"--memory should be (\d+MB) or more", str(refused.value))
    assert smallest
    with _Peak() as peak:
        pw.tokenize(
            inputs[source],
            tokenizer,
            out=tmp_path / "ids",
            threads=2,
            memory=smallest[1],
            warn=lambda _: None,
            shard_size=4_000_000,
            **options,
        )
    assert 20_000_000 < peak.size_bytes < parse_size(smallest[1])


def test_processes_that_fit(tmp_path: Path, tokenizer: pw.Tokenizer) -> None:
    (tmp_path / "a.jsonl").write_bytes(jsonl(["a"]))
    plan = make_plan(Source.from_files([tmp_path / "a.jsonl"]), tokenizer, format_name="megatron")
    found = [DatasetBudget.share_out(size * 1_000_000, plan, 8).processes for size in (250, 400, 1000, 9000)]
    assert found == sorted(found)
    assert (found[0], found[-1]) == (1, 8)
