"""The parallel text of a study, read before any other stage."""

from __future__ import annotations

from piecework.corpus.parallel_text import ParallelText, read_parallel
from piecework.errors import InputError, StudyError
from piecework.study.study import Study

__all__ = ["load_parallel"]


def load_parallel(study: Study) -> ParallelText | None:
    """The parallel text, or None if the study names none; a StudyError if it cannot be used."""
    analysis = study.analysis
    if analysis.parallel is None:
        return None
    try:
        return read_parallel(analysis.parallel, study.folder, pivot=analysis.pivot, text_field=study.corpus.text)
    except InputError as error:
        message = f"parallel in [analysis]: {error}"
        raise StudyError([study.mistake(("analysis", "parallel"), message)]) from error
