"""Small studies for the tests: a corpus of made-up documents, a study file, and what a run leaves behind."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from counting.corpora import made_up_documents, write
from piecework.pipeline.results import StudyResults
from piecework.pipeline.run import run
from piecework.results.folder import RUN_FILE
from piecework.study.study import Study

STUDY = """
name = "small"
[corpus]
path = "data/{category}_{language}.jsonl"
[[corpus.subset]]
path = "data/python.jsonl"
language = "code"
category = "python"
code_token = "<|python|>"
[weights]
language = { is = 2 }
category = { law = 0.5 }
[sampling]
train = "60%"
eval = "40%"
weighting = "counts"
[recipe]
vocab_size = 640
[analysis]
vocab_sizes = [400, 512, 640]
"""


def small_corpus() -> dict[str, list[str]]:
    names = ("books_sv", "law_sv", "books_is", "law_da")
    corpus = {name: made_up_documents(250, seed=number) for number, name in enumerate(names)}
    return corpus | {"python": [_function(text.split()) for text in made_up_documents(250, seed=9)]}


def _function(words: list[str]) -> str:
    lines = "".join(f"    {word} = {number}\n" for number, word in enumerate(words))
    return f"def {words[0] if words else 'f'}(x):\n{lines}\n\n    return x\n"


def write_study(
    folder: Path, *, corpus: Mapping[str, Sequence[str]] | None = None, text: str = STUDY, **changes: str
) -> Path:
    """A study file in `folder` with its corpus; `changes` replace parts of its text."""
    for name, documents in (small_corpus() if corpus is None else corpus).items():
        write(folder / "data" / f"{name}.jsonl", documents)
    return change_study(folder / "study.toml", text, changes)


def change_study(path: Path, text: str, changes: Mapping[str, str]) -> Path:
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def run_study(path: Path, **options: Any) -> tuple[StudyResults, list[str]]:
    """Run a study into `out` beside its file. Returns the results and the warnings."""
    warnings: list[str] = []
    settings = {"out": path.parent / "out", "threads": 2, "warn": warnings.append} | options
    return run(Study.load(path, check_corpus=False), **settings), warnings


def contents(folder: Path, *, without: Sequence[str] = (RUN_FILE, "inputs.json")) -> dict[str, bytes]:
    """Every file of a folder; run.json and inputs.json have times in them."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in without
    }


def times(folder: Path) -> dict[str, int]:
    """When every file was written."""
    return {str(path): path.stat().st_mtime_ns for path in sorted(folder.rglob("*")) if path.is_file()}
