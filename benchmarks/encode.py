"""Encoding on one thread: MB per CPU second with cold and with warm caches, and whether the ids agree."""

import sys
from pathlib import Path
from typing import Any

from benchmarks.markdown import DASH, OUR_ARRAYS, OURS, Result, figure, our_encoder, speed_ratio, table, versioned
from benchmarks.measure import Bench, Contender, contender_command, from_command_line, interleave, run, save
from benchmarks.train import piecework_trainer

# SentencePiece encodes this much in about 5 s. The fast libraries also encode the whole text.
SAMPLE_MB = 12
DIGEST_BYTES = 8
NAMES = {
    "piecework": OURS,
    "piecework-arrays": OUR_ARRAYS,
    "sentencepiece": "SentencePiece",
    "gigatoken": "gigatoken (arrays)",
    "gigatoken-lists": "gigatoken (lists)",
    "kitoken": "kitoken",
}
FAST = ("piecework", "piecework-arrays", "gigatoken", "gigatoken-lists")


def benchmark(bench: Bench) -> dict[str, Any]:
    tables = []
    for whitespace_runs in ("none", "portable"):
        model = trained_model(bench, whitespace_runs)
        if model is None:
            continue
        for layout in ("2 KB", "whole"):
            tables.append(
                measure_encoders(bench, model, whitespace_runs=whitespace_runs, layout=layout, sample_mb=SAMPLE_MB)
            )
        if whitespace_runs == "none" and not bench.quick:
            tables.append(
                measure_encoders(bench, model, whitespace_runs="none", layout="2 KB", libraries=FAST, sample_mb=0)
            )
    return {"text": bench.describe_text(), "settings": {"threads": 1, "vocab_size": 64_000}, "tables": tables}


def trained_model(bench: Bench, whitespace_runs: str) -> Path | None:
    """A model that piecework trains on the same text."""
    out = bench.work / f"encode_{bench.size_mb}mb" / whitespace_runs
    trained = run(piecework_trainer(bench.text_file, out, whitespace_runs=whitespace_runs))
    if trained.state == "ok":
        return out / "tokenizer.model"
    print(f"  no model with whitespace_runs={whitespace_runs}: training {trained.state}", file=sys.stderr)
    return None


def measure_encoders(
    bench: Bench,
    model: Path,
    *,
    whitespace_runs: str,
    layout: str,
    sample_mb: int,
    libraries: tuple[str, ...] = tuple(NAMES),
) -> dict[str, Any]:
    """One table: the same model and documents for all libraries. `sample_mb` 0 is the whole text."""
    print(
        f"  whitespace runs {whitespace_runs}, {layout} documents, {sample_mb or bench.size_mb} MB",
        file=sys.stderr,
    )
    digests = {library: bench.work / f"ids_{library}" for library in libraries}
    for path in digests.values():
        path.unlink(missing_ok=True)
    contenders = [
        Contender(
            NAMES[library],
            contender_command("encode", library, model, bench.text_file, layout, sample_mb, digests[library]),
            package=library.removesuffix("-lists").removesuffix("-arrays"),
            threads=1,
        )
        for library in libraries
    ]
    results = interleave(contenders, rounds=bench.rounds)
    reference = "sentencepiece" if "sentencepiece" in libraries else "piecework"
    return {
        "whitespace_runs": whitespace_runs,
        "layout": layout,
        "contenders": results,
        "ids_compared_with": NAMES[reference],
        "documents_that_differ": {
            NAMES[library]: differing(digests[library], digests[reference]) for library in libraries
        },
    }


def differing(path: Path, reference: Path) -> int | None:
    """How many documents have other ids than the reference, or None if one of the two did not run."""
    if not (path.exists() and reference.exists()):
        return None
    one, other = path.read_bytes(), reference.read_bytes()
    starts = range(0, max(len(one), len(other)), DIGEST_BYTES)
    return sum(one[start : start + DIGEST_BYTES] != other[start : start + DIGEST_BYTES] for start in starts)


def encode_section(result: Result) -> list[str]:
    """Markdown for RESULTS.md."""
    lines = [
        "## Encoding on one thread",
        "",
        "MB of text per CPU second: the first pass over the documents, with cold caches, and a second pass "
        "over the same documents, with a model that piecework trained on the same text. Ratios are "
        "piecework's speed divided by the peer's: more than 1, piecework is faster. Arrays of ids are compared with "
        "arrays, and lists with lists.",
        "",
    ]
    for part in result["tables"]:
        rows = []
        size_mb = 0.0
        documents = 0
        for name, row in part["contenders"].items():
            ours = our_encoder(part["contenders"], name)
            if row["state"] != "ok":
                rows.append([versioned(result, name), row["state"], *[DASH] * 5])
                continue
            size_mb, documents = row["size_bytes"] / 1e6, row["documents"]
            differ = part["documents_that_differ"][name]
            rows.append(
                [
                    versioned(result, name),
                    figure(row["first_mb_per_cpu_s"]),
                    figure(row["second_mb_per_cpu_s"]),
                    speed_ratio(row, ours, "first_mb_per_cpu_s"),
                    speed_ratio(row, ours, "second_mb_per_cpu_s"),
                    DASH if differ is None else f"{differ:,}",
                    figure(row["peak_memory_mb"], digits=0),
                ]
            )
        runs = "no whitespace runs" if part["whitespace_runs"] == "none" else f"runs {part['whitespace_runs']}"
        layout = "whole documents" if part["layout"] == "whole" else f"documents of about {part['layout']}"
        lines += [
            f"{size_mb:,.0f} MB in {documents:,} {layout}; a model with {runs}; ids compared with "
            f"{part['ids_compared_with']}'s:",
            "",
            *table(
                ["", "first", "second", "ratio, first", "ratio, second", "documents that differ", "peak MB"],
                rows,
            ),
        ]
    return lines


if __name__ == "__main__":
    told = from_command_line("encode", __doc__)
    save(told.results, "encode", benchmark(told))
