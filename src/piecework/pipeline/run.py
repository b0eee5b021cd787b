"""`piecework.run`: runs a whole study; its output folder is checked and locked first."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path

from piecework.common.files import prepare_output, remove_temporaries
from piecework.counting.description import read_description
from piecework.counting.local import default_out
from piecework.counting.lock import locked
from piecework.counting.machine import available_cores
from piecework.counting.spark_cluster import Cluster
from piecework.errors import InputError
from piecework.pipeline.results import StudyResults
from piecework.pipeline.stages import STAGES, Progress, Stage, StudyRun
from piecework.results.folder import RECIPES_FOLDER, REPORT_FILE, RESULTS_FOLDER, RUN_FILE, TOKENIZERS_FOLDER
from piecework.results.state import State
from piecework.study.study import Study
from piecework.training.base import load_base, resolve_base

__all__ = ["STAGES", "Progress", "Stage", "run"]

_OURS = (RUN_FILE, TOKENIZERS_FOLDER, RESULTS_FOLDER, REPORT_FILE)


def run(
    study: Study,
    *,
    out: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    force: bool = False,
    allow_empty: bool = False,
    latex: bool = False,
    progress: Progress | None = None,
    warn: Callable[[str], None] = warnings.warn,
    cluster: Cluster | None = None,
) -> StudyResults:
    """Samples, counts, trains, evaluates and reports a study, into the folder `out` (default: out/<name>).

    A stage runs only if its inputs or settings have changed: a second run does nothing, a new recipe reads no document,
    and a killed run resumes. `force` runs every stage, and takes over a folder that holds something else. `latex` also
    writes the paper's tables as LaTeX. With a `cluster` the documents are counted there. A subset that loses all its
    documents is an EmptySubsetError, unless `allow_empty`. Each further recipe is a study in `out`/recipes/<name>.
    """
    base = load_base(study)
    study = resolve_base(study, base)
    folder = Path(default_out(study) if out is None else out)
    _check_folder(folder, study, force=force)
    prepare_output(folder, [])
    with locked(folder / ".lock"):
        remove_temporaries(folder)
        for name in (RESULTS_FOLDER, TOKENIZERS_FOLDER):
            remove_temporaries(folder / name, deep=True)
        further = {
            name: run(
                study.with_recipe(name),
                out=folder / RECIPES_FOLDER / name,
                threads=threads,
                memory=memory,
                force=force,
                allow_empty=allow_empty,
                latex=latex,
                progress=progress,
                warn=_naming(name, warn),
                cluster=cluster,
            )
            for name in study.recipes
        }
        stages = StudyRun(
            study,
            State(folder),
            base,
            threads=threads or available_cores(),
            memory=memory,
            force=force,
            allow_empty=allow_empty,
            latex=latex,
            progress=progress or (lambda _stage, _done, _total: None),
            warn=warn,
            cluster=cluster,
            further=further,
        )
        stages.run()
    return StudyResults.load(folder)


def _naming(recipe: str, warn: Callable[[str], None]) -> Callable[[str], None]:
    return lambda message: warn(f"[recipes.{recipe}]: {message}")


def _check_folder(folder: Path, study: Study, *, force: bool) -> None:
    """Refuses a folder that holds something other than this study."""
    if force:
        return
    state = State(folder)
    if state.damage:
        if not _has_counts_of(study, folder):
            raise InputError(f"{state.damage}; pass --force to make all of it again, or choose another --out")
    elif not state.run:
        if there := [name for name in _OURS if (folder / name).exists()]:
            raise InputError(
                f"{folder / there[0]} exists already and was not written by piecework run; pass --force to replace it, "
                "or choose another --out"
            )
    elif state.run.get("study") != study.name:
        raise InputError(
            f'{folder}: holds the study "{state.run.get("study")}", not "{study.name}"; pass --force to replace it, '
            "or choose another --out"
        )


def _has_counts_of(study: Study, folder: Path) -> bool:
    try:
        return (read_description(folder / "counts") or {}).get("study") == study.name
    except InputError:
        return False
