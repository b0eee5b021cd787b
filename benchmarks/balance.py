"""Balances five languages and code on the development corpus, and compares parity-aware training with Hugging Face's.

Usage: python -m benchmarks.balance [--shared DIR] [--rounds N]. Code is the standard library of this Python.
"""

import argparse
import json
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import RESULTS, Contender, interleave, save
from benchmarks.text import REPOSITORY, texts_by_language

SIZES = (64_000, 16_000)
MERGES = 8_000
LARGEST_CHARACTERS = 4_000_000


def study(shared: Path, size: int, **weights: Any) -> Any:
    import piecework as pw

    code = {"path": f"{sysconfig.get_paths()['stdlib']}/*.py", "language": "code", "category": "python"}
    return pw.Study(
        name="balance",
        corpus={"path": f"{shared}/corpus/{{category}}_{{language}}.jsonl.zst", "subset": [code]},
        sampling={"train": "80%", "eval": "10%"},
        recipe={"vocab_size": size},
        weights=weights,
    )


def balance_job(shared: Path, size: int) -> dict[str, Any]:
    """Balance from counts, then sample documents with the new weights. Costs before, after, and on the sample."""
    import piecework as pw
    from piecework.balancing.meter import Meter
    from piecework.common.exact import format_exact
    from piecework.corpus.parallel_text import read_parallel

    text = read_parallel("parallel/ntrex_{language}.jsonl", shared)
    with tempfile.TemporaryDirectory() as folder:
        today = study(shared, size)
        counts = pw.count(today, out=Path(folder) / "today")
        found = pw.balance(counts, today.recipe, parallel=text, budget_s=90)
        weights = {str(name): format_exact(weight) for name, weight in found.weights.items()}
        again = pw.count(study(shared, size, subset=weights), out=Path(folder) / "found")
        trained = pw.train(again.training(), today.recipe)
        meter = Meter(counts, parallel=text)
        seen = dict(zip(meter.groups, meter.measure(trained).values("report").tolist(), strict=True))
    costs = {
        cost.group: {
            "before": before.value,
            "after": cost.value,
            "interval": cost.interval,
            "documents": seen[cost.group],
            "inside": bool(cost.interval and cost.interval[0] <= seen[cost.group] <= cost.interval[1]),
        }
        for before, cost in zip(found.before.costs, found.after.costs, strict=True)
        if cost.compared
    }
    return {
        "weights": weights,
        "spread_before": found.before.spread - 1,
        "spread_after": found.after.spread - 1,
        "share_left": (found.after.spread - 1) / (found.before.spread - 1),
        "loss": found.loss,
        "trainings": found.trainings,
        "balance_cpu_s": found.cpu_s,
        "stopped": found.stopped,
        "frontier": [[point.name, point.spread - 1, point.total_tokens] for point in found.frontier],
        "costs": costs,
    }


def texts(shared: Path) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    training = texts_by_language(shared / "corpus", most_characters=LARGEST_CHARACTERS)
    development = {
        language: [
            json.loads(line)["text"]
            for line in (shared / f"parallel/ntrex_{language}.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        for language in training
    }
    return training, development


def parity_job(kind: str, shared: Path) -> dict[str, Any]:
    """Training from texts in memory to merges. Cutting texts into pre-tokens is included."""
    training, development = texts(shared)
    size = sum(len(text) for each in training.values() for text in each)
    if kind == "piecework":
        import piecework as pw

        started = time.process_time()
        both = [
            {name: pw.count_pre_tokens(each, pre_tokenizer="gpt2") for name, each in side.items()}
            for side in (training, development)
        ]
        recipe = pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=256 + MERGES, parity=True)
        tokenizer = pw.train(both[0], recipe, development=both[1])
        elapsed = time.process_time() - started
        model = json.loads(tokenizer.json_bytes)["model"]
    else:
        import tokenizers

        started = time.process_time()
        other = tokenizers.Tokenizer(tokenizers.models.BPE())
        other.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = tokenizers.trainers.ParityBpeTrainer(
            num_merges=MERGES,
            variant="base",
            min_frequency=0,
            initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        trainer.train_from_iterator(
            other,
            train_iterators=[iter(each) for each in training.values()],
            dev_iterators=[iter(development[name]) for name in training],
        )
        elapsed = time.process_time() - started
        model = json.loads(other.to_str())["model"]
    merges = ["".join(merge) if isinstance(merge, list) else merge.replace(" ", "") for merge in model["merges"]]
    return {"train_s": elapsed, "characters": size, "merges": len(merges), "last": merges[-3:]}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.balance", description=__doc__)
    parser.add_argument("--shared", type=Path, default=REPOSITORY.parent / "shared")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--job", nargs=2)
    arguments = parser.parse_args()
    if arguments.job:
        name, what = arguments.job
        found = balance_job(arguments.shared, int(what)) if name == "balance" else parity_job(what, arguments.shared)
        print(json.dumps(found))
        return
    common = [sys.executable, "-m", "benchmarks.balance", "--shared", str(arguments.shared), "--job"]
    balances = {
        str(size): interleave(
            [Contender("piecework", [*common, "balance", str(size)], package="piecework", threads=1)], rounds=1
        )
        for size in SIZES
    }
    contenders = [
        Contender("piecework", [*common, "parity", "piecework"], package="piecework", threads=1),
        Contender("tokenizers ParityBpeTrainer", [*common, "parity", "tokenizers"], package="tokenizers"),
    ]
    parity = interleave(contenders, rounds=arguments.rounds)
    note = "CPU seconds, on a machine that had other work"
    save(RESULTS, "balance", {"note": note, "merges": MERGES, "balance": balances, "parity": parity})


if __name__ == "__main__":
    main()
