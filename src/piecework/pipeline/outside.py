"""Outside tokenizers of a study: loaded before any other stage, compared after evaluation."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from piecework.common.extras import MissingPackageError
from piecework.common.known_tokenizers import KNOWN, find_known, known_tokenizer, resolve_source
from piecework.common.terms import MULTILINGUAL, TIKTOKEN
from piecework.corpus.parallel_text import ParallelText
from piecework.counting.store import Counts
from piecework.errors import InputError, PieceworkError, StudyError
from piecework.evaluation.compare import compare_on_counts
from piecework.evaluation.tables import Table
from piecework.study.study import Study
from piecework.tokenizer.any_tokenizer import AnyTokenizer
from piecework.tokenizer.independent_units import units_problem
from piecework.tokenizer.load import find_files, load_tokenizer
from piecework.tokenizer.trained import TrainedTokenizer

__all__ = ["compare_outside", "load_all", "stamps"]

# Raise this when the same tokenizers and counts give different tables.
FORMAT = 2


def load_all(study: Study) -> dict[str, AnyTokenizer]:
    """Loads the outside tokenizers by name; a StudyError lists all that cannot be loaded."""
    loaded, mistakes = {}, []
    for name, source in _sources(study).items():
        try:
            loaded[name] = load_tokenizer(source)
            if problem := units_problem(loaded[name]):
                raise InputError(f"cannot be compared on counts: {problem}; use piecework compare on documents")
        except MissingPackageError:
            raise
        except PieceworkError as error:
            key = ("analysis", "tokenizers", name)
            mistakes.append(study.mistake(key, f'"{name}" in [analysis.tokenizers]: {error}'))
    if mistakes:
        raise StudyError(mistakes)
    return loaded


def stamps(study: Study) -> list[Any]:
    """Hashes of the outside tokenizers' files, for the key of the stage."""
    found: list[Any] = [FORMAT]
    for name, source in _sources(study).items():
        if (known := known_tokenizer(source)) is not None and source.startswith(KNOWN):
            contents = [(Path(file.source).name, file.read()) for file in find_known(known).files]
        else:
            files = [] if source.startswith(TIKTOKEN) else find_files(source)
            contents = [(path.name, path.read_bytes()) for path in files]
        hashes = [[file_name, hashlib.sha256(data).hexdigest()] for file_name, data in contents]
        found.append([name, hashes or source])
    return found


def compare_outside(
    tokenizers: Mapping[str, AnyTokenizer],
    multilingual: TrainedTokenizer,
    counts: Counts,
    *,
    parallel: ParallelText | None,
    progress: Callable[[int, int], None],
) -> dict[str, Table]:
    """The tables of the comparison. The multilingual tokenizer comes first."""
    every = {MULTILINGUAL: multilingual, **tokenizers}
    comparison = compare_on_counts(every, counts, parallel=parallel, progress=progress)
    tables = {
        "outside": comparison.metrics,
        "outside_overlap": comparison.overlap,
        "outside_words": comparison.words,
        "outside_parallel": comparison.parallel,
    }
    return {name: table for name, table in tables.items() if table is not None}


def _sources(study: Study) -> dict[str, str]:
    return {name: resolve_source(source, study.folder) for name, source in study.analysis.tokenizers.items()}
