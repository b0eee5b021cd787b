"""Extending the tokenizers of Mistral, GPT-2 and Qwen on the development corpus, beside continued BPE in Python.

Usage: python -m benchmarks.extend [--corpus DIR] [--add N] [--rounds N]. Needs `make known`.
"""

import argparse
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import RESULTS, Contender, interleave, save
from benchmarks.text import REPOSITORY, texts_by_language

NAMES = ("mistral", "gpt2", "qwen3")
LANGUAGES = ("is", "sv", "da", "no", "en")
LEARNED = ("is", "sv", "da", "no")
LARGEST_CHARACTERS = 6_000_000
HELD_OUT = 10  # each tenth document is kept for measuring


def job(kind: str, name: str, corpus: Path, add: int) -> dict[str, Any]:
    import piecework as pw
    from piecework.training.extension import count_for

    sys.path.insert(0, str(REPOSITORY / "tests"))
    tokenizer: Any = pw.load_tokenizer(f"known:{name}")
    texts = texts_by_language(corpus, most_characters=LARGEST_CHARACTERS)
    learned = [text for language in LEARNED for at, text in enumerate(texts[language]) if at % HELD_OUT]
    counts = count_for(tokenizer, learned)
    started = time.process_time()
    if kind == "python":
        from extend.python_method import continued_bpe, encoded_rows

        words, numbers = zip(*counts.items(), strict=True)
        rows = encoded_rows(tokenizer.encode_batch(words), numbers)
        merges = continued_bpe(rows, tokenizer.model.tokens, add=add)
        return {"extend_s": time.process_time() - started, "merges": len(merges), "first": merges[:5]}
    extended = pw.extend(tokenizer, counts, add=add)
    elapsed = time.process_time() - started
    figures = {}
    for language in LANGUAGES:
        held_out = texts[language][::HELD_OUT]
        words = sum(len(re.findall(r"\S+", text)) for text in held_out)
        before, after = (sum(map(len, each.encode_batch(held_out))) for each in (tokenizer, extended.tokenizer))
        figures[language] = {"before": round(before / words, 4), "after": round(after / words, 4)}
    return {
        "extend_s": elapsed,
        "merges": len(extended.added),
        "distinct_words": len(counts),
        "tokens_per_word": figures,
        "first": [list(piece.parts) for piece in extended.added[:5]],
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.extend", description=__doc__)
    parser.add_argument("--corpus", type=Path, default=REPOSITORY.parent / "shared/corpus")
    parser.add_argument("--add", type=int, default=16_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--job", nargs=2)
    arguments = parser.parse_args()
    os.environ.setdefault("PIECEWORK_KNOWN", str(REPOSITORY / "build/known"))
    if arguments.job:
        print(json.dumps(job(*arguments.job, arguments.corpus, arguments.add)))
        return
    results = {}
    for name in NAMES:
        common = [
            sys.executable,
            "-m",
            "benchmarks.extend",
            "--corpus",
            str(arguments.corpus),
            "--add",
            str(arguments.add),
        ]
        contenders = [Contender("piecework", [*common, "--job", "ours", name], package="piecework", threads=1)]
        if name != "mistral":  # the reference is for byte-level tokenizers, like the published tool
            contenders.append(Contender("continued BPE in Python", [*common, "--job", "python", name], threads=1))
        results[name] = interleave(contenders, rounds=arguments.rounds)
    note = "seconds are CPU seconds from counts to merges, on a machine that had other work"
    save(
        RESULTS, "extend", {"settings": {"add": arguments.add, "learned": LEARNED}, "note": note, "tokenizers": results}
    )


if __name__ == "__main__":
    main()
