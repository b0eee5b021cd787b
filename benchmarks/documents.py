"""Documents to counts: MB of text per CPU second from JSONL, JSONL.zst and Parquet; memory; the share of reading.

The peer is what one would write without piecework: pyarrow reads, `collections.Counter` counts, on a pool of
as many processes. It counts the same training words, all of them, without sampling; the tables are compared.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks.markdown import DASH, OURS, Result, figure, size_of, speed_ratio, table
from benchmarks.measure import Bench, Contender, from_command_line, interleave, run, save
from benchmarks.text import load_text, read_documents, text_path

FORMATS = ("JSONL", "JSONL.zst", "Parquet")
SUFFIXES = {"JSONL": ".jsonl", "JSONL.zst": ".jsonl.zst", "Parquet": ".parquet"}
FILES = 8
PROCESSES = 2
GROWTH = 10
GROWTH_MEMORY = "400MB"
# Two samples: all documents, to measure counting; the shares of the paper, where reading is nearly all of the work.
SAMPLES = {"all": ("100%", "0%"), "paper": ("1%", "0.2%")}


def benchmark(bench: Bench) -> dict[str, Any]:
    text = bench.text_file
    corpus = bench.work / f"documents_{bench.size_mb}mb"
    prepare(text, corpus)
    contenders = []
    for name in FORMATS:
        for sample in SAMPLES:
            ours = f"piecework, {name}, {sample}"
            contenders.append(Contender(ours, command("piecework", corpus / name, sample), package="piecework"))
        peer = command("peer", corpus / name, name)
        contenders.append(Contender(f"pyarrow and Counter, {name}", peer, package="pyarrow", limit_s=1200))
    split = command("sentencepiece", text)
    contenders.append(Contender("SentencePiece, text, load and split", split, package="sentencepiece", limit_s=1200))
    results = interleave(contenders, rounds=bench.rounds)
    return {
        "text": bench.describe_text(),
        "settings": {
            "files": FILES,
            "processes": PROCESSES,
            "samples": SAMPLES,
            "growth_memory": GROWTH_MEMORY,
        },
        "contenders": results,
        "same_tables": {name: _same_tables(corpus / name) for name in FORMATS},
        "reading": {
            f"{name}, {sample}": dict(run(Contender("share", command("share", corpus / name, sample))).detail)
            for name in FORMATS
            for sample in SAMPLES
        },
        "growth": growth(bench),
    }


def growth(bench: Bench) -> list[dict[str, Any]]:
    """A tenth of the largest text that is there, and all of it: memory of all processes together, and speed."""
    sizes = [bench.size_mb] if bench.quick else [400, bench.size_mb]
    size_mb = next(size for size in sizes if text_path(bench.work, size).exists())
    rows = []
    for share in (GROWTH, 1):
        corpus = bench.work / f"documents_{size_mb}mb_1_{share}"
        prepare(text_path(bench.work, size_mb), corpus, share=share, formats=("JSONL.zst",))
        folder = corpus / "JSONL.zst"
        contenders = [
            Contender("piecework", command("piecework", folder, "all"), package="piecework"),
            Contender(
                f"piecework, {GROWTH_MEMORY}", command("piecework", folder, "all", GROWTH_MEMORY), package="piecework"
            ),
            Contender("pyarrow and Counter", command("peer", folder, "JSONL.zst"), package="pyarrow", limit_s=1200),
        ]
        text_mb = round(load_text(bench.work, size_mb).size_mb / share)
        rows.append({"size_mb": text_mb, "contenders": interleave(contenders, rounds=1)})
    return rows


def command(name: str, *arguments: object) -> list[str]:
    return [sys.executable, "-m", "benchmarks.documents", "run", name, *map(str, arguments)]


def prepare(text: Path, corpus: Path, *, share: int = 1, formats: tuple[str, ...] = FORMATS) -> None:
    """Write the documents of a text in every format, unless they are there; in a process of its own."""
    if (corpus / "done").exists():
        return
    shutil.rmtree(corpus, ignore_errors=True)
    done = run(Contender("prepare", command("prepare", text, corpus, share, *formats)))
    if done.state != "ok":
        raise SystemExit(f"cannot prepare {corpus}: {done.state}")
    (corpus / "done").touch()


def _same_tables(folder: Path) -> dict[str, Any]:
    return dict(run(Contender("compare", command("compare", folder))).detail)


# What runs in processes of its own.


def write_documents(text: str, corpus: str, share: str, *formats: str) -> dict[str, Any]:
    import pyarrow
    import pyarrow.parquet
    import zstandard

    documents = [document.decode() for document in read_documents(Path(text))[:: int(share)]]
    for name in formats:
        folder = Path(corpus) / name
        folder.mkdir(parents=True)
        for number in range(FILES):
            path = folder / f"all_xx-{number}{SUFFIXES[name]}"
            part = documents[number::FILES]
            if name == "Parquet":
                pyarrow.parquet.write_table(pyarrow.table({"text": part}), path, compression="zstd")
                continue
            lines = "".join(
                json.dumps({"id": index, "text": line}, ensure_ascii=False) + "\n" for index, line in enumerate(part)
            )
            data = lines.encode()
            path.write_bytes(zstandard.compress(data) if name.endswith("zst") else data)
    return {"documents": len(documents)}


def count_piecework(folder: str, sample: str, memory: str = "4GB") -> dict[str, Any]:
    import piecework

    train, evaluation = SAMPLES[sample]
    study = piecework.Study(
        folder=folder,
        corpus={"path": "{category}_{language}-*"},
        sampling={"train": train, "eval": evaluation},
    )
    out = Path(folder) / f"out-{sample}"
    started = cpu_seconds()
    with Memory() as peak:
        counts = piecework.count(study, out=out, threads=PROCESSES, memory=memory, force=True)
    cpu_s = cpu_seconds() - started - peak.cpu_s
    size_bytes = counts.subsets.column("read_bytes")[0].as_py()
    return {
        "mb_per_cpu_s": size_bytes / 1e6 / cpu_s,
        "tree_memory_mb": peak.peak_bytes / 1e6,
        "size_bytes": size_bytes,
        "distinct": counts.description["tables"]["train"]["rows"],
    }


def count_peer(folder: str, layout: str) -> dict[str, Any]:
    import multiprocessing

    import pyarrow
    import pyarrow.parquet

    started = cpu_seconds()
    words: Counter[str] = Counter()
    size_bytes = 0
    with Memory() as peak:
        paths = sorted(Path(folder).glob("all_xx-*"))
        with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
            for part, size in pool.imap_unordered(_count_file, [(path, layout) for path in paths], chunksize=1):
                words.update(part)
                size_bytes += size
            pool.close()
            pool.join()
        rows = sorted(words.items())
        table = pyarrow.table({"word": [word for word, _ in rows], "count": [count for _, count in rows]})
        pyarrow.parquet.write_table(table, Path(folder) / "peer.parquet", compression="zstd")
    cpu_s = cpu_seconds() - started - peak.cpu_s
    return {
        "mb_per_cpu_s": size_bytes / 1e6 / cpu_s,
        "tree_memory_mb": peak.peak_bytes / 1e6,
        "size_bytes": size_bytes,
        "distinct": len(words),
    }


def _count_file(task: tuple[Path, str]) -> tuple[dict[str, int], int]:
    path, layout = task
    words: Counter[str] = Counter()
    size_bytes = 0
    for text in read_texts(path, layout):
        size_bytes += len(text.encode())
        for line in text.split("\n"):
            if line and "▅" not in line:
                first, *others = line.replace("▁", " ").split(" ")
                words[first] += 1
                words.update([f"▁{word}" for word in others])
    return dict(words), size_bytes


def read_texts(path: Path, layout: str) -> Iterator[str]:
    import pyarrow
    import pyarrow.json
    import pyarrow.parquet

    if layout == "Parquet":
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(columns=["text"]):
            yield from batch.column(0).to_pylist()
        return
    with pyarrow.input_stream(path, compression="zstd" if layout.endswith("zst") else None) as stream:
        table = pyarrow.json.read_json(
            stream,
            read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=64 << 20),
            parse_options=pyarrow.json.ParseOptions(
                explicit_schema=pyarrow.schema([("text", pyarrow.string())]), unexpected_field_behavior="ignore"
            ),
        )
    for chunk in table.column("text").iterchunks():
        yield from chunk.to_pylist()


def split_sentencepiece(text: str) -> dict[str, Any]:
    """Runs SentencePiece until it has its words. It is stopped when its log says so."""
    settings = {
        "input": text,
        "model_prefix": os.devnull,
        "model_type": "bpe",
        "vocab_size": 8000,
        "num_threads": PROCESSES,
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
        "character_coverage": 0.9999,
        "byte_fallback": True,
        "max_sentence_length": 1 << 30,
    }
    program = f"import sentencepiece; sentencepiece.SentencePieceTrainer.train(**{settings!r})"
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    assert process.stderr
    splitting = False
    cpu_s = 0.0
    with Memory() as peak:
        for line in process.stderr:
            splitting = splitting or "Tokenizing input sentences with whitespace" in line
            if splitting and re.search(r"Done! \d+", line):
                fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
                cpu_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
                process.kill()
                break
    process.wait()
    if not cpu_s:
        raise SystemExit("SentencePiece did not say that it has its words")
    size_bytes = Path(text).stat().st_size
    return {
        "mb_per_cpu_s": size_bytes / 1e6 / cpu_s,
        "tree_memory_mb": peak.peak_bytes / 1e6,
        "size_bytes": size_bytes,
    }


def compare_tables(folder: str) -> dict[str, Any]:
    """Whether piecework and the peer have the same words with the same counts."""
    import pyarrow.parquet

    ours = pyarrow.parquet.read_table(Path(folder) / "out-all" / "counts" / "train.parquet")
    peer = pyarrow.parquet.read_table(Path(folder) / "peer.parquet")
    same = dict(zip(ours["word"].to_pylist(), ours["count"].to_pylist(), strict=True)) == dict(
        zip(peer["word"].to_pylist(), peer["count"].to_pylist(), strict=True)
    )
    return {"equal": same, "distinct": len(ours)}


def share_of_reading(folder: str, sample: str) -> dict[str, Any]:
    """CPU seconds on one process. Each step includes all steps before it.

    Reading alone; placing documents as well; counting them in memory; all of counting a shard; merging on top of it.
    """
    import piecework
    from piecework.corpus import open_batches
    from piecework.corpus.passages import PassageChoice
    from piecework.corpus.sampling import Sampler
    from piecework.counting.merge import merge_tables
    from piecework.counting.plan import Plan
    from piecework.counting.shard_results import ShardResults
    from piecework.counting.summary import Summary
    from piecework.counting.tables import DocumentCounter
    from piecework.counting.worker import ShardJob, count_shard

    train, evaluation = SAMPLES[sample]
    study = piecework.Study(
        folder=folder, corpus={"path": "{category}_{language}-*"}, sampling={"train": train, "eval": evaluation}
    )
    plan = Plan.from_study(study)
    sampler = plan.sampler()
    nothing = Sampler(seed=study.seed, train=Fraction(0), evaluation=Fraction(0), weights=plan.weights)
    results = ShardResults(plan, Path(folder) / "share")
    job = ShardJob(sampler, results.partial.folder, 1 << 30)

    def read(chosen: Sampler | None) -> None:
        for shard in plan.shards:
            counter, passage = DocumentCounter(), PassageChoice(shard.subset.language)
            placer = chosen and chosen.placer(shard.subset)
            for batch in open_batches(shard.slices, batch_bytes=1 << 20, lines_as_arrow=True):
                if placer:
                    counter.add_placed(batch.documents, placer, prefix=b"", passage=passage)

    def count() -> None:
        done = [count_shard(job, shard, lambda _: None) for shard in plan.shards]
        counted_s.append(time.process_time())
        with results.merging(done, Summary(plan, done).rows) as jobs:
            for merge_job in jobs:
                merge_tables(merge_job, lambda _: None)

    read(None)  # imports, and the files into the page cache
    reading_s = _timed(lambda: read(None))
    placing_s = _timed(lambda: read(nothing))
    memory_s = _timed(lambda: read(sampler))
    counted_s: list[float] = []
    started_s = time.process_time()
    count()
    counting_s = counted_s[0] - started_s
    merging_s = time.process_time() - counted_s[0]
    shutil.rmtree(results.folder)
    return {
        "reading_cpu_s": reading_s,
        "placing_cpu_s": placing_s,
        "in_memory_cpu_s": memory_s,
        "counting_cpu_s": counting_s,
        "merging_cpu_s": merging_s,
        "share": reading_s / counting_s,
    }


def _timed(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


def cpu_seconds() -> float:
    """CPU seconds of this process, and of the child processes that it has waited for."""
    return sum(os.times()[:4])


class Memory:
    """The largest memory that this process and all processes below it had at one moment, measured every 20 ms."""

    def __init__(self) -> None:
        self.peak_bytes = 0
        self.cpu_s = 0.0
        """CPU seconds of the measuring itself, which are left out."""
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "Memory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        page = os.sysconf("SC_PAGE_SIZE")
        while not self._done.wait(0.02):
            total = 0
            for pid in _tree(os.getpid()):
                try:
                    total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page
                except OSError:
                    continue
            self.peak_bytes = max(self.peak_bytes, total)
        self.cpu_s = time.thread_time()


def _tree(pid: int) -> Iterator[int]:
    """A process and all below it."""
    yield pid
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = path.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from _tree(int(child))


JOBS: dict[str, Callable[..., dict[str, Any]]] = {
    "prepare": write_documents,
    "piecework": count_piecework,
    "peer": count_peer,
    "sentencepiece": split_sentencepiece,
    "compare": compare_tables,
    "share": share_of_reading,
}


def documents_section(result: Result) -> list[str]:
    """Markdown for RESULTS.md."""
    contenders, settings = result["contenders"], result["settings"]
    rows = []
    for name, row in contenders.items():
        if row["state"] != "ok":
            rows.append([name, row["state"], *[DASH] * 4])
            continue
        # The peer counts all documents, so it is compared with piecework on all documents of the same format.
        ours = contenders.get(f"piecework, {name.rsplit(', ', 1)[-1]}, all") or contenders["piecework, JSONL, all"]
        rows.append(
            [
                name,
                figure(row["mb_per_cpu_s"]),
                figure(row["wall_s"]),
                figure(row["tree_memory_mb"], digits=0),
                DASH if name.startswith(OURS) else speed_ratio(row, ours, "mb_per_cpu_s"),
                str(row["rounds"]),
            ]
        )
    checks = result["same_tables"]
    same = [name for name, check in checks.items() if check.get("equal")]
    verdict = f"The peer's counts equal piecework's from {', '.join(same)}." if same else "No counts were equal."
    different = [name for name in checks if name not in same]
    if different:
        verdict += f" **From {', '.join(different)} they differ, or were not compared.**"
    reading = [
        [
            name,
            f"{row['reading_cpu_s']:.2f}",
            f"{row['placing_cpu_s'] - row['reading_cpu_s']:.2f}",
            f"{row['counting_cpu_s'] - row['placing_cpu_s']:.2f}",
            f"{row['share']:.0%}",
        ]
        for name, row in result["reading"].items()
        if row
    ]
    grown = [
        [
            f"{size['size_mb']:,} MB, {name}",
            figure(row["mb_per_cpu_s"]),
            figure(row["wall_s"]),
            figure(row["tree_memory_mb"], digits=0),
        ]
        for size in result["growth"]
        for name, row in size["contenders"].items()
        if row["state"] == "ok"
    ]
    return [
        f"## Documents to counts, {size_of(result['text'])} of text",
        "",
        f"{settings['files']} files, {settings['processes']} processes, from the command to the sorted tables on "
        "disk: starting processes, reading, sampling, counting, merging. `all` counts every document for training, "
        "`paper` samples 1 % for training and 0.2 % for evaluation. The peer reads with pyarrow and counts with "
        "`collections.Counter` in a pool of as many processes, all of it and without sampling; SentencePiece is "
        "stopped when it has its words. Memory is that of all processes together; what they share counts for each of "
        f"them. {verdict}",
        "",
        *table(["", "MB of text per CPU s", "wall s", "peak MB", "piecework is faster", "runs"], rows),
        "Where the time of one process goes, in CPU seconds:",
        "",
        *table(["", "reading", "placing", "counting and writing", "share of reading"], reading),
        "While the input grows, from JSONL.zst, everything counted, without and with a limit on memory:",
        "",
        *table(["", "MB of text per CPU s", "wall s", "peak MB"], grown),
    ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        print(json.dumps(JOBS[sys.argv[2]](*sys.argv[3:])))
    else:
        told = from_command_line("documents", __doc__)
        save(told.results, "documents", benchmark(told))
