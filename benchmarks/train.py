"""Training end to end at 64,000 pieces: text file to saved vocabulary, the start of Python included."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.markdown import DASH, OURS, Result, figure, ratio, sameness, size_of, table, versioned
from benchmarks.measure import Bench, Contender, contender_command, from_command_line, interleave, run, save

VOCAB_SIZE = 64_000
OLDER_SENTENCEPIECE = Path(sys.prefix) / "oracles" / "sentencepiece-0.2.2"
THREADS = 2


def piecework_trainer(text: Path, out: Path, *, whitespace_runs: str = "none") -> Contender:
    beside = Path(sys.executable).with_name("piecework")
    program = str(beside) if beside.exists() else shutil.which("piecework") or str(beside)
    command = [
        program,
        "train",
        str(text),
        "--out",
        str(out),
        "--recipe",
        "gpt-sw3",
        "--vocab-size",
        str(VOCAB_SIZE),
    ]
    command += ["--set", f"whitespace_runs={whitespace_runs}", "--threads", str(THREADS), "--force"]
    return Contender("piecework", command, package="piecework")


def sentencepiece_trainer(text: Path, out: Path) -> Contender:
    command = contender_command("train-sentencepiece", text, out, VOCAB_SIZE, THREADS)
    return Contender("SentencePiece", command, package="sentencepiece")


def older_sentencepiece_trainer(text: Path, out: Path) -> Contender:
    """The release before the current one, from the folder into which the Makefile installs it."""
    newest = sentencepiece_trainer(text, out)
    return replace(
        newest, name=f"SentencePiece {OLDER_SENTENCEPIECE.name.rpartition('-')[2]}", release=OLDER_SENTENCEPIECE
    )


def compare(first: Path, second: Path) -> dict[str, Any]:
    """Whether two trained models have the same pieces and scores; empty if one of them is missing."""
    models = [first / "tokenizer.model", second / "tokenizer.model"]
    if not all(model.exists() for model in models):
        return {}
    return dict(run(Contender("compare", contender_command("compare-models", *models))).detail)


def benchmark(bench: Bench) -> dict[str, Any]:
    text, out = bench.text_file, bench.work / f"train_{bench.size_mb}mb"
    shutil.rmtree(out, ignore_errors=True)  # an old model must not stand in for one that failed
    peers = {
        "Hugging Face tokenizers": Contender(
            "Hugging Face tokenizers",
            contender_command("train-tokenizers", text, out / "tokenizers", VOCAB_SIZE),
            package="tokenizers",
            rounds=1,
            limit_s=1800,
        ),
        "gigatoken": Contender(
            "gigatoken",
            contender_command("train-gigatoken", text, out / "gigatoken", VOCAB_SIZE),
            package="gigatoken",
            limit_s=1800,
        ),
        "rustbpe": Contender(
            "rustbpe",
            contender_command("train-rustbpe", text, out / "rustbpe", VOCAB_SIZE),
            package="rustbpe",
            limit_s=1800,
        ),
    }
    ours, oracle = out / "piecework", out / "sentencepiece"
    contenders = [
        piecework_trainer(text, ours),
        sentencepiece_trainer(text, oracle),
        older_sentencepiece_trainer(text, out / "sentencepiece-older"),
        *peers.values(),
    ]
    return {
        "text": bench.describe_text(),
        "settings": {
            "vocab_size": VOCAB_SIZE,
            "threads": THREADS,
            "recipe": "gpt-sw3 without whitespace runs",
        },
        "contenders": interleave(contenders, rounds=bench.rounds),
        "same_pieces_and_scores": compare(ours, oracle),
    }


def train_section(result: Result) -> list[str]:
    """Markdown for RESULTS.md."""
    contenders = result["contenders"]
    ours = contenders.get(OURS)
    rows = []
    for name, row in contenders.items():
        if row["state"] != "ok":
            rows.append([versioned(result, name), row["state"], *[DASH] * 6])
            continue
        rows.append(
            [
                versioned(result, name),
                figure(row["cpu_s"]),
                figure(row["wall_s"]),
                figure(row["peak_memory_mb"], digits=0),
                *(ratio(row, ours, measure) for measure in ("cpu_s", "wall_s", "peak_memory_mb")),
                str(row["rounds"]),
            ]
        )
    settings = result["settings"]
    return [
        f"## Training {settings['vocab_size']:,} pieces on {size_of(result['text'])}",
        "",
        f"From a text file to a saved vocabulary, with {settings['threads']} threads, the start of Python "
        "included. Ratios are the peer's cost divided by piecework's: more than 1, piecework needs less. "
        + sameness(result["same_pieces_and_scores"])
        + " The others train other vocabularies of the same size, with settings as near as they come.",
        "",
        *table(["", "CPU s", "wall s", "peak MB", "CPU", "wall", "memory", "runs"], rows),
    ]


if __name__ == "__main__":
    told = from_command_line("train", __doc__)
    save(told.results, "train", benchmark(told))
