"""Encoding on one thread: MB per CPU second with cold and with warm caches, and whether the ids agree."""

import sys
from pathlib import Path
from typing import Any

from benchmarks.measure import Bench, Contender, contender_command, from_command_line, interleave, run, save
from benchmarks.train import piecework_trainer

# What SentencePiece does in about 5 s; the fast ones encode the whole text as well.
SAMPLE_MB = 12
DIGEST_BYTES = 8
NAMES = {
    "piecework": "piecework",
    "sentencepiece": "SentencePiece",
    "gigatoken": "gigatoken (arrays)",
    "gigatoken-lists": "gigatoken (lists)",
    "kitoken": "kitoken",
}
FAST = ("piecework", "gigatoken", "gigatoken-lists")


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
            package=library.removesuffix("-lists"),
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
    """How many documents have other ids than the reference; nothing where one of the two did not run."""
    if not (path.exists() and reference.exists()):
        return None
    one, other = path.read_bytes(), reference.read_bytes()
    starts = range(0, max(len(one), len(other)), DIGEST_BYTES)
    return sum(one[start : start + DIGEST_BYTES] != other[start : start + DIGEST_BYTES] for start in starts)


if __name__ == "__main__":
    told = from_command_line("encode", __doc__)
    save(told.results, "encode", benchmark(told))
