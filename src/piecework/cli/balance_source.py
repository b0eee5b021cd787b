"""STUDY|COUNTS of `piecework balance`: the counts, and the recipe and the parallel text of their study."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from piecework.errors import InputError

if TYPE_CHECKING:
    from piecework.common.storage import Location
    from piecework.corpus.parallel_text import ParallelText
    from piecework.counting.store import Counts
    from piecework.study.study import Study

__all__ = ["Source", "read_source"]


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Where the counts come from."""

    counts: Counts
    study: Study | None
    """The study of the counts, if there is a file of it."""
    parallel: ParallelText | None
    """The parallel text that the study names."""


def read_source(source: Location, *, counts_folder: Location | None, reads_parallel: bool) -> Source:
    """Reads a study file, whose counts are in its output folder or in `counts_folder`, or a folder of counts.

    The output folder of `piecework run` holds both. The corpus of the study may be gone: no document is read.
    """
    from piecework.counting.local import default_out
    from piecework.counting.store import Counts
    from piecework.pipeline.parallel import load_parallel
    from piecework.study.study import Study

    study: Study | None = None
    if isinstance(source, Path) and source.is_file():
        study = Study.load(source, check_corpus=False)
        folder = counts_folder or default_out(study)
        try:
            counts = Counts.load(folder)
        except InputError as error:
            if counts_folder is None and not Path(default_out(study)).exists():
                raise InputError(
                    f"{source}: no counts in {folder}; first run piecework count {source}, or name their folder with"
                    " --counts DIR"
                ) from error
            raise
        if counts.description["study"] != study.name:
            raise InputError(f'{folder}: holds counts of "{counts.description["study"]}", not of "{study.name}"')
    else:
        if counts_folder is not None:
            raise InputError(f"{source} is a folder of counts already; leave out --counts")
        counts = Counts.load(source)
        if isinstance(source, Path) and (source / "study.toml").is_file():
            study = Study.load(source / "study.toml", check_corpus=False)
    parallel = load_parallel(study) if study is not None and reads_parallel else None
    return Source(counts, study, parallel)
