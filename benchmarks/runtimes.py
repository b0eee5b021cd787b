"""Texts that runtimes encode differently from SentencePiece, and the cost of an export.

Each runtime loads the files that `piecework export --to hf` writes. For comparison, `transformers` also loads the
SentencePiece model alone, as it does for a folder without a tokenizer.json. Then it makes the merges itself.
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.markdown import Result, size_of, table
from benchmarks.measure import Bench, Contender, from_command_line, run, save, spread
from benchmarks.text import read_documents

VOCAB_SIZE = 64_000
DOCUMENTS = 600
ORDERS = ("paper", "portable")
ALONE = ("AutoTokenizer", "LlamaTokenizer")


def benchmark(bench: Bench) -> dict[str, Any]:
    found = {}
    for order in ORDERS:
        # In a process of its own, as this one has to stay small.
        command = [sys.executable, "-m", "benchmarks.runtimes", "run", order, str(bench.text_file)]
        done = run(Contender(order, command, limit_s=3600))
        if done.state != "ok":
            raise SystemExit(f"whitespace runs {order}: {done.state}")
        found[order] = dict(done.detail)
    return {"text": bench.describe_text(), "settings": {"vocab_size": VOCAB_SIZE}, "orders": found}


def compare(order: str, text: Path) -> dict[str, Any]:
    import piecework as pw
    from piecework.tokenizer.verify import verify

    documents = read_documents(text)
    recipe = pw.Recipe.gpt_sw3(vocab_size=VOCAB_SIZE, whitespace_runs=order, hard_vocab_limit=False)
    tokenizer = pw.train(pw.count_words(documents, threads=2), recipe)
    step = max(len(documents) // DOCUMENTS, 1)
    sample = [document.decode(errors="replace") for document in documents[::step]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "export")
        seconds = []
        for _ in range(5):
            started = time.process_time()
            pw.export(pw.Tokenizer.from_bytes(tokenizer.model_bytes), folder, to="hf", force=True)
            seconds.append(time.process_time() - started)
        done = verify(tokenizer, sample, folder=folder)
        alone = Path(name, "alone")
        pw.export(tokenizer, alone, to="sentencepiece")
        return {
            "documents": len(sample),
            "reference": done.reference,
            "export_cpu_s": spread(seconds)["median"],
            "differing": {
                each.name: [each.texts - each.same, each.texts] for each in done.results if each.status == "compared"
            },
            "alone": {name: _alone(name, alone, tokenizer, sample) for name in ALONE},
            "unexplained": {each.name: each.unexplained for each in done.results if each.status == "compared"},
        }


def _alone(name: str, folder: Path, tokenizer: Any, sample: list[str]) -> int:
    """How many documents differ if transformers converts the model itself."""
    import transformers

    loaded: Any = getattr(transformers, name).from_pretrained(str(folder), local_files_only=True)
    return sum(loaded.encode(text, add_special_tokens=False) != tokenizer.encode(text) for text in sample)


def runtimes_section(result: Result) -> list[str]:
    """Markdown for RESULTS.md."""
    orders = result["orders"].values()
    texts = dict.fromkeys(name for order in orders for name in order["differing"])
    rows = [
        *([name, *("{:,} of {:,}".format(*order["differing"][name]) for order in orders)] for name in texts),
        *(
            [
                f"{name}, from the .model alone: documents",
                *(f"{o['alone'][name]:,} of {o['documents']:,}" for o in orders),
            ]
            for name in ALONE
        ),
    ]
    first = next(iter(orders))
    unexplained = sum(sum(order["unexplained"].values()) for order in orders)
    exported = ", ".join(f"{order['export_cpu_s']:.2f} s" for order in orders)
    pieces, text = f"{result['settings']['vocab_size']:,} pieces", f"documents of {size_of(result['text'])}"
    return [
        f"## The same ids everywhere: {pieces}, {text}",
        "",
        f"Texts with other ids than in {first['reference']}, by the order of the whitespace runs: {first['documents']} "
        "documents, and what `verify` adds: every piece alone and between other characters, and texts that are hard to "
        "encode. Differences without a known cause ([docs/export.md](../docs/export.md)), other than where "
        f"`transformers` converts the model itself: {unexplained:,}. An export takes {exported} of CPU.",
        "",
        *table(["", *(f"runs in the order {name}" for name in result["orders"])], rows),
    ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        print(json.dumps(compare(sys.argv[2], Path(sys.argv[3]))))
    else:
        told = from_command_line("runtimes", __doc__)
        save(told.results, "runtimes", benchmark(told))
