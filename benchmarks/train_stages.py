"""The CPU time of each stage of a training, in one process.

Usage: python -m benchmarks.train_stages TEXT [THREADS]
"""

import json
import resource
import sys
import tempfile
from pathlib import Path

from benchmarks.train import VOCAB_SIZE


def total_s() -> float:
    """CPU seconds of all threads of this process."""
    spent = resource.getrusage(resource.RUSAGE_SELF)
    return spent.ru_utime + spent.ru_stime


def stages(text: str, threads: str = "2") -> dict[str, float]:
    """`piecework train` step by step; CPU seconds of each stage."""
    import piecework as pw
    from piecework.corpus import find_files, open_batches
    from piecework.counting.words import WordCounter
    from piecework.training.trainer import train_any

    seconds: dict[str, float] = {}

    def stage(name: str) -> None:
        seconds[name] = total_s() - sum(seconds.values())

    recipe = pw.Recipe.gpt_sw3(vocab_size=VOCAB_SIZE, whitespace_runs=None)
    stage("start and imports")
    counter = WordCounter(threads=int(threads))
    for batch in open_batches(find_files([Path(text)])):
        counter.add(batch.documents)
    stage("reading and counting words")
    counts = counter.finish()
    stage("one table of the threads' tables")

    def progress(done: int, wanted: int) -> None:
        # A long step reports 2**64 - 1 as wanted; the first merge follows when all pairs are found.
        if wanted < 1 << 63 and "chunks and pairs" not in seconds:
            stage("chunks and pairs")
        elif done == wanted:
            stage("merges")

    tokenizer = train_any(counts, recipe, progress=progress)
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save(Path(folder) / "model")
    stage("vocabulary and saving")
    return {name: round(spent, 2) for name, spent in seconds.items()}


if __name__ == "__main__":
    print(json.dumps(stages(*sys.argv[1:])))
