"""The CPU time of each stage of a study, and the floor of each stage: the necessary work without everything else.

Usage: python -m benchmarks.study_stages run|floor FOLDER

One process with one thread, so that a stage's time is its own. The floors are:

- reading and counting: counting texts that are in memory;
- training: training on counts in memory;
- passes: fertility and continued words alone;
- files: writing the same bytes;
- start: importing the libraries.
"""

import importlib
import json
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

STAGES = (
    "start and imports",
    "reading and counting",
    "units for evaluation",
    "seven trainings",
    "smaller sizes and saving twelve",
    "passes and figures",
    "other tables",
    "cards and report",
    "the rest",
)


def total_s() -> float:
    """CPU seconds of this process and of its children that have ended."""
    both = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)


class Clock:
    """Adds the time of wrapped calls to stages. A call inside another counts for its own stage only."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()

    def wrap(self, owner: Any, name: str, stage: str, *, now: Callable[[], float], inside: str | None = None) -> None:
        """Replaces a function. `inside` is the stage that must not include the time of this call."""
        call = getattr(owner, name)

        def timed(*positional: Any, **named: Any) -> Any:
            started = now()
            try:
                return call(*positional, **named)
            finally:
                spent = now() - started
                self.seconds[stage] += spent
                if inside:
                    self.seconds[inside] -= spent

        setattr(owner, name, timed)


def run(folder: str) -> dict[str, float]:
    """`piecework run` with one thread; CPU seconds of each stage."""
    import piecework as pw
    import piecework.pipeline.run  # with all that a study imports
    from piecework.evaluation.units import EvaluationUnits
    from piecework.pipeline import stages, tokenizers
    from piecework.results import study_tables

    clock = Clock()
    clock.seconds["start and imports"] = total_s()
    clock.wrap(stages, "counts_of", "reading and counting", now=total_s)
    clock.wrap(EvaluationUnits, "prepare", "units for evaluation", now=time.thread_time)
    clock.wrap(tokenizers.Training, "_train", "seven trainings", now=time.thread_time)
    saving = "smaller sizes and saving twelve"
    clock.wrap(tokenizers, "_save_all", saving, now=time.thread_time)
    clock.wrap(pw.Tokenizer, "resize", saving, now=time.thread_time)
    tables = "other tables"
    clock.wrap(study_tables, "evaluate_on", "passes and figures", now=time.process_time, inside=tables)
    clock.wrap(stages, "study_tables", tables, now=time.process_time)
    clock.wrap(stages, "write_table", tables, now=time.thread_time)
    clock.wrap(stages.StudyRun, "_present", "cards and report", now=time.process_time)
    study = pw.Study.load(Path(folder) / "study.toml")
    pw.run(study, out=Path(folder) / "out-stages", threads=1, force=True)
    seconds = {stage: clock.seconds[stage] for stage in STAGES}
    seconds["the rest"] = total_s() - sum(seconds.values())
    return seconds


def floor(folder: str) -> dict[str, float]:
    """The floor of each stage, in CPU seconds."""
    for library in ("click", "jinja2", "numpy", "orjson", "pyarrow.parquet", "pydantic", "rich.console"):
        importlib.import_module(library)
    seconds = {"start and imports": total_s()}
    import piecework as pw
    from benchmarks.evaluation import PAPER
    from benchmarks.study import sides

    work = Path(folder)
    study = pw.Study.load(work / "study.toml")
    training, evaluation = sides(work)

    def timed(stage: str, call: Callable[[], Any]) -> Any:
        started = time.process_time()
        found = call()
        seconds[stage] = seconds.get(stage, 0.0) + time.process_time() - started
        return found

    counting, trainings, passes = "reading and counting", "seven trainings", "passes and figures"
    everything = [text for texts in training.values() for text in texts]
    words = timed(counting, lambda: {name: pw.count_words(texts, threads=1) for name, texts in training.items()})
    units = timed(counting, lambda: pw.count_units(evaluation))
    everything_counted = pw.count_words(everything, threads=1)  # a study adds up the languages' counts
    recipe = study.recipe
    tokenizers = {"multilingual": timed(trainings, lambda: pw.train(everything_counted, recipe))}
    for name, counts in words.items():
        tokenizers[name] = timed(trainings, lambda counts=counts: pw.train(counts, recipe))
    sizes = {"multilingual": study.analysis.vocab_sizes}
    timed(passes, lambda: pw.evaluate(tokenizers, units, metrics=PAPER, sizes=sizes))
    out = work / "out-stages"
    for stage, parts in (("smaller sizes and saving twelve", ["tokenizers"]), ("cards and report", ["report.html"])):
        files = [file for part in parts for file in _files(out / part)]
        contents = [file.read_bytes() for file in files]
        timed(stage, lambda contents=contents: _write(work / "floor", contents))
    return seconds


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else [each for each in sorted(path.rglob("*")) if each.is_file()]


def _write(folder: Path, contents: list[bytes]) -> None:
    folder.mkdir(exist_ok=True)
    for number, content in enumerate(contents):
        (folder / str(number)).write_bytes(content)


if __name__ == "__main__":
    print(json.dumps({"run": run, "floor": floor}[sys.argv[1]](sys.argv[2])))
