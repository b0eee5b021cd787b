"""How the cost of training grows with the text: 20, 100 and 400 MB, piecework and SentencePiece."""

import math
import shutil
from itertools import pairwise
from typing import Any

from benchmarks.markdown import DASH, OURS, Result, figure, ratio, sameness, size_of, table
from benchmarks.measure import Bench, from_command_line, interleave, save
from benchmarks.text import SIZES_MB, text_path
from benchmarks.train import THREADS, VOCAB_SIZE, compare, piecework_trainer, sentencepiece_trainer

MEASURES = ("cpu_s", "wall_s", "peak_memory_mb")


def exponent(smaller: tuple[float, float], larger: tuple[float, float]) -> float:
    """b in cost = a * size^b, from two pairs of (size, cost): 1 is linear.

    >>> exponent((20, 3.0), (80, 6.0))
    0.5
    """
    return round(math.log(larger[1] / smaller[1]) / math.log(larger[0] / smaller[0]), 3)


def benchmark(bench: Bench) -> dict[str, Any]:
    sizes_mb = SIZES_MB[:1] if bench.quick else SIZES_MB
    rows = []
    for size_mb in sizes_mb:
        text, out = text_path(bench.work, size_mb), bench.work / f"growth_{size_mb}mb"
        shutil.rmtree(out, ignore_errors=True)
        contenders = [
            piecework_trainer(text, out / "piecework"),
            sentencepiece_trainer(text, out / "sentencepiece"),
        ]
        rounds = bench.rounds if size_mb < 200 else 1
        rows.append(
            {
                "text": bench.describe_text(size_mb),
                "contenders": interleave(contenders, rounds=rounds),
                "same_pieces_and_scores": compare(out / "piecework", out / "sentencepiece"),
            }
        )
    return {
        "settings": {
            "vocab_size": VOCAB_SIZE,
            "threads": THREADS,
            "recipe": "gpt-sw3 without whitespace runs",
        },
        "sizes": rows,
        "exponents": {name: _exponents(rows, name) for name in ("piecework", "SentencePiece")},
    }


def _exponents(rows: list[dict[str, Any]], name: str) -> dict[str, list[float]]:
    """The exponents between each size and the next one, for each measure."""
    done = [row for row in rows if row["contenders"][name]["state"] == "ok"]
    return {
        measure: [
            exponent(
                (small["text"]["size_bytes"], small["contenders"][name][measure]["median"]),
                (large["text"]["size_bytes"], large["contenders"][name][measure]["median"]),
            )
            for small, large in pairwise(done)
        ]
        for measure in MEASURES
    }


def growth_section(result: Result) -> list[str]:
    """Markdown for RESULTS.md."""
    rows = []
    for size in result["sizes"]:
        ours = size["contenders"][OURS]
        for name, row in size["contenders"].items():
            if row["state"] != "ok":
                rows.append([f"{size_of(size['text'])}, {name}", row["state"], *[DASH] * 5])
                continue
            rows.append(
                [
                    f"{size_of(size['text'])}, {name}",
                    figure(row["cpu_s"]),
                    figure(row["wall_s"]),
                    figure(row["peak_memory_mb"], digits=0),
                    *(ratio(row, ours, measure) for measure in ("cpu_s", "wall_s", "peak_memory_mb")),
                ]
            )
    lines = [
        "## How the cost of training grows",
        "",
        " ".join(f"{size_of(size['text'])}: {sameness(size['same_pieces_and_scores'])}" for size in result["sizes"]),
        "",
        *table(["", "CPU s", "wall s", "peak MB", "CPU", "wall", "memory"], rows),
    ]
    exponents = {name: each for name, each in result["exponents"].items() if each["cpu_s"]}
    if exponents:
        spans = [size_of(size["text"]) for size in result["sizes"]]
        lines += [
            f"Growth exponents (1 is linear, below 1 the cost per MB falls), from one size to the next of "
            f"{', '.join(spans)}. The mix of the text changes with its size, so these are of this text:",
            "",
            *table(
                ["", "CPU", "wall", "memory"],
                (
                    [
                        name,
                        *(", ".join(f"{e:.2f}" for e in each[m]) for m in ("cpu_s", "wall_s", "peak_memory_mb")),
                    ]
                    for name, each in exponents.items()
                ),
            ),
        ]
    return lines


if __name__ == "__main__":
    told = from_command_line("growth", __doc__)
    save(told.results, "growth", benchmark(told))
