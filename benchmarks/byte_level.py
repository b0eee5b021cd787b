"""Byte-level BPE: training at 20, 100 and 400 MB, counting pre-tokens, encoding on one thread, beside its peers."""

import shutil
import sys
from typing import Any

from benchmarks.encode import differing
from benchmarks.markdown import (
    DASH,
    OUR_ARRAYS,
    OURS,
    Result,
    figure,
    our_encoder,
    ratio,
    size_of,
    speed_ratio,
    table,
    versioned,
)
from benchmarks.measure import Bench, Contender, from_command_line, interleave, run, save
from benchmarks.text import text_path

VOCAB_SIZE = 64_000
THREADS = 2
PRE_TOKENIZERS = ("gpt2", "cl100k", "o200k", "tekken", "llama3", "qwen2", "deepseek-v3", "custom")
ENCODERS = {
    "piecework": OURS,
    "piecework-arrays": OUR_ARRAYS,
    "tiktoken": "tiktoken",
    "tokenizers": "Hugging Face tokenizers",
    "gigatoken": "gigatoken (arrays)",
    "gigatoken-lists": "gigatoken (lists)",
}
# `tokenizers` encodes this much in about 5 s. The fast libraries also encode the whole text.
SAMPLE_MB = 12
FAST = ("piecework", "piecework-arrays", "tiktoken", "gigatoken", "gigatoken-lists")


def command(job: str, *arguments: object) -> list[str]:
    return [sys.executable, "-m", "benchmarks.byte_level_contenders", job, *map(str, arguments)]


def benchmark(bench: Bench) -> dict[str, Any]:
    sizes = [bench.size_mb] if bench.quick else [20, 100, 400]
    trainings = [measure_training(bench, size_mb) for size_mb in sizes]
    counting = [
        Contender(name, command("count", bench.text_file, name), package="piecework", threads=1)
        for name in PRE_TOKENIZERS
    ]
    return {
        "text": bench.describe_text(),
        "settings": {"vocab_size": VOCAB_SIZE, "threads": THREADS},
        "trainings": trainings,
        "counting": interleave(counting, rounds=bench.rounds),
        "encoding": measure_encoding(bench),
    }


def measure_training(bench: Bench, size_mb: int) -> dict[str, Any]:
    text, out = text_path(bench.work, size_mb), bench.work / f"byte_level_{size_mb}mb"
    shutil.rmtree(out, ignore_errors=True)
    rounds = bench.rounds if size_mb <= 100 else 1
    contenders = [
        Contender(OURS, command("train-piecework", text, out / "ours", VOCAB_SIZE, THREADS), package="piecework"),
        Contender(
            "Hugging Face tokenizers",
            command("train-tokenizers", text, out / "tokenizers", VOCAB_SIZE),
            package="tokenizers",
            rounds=1,
            limit_s=900,
        ),
        Contender("gigatoken", command("train-gigatoken", text, out / "gigatoken", VOCAB_SIZE), package="gigatoken"),
        Contender("rustbpe", command("train-rustbpe", text, out / "rustbpe", VOCAB_SIZE), package="rustbpe"),
    ]
    if bench.quick:
        contenders = contenders[:1]
    results = interleave(contenders, rounds=rounds)
    both = [out / "ours", out / "tokenizers"]
    there = all((folder / "tokenizer.json").exists() for folder in both)
    same = dict(run(Contender("compare", command("compare", *both))).detail) if there else {}
    return {"text": bench.describe_text(size_mb), "contenders": results, "same_as_tokenizers": same}


def measure_encoding(bench: Bench) -> list[dict[str, Any]]:
    model = bench.work / f"byte_level_{bench.size_mb}mb" / "ours"
    tables = []
    layouts = [("2 KB", SAMPLE_MB, tuple(ENCODERS)), ("2 KB", 0, FAST), ("whole", 0, FAST)]
    for layout, sample_mb, libraries in layouts[:1] if bench.quick else layouts:
        digests = {library: bench.work / f"byte_level_ids_{library}" for library in libraries}
        for path in digests.values():
            path.unlink(missing_ok=True)
        contenders = [
            Contender(
                ENCODERS[library],
                command("encode", library, model, bench.text_file, layout, sample_mb, digests[library]),
                package=library.removesuffix("-lists").removesuffix("-arrays"),
                threads=1,
            )
            for library in libraries
        ]
        results = interleave(contenders, rounds=bench.rounds)
        differ = {ENCODERS[library]: differing(digests[library], digests["tiktoken"]) for library in libraries}
        tables.append({"layout": layout, "contenders": results, "documents_that_differ": differ})
    return tables


def byte_level_section(result: Result) -> list[str]:
    """Markdown for RESULTS.md."""
    settings = result["settings"]
    lines = [
        "## Byte-level BPE",
        "",
        f"Training {settings['vocab_size']:,} tokens with the pattern of GPT-4o from a text file to a saved file, "
        f"with {settings['threads']} threads, the start of Python included. gigatoken has a pattern of its own. "
        "Ratios are the peer's cost divided by piecework's.",
        "",
    ]
    for training in result["trainings"]:
        ours = training["contenders"].get(OURS)
        rows = []
        for name, row in training["contenders"].items():
            if row["state"] != "ok":
                rows.append([versioned(result, name), row["state"], *[DASH] * 5])
                continue
            costs = [ratio(row, ours, measure) for measure in ("cpu_s", "wall_s", "peak_memory_mb")]
            figures = [figure(row["cpu_s"]), figure(row["wall_s"]), figure(row["peak_memory_mb"], digits=0)]
            rows.append([versioned(result, name), *figures, *costs])
        lines += table([size_of(training["text"]), "CPU s", "wall s", "peak MB", "CPU", "wall", "memory"], rows)
        if same := training["same_as_tokenizers"]:
            verdict = "equal" if same["equal"] else "**differ from**"
            lines += [f"Piecework's {same['pieces']:,} tokens and their merges {verdict} those of `tokenizers`.", ""]
    lines += [f"Counting pre-tokens of {size_of(result['text'])} in memory, on one thread:", ""]
    rows = [
        [name, figure(row["mb_per_cpu_s"], digits=0), f"{row['distinct']:,}"]
        for name, row in result["counting"].items()
        if row["state"] == "ok"
    ]
    lines += table(["", "MB per CPU s", "distinct"], rows)
    lines += [
        "Encoding on one thread with piecework's tokenizer of the same text, MB per CPU second: a first pass with cold "
        "caches, and a second over the same documents. Ratios are piecework's speed divided by the peer's: arrays of "
        "ids are compared with arrays, and lists with lists.",
        "",
    ]
    for part in result["encoding"]:
        lines += _encoding_table(result, part)
    return lines


def _encoding_table(result: Result, part: Result) -> list[str]:
    rows, size_mb = [], 0.0
    for name, row in part["contenders"].items():
        ours = our_encoder(part["contenders"], name)
        if row["state"] != "ok":
            rows.append([versioned(result, name), row["state"], *[DASH] * 4])
            continue
        size_mb = row["size_bytes"] / 1e6
        differ = part["documents_that_differ"][name]
        measures = ("first_mb_per_cpu_s", "second_mb_per_cpu_s")
        cells = [text for m in measures for text in (figure(row[m]), speed_ratio(row, ours, m))]
        rows.append(
            [versioned(result, name), *cells, DASH if differ is None else f"{differ:,} of {row['documents']:,}"]
        )
    title = f"{part['layout']} documents, {size_mb:,.0f} MB"
    return table([title, "cold", "ratio", "warm", "ratio", "documents with other ids"], rows)


if __name__ == "__main__":
    told = from_command_line("byte_level", __doc__)
    save(told.results, "byte_level", benchmark(told))
