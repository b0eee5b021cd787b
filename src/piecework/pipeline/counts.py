"""The counts of a study: reused, or counted again if settings or files have changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from piecework.common.subset_name import SubsetName
from piecework.counting.description import read_description, read_inputs
from piecework.counting.local import count_plan
from piecework.counting.plan import Plan
from piecework.counting.progress import Progress
from piecework.counting.spark_cluster import Cluster
from piecework.counting.store import Counts
from piecework.counting.summary import replace_subset_rows, statistics_of, subset_rows
from piecework.errors import DamagedError, InputError, Mistake, OtherFormatError, StudyError
from piecework.results.state import State, key_of
from piecework.study.study import Study
from piecework.study.subsets import Subset
from piecework.study.weights import SubsetText, resolve_weights

__all__ = ["StudyCounts", "counts_of"]


@dataclass(frozen=True, slots=True)
class StudyCounts:
    """The counts of a study, and the key that later stages need."""

    counts: Counts
    key: str
    """A hash of the counts and their settings. Weights that act on counts are not part of it."""


def counts_of(
    study: Study,
    state: State,
    *,
    threads: int | None,
    memory: int | str | None,
    force: bool,
    allow_empty: bool,
    progress: Progress,
    warn: Callable[[str], None],
    cluster: Cluster | None = None,
) -> StudyCounts:
    """The study's counts in its folder; `force` counts again."""
    folder = state.folder / "counts"
    try:
        plan = Plan.from_study(study)
    except StudyError:
        kept = None if force else _without_corpus(study, state)
        if kept is None:
            raise
        warn(f"the corpus is missing; using the counts in {folder}")
        return StudyCounts(kept, _key(kept))
    counts = count_plan(
        plan,
        out=state.folder,
        threads=None if cluster else threads,  # threads of this machine only
        memory=memory,
        force=force or _has_changed(plan, folder, warn),
        allow_empty=allow_empty,
        progress=progress,
        warn=warn,
        cluster=cluster,
    )
    return StudyCounts(counts, _key(counts))


def _has_changed(plan: Plan, folder: Path, warn: Callable[[str], None]) -> bool:
    """Whether settings or files differ from those of the counts in the folder."""
    try:
        description = read_description(folder)
    except OtherFormatError as error:
        warn(f"counting again: {error}")
        return True
    except DamagedError:
        return False  # counting notices it too, and says so
    difference = plan.difference(description, read_inputs(folder)) if description else ""
    if description and difference:
        if description["study"] != plan.study.name:
            raise InputError(
                f"{folder}: holds counts of another study ({description['study']}); pass --force to replace them, "
                "or choose another --out"
            )
        warn(f"counting again: {difference}")
    return bool(difference)


def _key(counts: Counts) -> str:
    return key_of("counts", {name: counts.description[name] for name in ("format", "settings", "tables")})


def _without_corpus(study: Study, state: State) -> Counts | None:
    """The counts of a missing corpus; None if settings differ, or it cannot be known."""
    try:
        description = read_description(state.folder / "counts")
    except InputError:
        return None
    settings: dict[str, Any] = state.run.get("settings", {})
    now = study.model_dump(mode="json")
    if description is None or settings.get("corpus") != now["corpus"]:
        return None
    counts = Counts(state.folder / "counts", description)
    weights = counts.weights
    if settings["weights"] != now["weights"]:
        # Temperature and CSV weights depend on files that may have changed. Weights in the study file can be compared.
        if any(getattr(study.weights, name) is not None for name in ("csv", "temperature", "unimax")):
            return None
        mistakes: list[Mistake] = []
        weights = resolve_weights(study, dict.fromkeys(weights, SubsetText()), mistakes)
        if mistakes:
            return None
    subsets = [
        Subset(
            name=(name := SubsetName(entry["category"], entry["language"])),
            files=(),
            text_field=entry["text"],
            documents=entry["documents"],
            code_token=entry["code_token"],
            weight=weights[name],
            language_field=entry.get("language_field"),
        )
        for entry in description["settings"]["subsets"]
    ]
    plan = Plan(study, tuple(subsets), (), study.counting_settings(subsets))
    if plan.settings != description["settings"]:
        return None
    if weights != counts.weights:
        folder = state.folder / "counts"
        description = replace_subset_rows(folder, description, subset_rows(plan, statistics_of(counts)))
    return Counts(state.folder / "counts", description)
