"""Documents to Megatron's `.bin` and `.idx`: MB of text per CPU second, end to end, from JSONL.zst and Parquet; memory.

The peers are what one would write: SentencePiece in a pool of processes, which is Megatron's way, and the batch
encoding of tokenizers and gigatoken. All read the same files, encode with the same model, and write the same two files.
The slow peers get a tenth of the documents, and tokenizers runs once: rates are per MB, so they compare.
"""

import itertools
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.documents import PROCESSES, Memory, cpu_seconds, prepare, read_texts
from benchmarks.markdown import DASH, OURS, Result, figure, size_of, speed_ratio, table
from benchmarks.measure import Bench, Contender, from_command_line, interleave, save
from benchmarks.measure import run as run_once
from benchmarks.text import text_path
from benchmarks.train import piecework_trainer

FORMATS = ("JSONL.zst", "Parquet")
SIZES = (32_000, 48_000, 64_000)
SLOW_SHARE = 10
GROWTH = 10
"""How often the same files are given, to see whether memory grows."""
GROWTH_MEMORY = "600MB"


def benchmark(bench: Bench) -> dict[str, Any]:
    size_mb = bench.size_mb if bench.quick else 400
    text = text_path(bench.work, size_mb)
    corpus, part = bench.work / f"tokenize_{size_mb}mb", bench.work / f"tokenize_{size_mb}mb_part"
    prepare(text, corpus, formats=FORMATS)
    prepare(text, part, share=SLOW_SHARE, formats=FORMATS)
    out = bench.work / "tokenize_model"
    trained = run_once(piecework_trainer(text_path(bench.work, 20), out, whitespace_runs="none"))
    if trained.state != "ok":
        raise SystemExit(f"no model: training {trained.state}")
    contenders = []
    for name in FORMATS:
        contenders += [
            Contender(f"piecework, {name}", command("piecework", corpus / name, out), package="piecework"),
            Contender(
                f"piecework, 3 sizes, {name}", command("piecework-sizes", corpus / name, out), package="piecework"
            ),
            Contender(f"gigatoken, {name}", command("gigatoken", corpus / name, out, name), package="gigatoken"),
            Contender(
                f"SentencePiece in a pool, {name}",
                command("sentencepiece", part / name, out, name),
                package="sentencepiece",
            ),
            Contender(
                f"tokenizers, {name}", command("tokenizers", part / name, out, name), package="tokenizers", rounds=1
            ),
        ]
    results = interleave(contenders, rounds=bench.rounds)
    growth = interleave(
        [
            Contender(f"{times} times", command("piecework", corpus / "JSONL.zst", out, times), package="piecework")
            for times in (1, GROWTH)
        ],
        rounds=1,
    )
    return {
        "text": bench.describe_text(size_mb),
        "settings": {"processes": PROCESSES, "sizes": SIZES, "memory": GROWTH_MEMORY, "slow_share": SLOW_SHARE},
        "contenders": results,
        "growth": growth,
    }


def command(name: str, *arguments: object) -> list[str]:
    return [sys.executable, "-m", "benchmarks.tokenize", "run", name, *map(str, arguments)]


# What runs in processes of its own.


def tokenize_piecework(folder: str, model: str, times: str = "1", sizes: tuple[int, ...] = ()) -> dict[str, Any]:
    import piecework

    out = Path(folder) / "out-piecework"
    shutil.rmtree(out, ignore_errors=True)
    files = sorted(map(str, Path(folder).glob("all_xx-*"))) * int(times)
    started = cpu_seconds()
    with Memory() as peak:
        dataset = piecework.tokenize(files, model, out=out, threads=PROCESSES, memory=GROWTH_MEMORY, sizes=sizes)
    found = _figures(dataset.subset_rows[0]["text_bytes"], dataset.tokens, started, peak)
    shutil.rmtree(out)
    return found


def tokenize_sizes(folder: str, model: str) -> dict[str, Any]:
    return tokenize_piecework(folder, model, sizes=SIZES)


def tokenize_sentencepiece(folder: str, model: str, layout: str) -> dict[str, Any]:
    import multiprocessing

    import numpy as np

    started = cpu_seconds()
    size_bytes = 0
    with Memory() as peak, multiprocessing.get_context("spawn").Pool(PROCESSES, _load, [model]) as pool:
        writer = _Writer(Path(folder) / "peer")
        documents = (text for path in _files(folder) for text in read_texts(path, layout))
        for ids, size in pool.imap(_encode, documents, chunksize=32):
            writer.add(np.array(ids, np.uint16).tobytes(), [len(ids)])
            size_bytes += size
        tokens = writer.close()
        pool.close()
        pool.join()
    return _figures(size_bytes, tokens, started, peak)


_processor: Any = None


def _load(model: str) -> None:
    global _processor
    import sentencepiece

    _processor = sentencepiece.SentencePieceProcessor(model_file=f"{model}/tokenizer.model")


def _encode(text: str) -> tuple[list[int], int]:
    return _processor.encode(text), len(text.encode())


def tokenize_in_batches(
    folder: str, layout: str, encode: Callable[[list[str]], tuple[bytes, list[int]]]
) -> dict[str, Any]:
    """Reads, encodes batches of 1,000 documents on all cores, and writes."""
    started = cpu_seconds()
    size_bytes = 0
    with Memory() as peak:
        writer = _Writer(Path(folder) / "peer")
        documents = (text for path in _files(folder) for text in read_texts(path, layout))
        while batch := list(itertools.islice(documents, 1000)):
            writer.add(*encode(batch))
            size_bytes += sum(len(text.encode()) for text in batch)
        tokens = writer.close()
    return _figures(size_bytes, tokens, started, peak)


def tokenize_gigatoken(folder: str, model: str, layout: str) -> dict[str, Any]:
    import gigatoken
    import numpy as np

    tokenizer = gigatoken.Tokenizer.from_sentencepiece(f"{model}/tokenizer.model")

    def encode(texts: list[str]) -> tuple[bytes, list[int]]:
        arrays = [np.asarray(ids) for ids in tokenizer.encode_batch(texts, parallel=True)]
        return np.concatenate(arrays).astype(np.uint16).tobytes(), list(map(len, arrays))

    return tokenize_in_batches(folder, layout, encode)


def tokenize_tokenizers(folder: str, model: str, layout: str) -> dict[str, Any]:
    import numpy as np
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(f"{model}/tokenizer.json")

    def encode(texts: list[str]) -> tuple[bytes, list[int]]:
        rows = [found.ids for found in tokenizer.encode_batch(texts, add_special_tokens=False)]
        return np.concatenate([np.array(ids, np.uint16) for ids in rows]).tobytes(), list(map(len, rows))

    return tokenize_in_batches(folder, layout, encode)


class _Writer:
    """Writes `.bin` and `.idx` as Megatron does: lengths in memory, and the index at the end."""

    def __init__(self, stem: Path) -> None:
        self._stem = stem
        self._ids = Path(f"{stem}.bin").open("wb")  # noqa: SIM115
        self._lengths: list[int] = []

    def add(self, ids: bytes, lengths: list[int]) -> None:
        self._ids.write(ids)
        self._lengths += lengths

    def close(self) -> int:
        import struct

        import numpy as np

        self._ids.close()
        lengths = np.array(self._lengths, np.int32)
        offsets = np.cumsum(lengths, dtype=np.int64) * 2
        with Path(f"{self._stem}.idx").open("wb") as index:
            index.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, len(lengths), len(lengths) + 1))
            index.write(lengths.tobytes() + (offsets - lengths * 2).tobytes())
            index.write(np.arange(len(lengths) + 1, dtype=np.int64).tobytes())
        for suffix in (".bin", ".idx"):
            Path(f"{self._stem}{suffix}").unlink()
        return int(lengths.sum(dtype=np.int64))


def _files(folder: str) -> Iterator[Path]:
    return iter(sorted(Path(folder).glob("all_xx-*")))


def _figures(size_bytes: int, tokens: int, started: float, peak: Memory) -> dict[str, Any]:
    cpu_s = cpu_seconds() - started - peak.cpu_s
    return {
        "mb_per_cpu_s": size_bytes / 1e6 / cpu_s,
        "tree_memory_mb": peak.peak_bytes / 1e6,
        "size_bytes": size_bytes,
        "tokens": tokens,
    }


JOBS: dict[str, Callable[..., dict[str, Any]]] = {
    "piecework": tokenize_piecework,
    "piecework-sizes": tokenize_sizes,
    "sentencepiece": tokenize_sentencepiece,
    "gigatoken": tokenize_gigatoken,
    "tokenizers": tokenize_tokenizers,
}


def tokenize_section(result: Result) -> list[str]:
    """Markdown for RESULTS.md."""
    contenders = result["contenders"]
    rows = []
    for name, row in contenders.items():
        if row["state"] != "ok":
            rows.append([name, row["state"], *[DASH] * 4])
            continue
        ours = contenders.get(f"piecework, {name.rsplit(', ', 1)[-1]}")
        rows.append(
            [
                name,
                f"{row['size_bytes'] / 1e6:,.0f}",
                figure(row["mb_per_cpu_s"]),
                figure(row["wall_s"]),
                figure(row["tree_memory_mb"], digits=0),
                speed_ratio(row, ours, "mb_per_cpu_s") if not name.startswith(f"{OURS}, J") else DASH,
            ]
        )
    grown = [
        [
            f"the same files {name}",
            f"{row['size_bytes'] / 1e6:,.0f}",
            figure(row["mb_per_cpu_s"]),
            figure(row["wall_s"]),
            figure(row["tree_memory_mb"], digits=0),
        ]
        for name, row in result["growth"].items()
        if row["state"] == "ok"
    ]
    return [
        "## Documents to training shards",
        "",
        f"{size_of(result['text'])} of text to Megatron's files, {result['settings']['processes']} processes, "
        f"64,000 pieces; piecework with --memory {result['settings']['memory']}. SentencePiece and tokenizers get one "
        f"document in {result['settings']['slow_share']}; rates are per MB. Memory is that of all processes "
        "together; what they share counts for each of them.",
        "",
        *table(["", "MB", "MB per CPU s", "wall s", "memory MB", "piecework's speed"], rows),
        *table(["", "MB", "MB per CPU s", "wall s", "memory MB"], grown),
    ]


def main() -> None:
    if sys.argv[1:2] == ["run"]:
        import json

        print(json.dumps(JOBS[sys.argv[2]](*sys.argv[3:])))
        return
    bench = from_command_line("tokenize", __doc__)
    save(bench.results, "tokenize", benchmark(bench))


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    main()
