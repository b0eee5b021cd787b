"""The counts of a study: reused, or counted again if settings or files have changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from piecework.common.subset_name import SubsetName
from piecework.counting.local import count
from piecework.counting.merge import write_subsets
from piecework.counting.plan import Plan
from piecework.counting.progress import Progress
from piecework.counting.spark_cluster import Cluster
from piecework.counting.store import Counts, read_description
from piecework.counting.summary import statistics_of, subset_rows
from piecework.errors import InputError, Mistake, StudyError
from piecework.results.state import State, key_of
from piecework.study.study import Study
from piecework.study.subsets import Subset
from piecework.study.weights import resolve_weights

__all__ = ["StudyCounts", "counts_of"]


@dataclass(frozen=True, slots=True)
class StudyCounts:
    """The counts of a study, and what later stages need to know about them."""

    counts: Counts
    plan: Plan | None
    """None if the corpus is gone and only the counts are left."""
    key: str
    """A hash of the counted documents and settings; weights that act on counts are not part of it."""


def counts_of(
    study: Study,
    state: State,
    *,
    threads: int | None,
    memory: int | str | None,
    force: bool,
    progress: Progress,
    warn: Callable[[str], None],
    cluster: Cluster | None = None,
) -> StudyCounts:
    """The study's counts in its folder; `force` counts again."""
    folder = state.folder / "counts"
    try:
        plan: Plan | None = Plan.of(study)
    except StudyError:
        kept = None if force else _without_corpus(study, state)
        if kept is None:
            raise
        warn(f"the corpus is missing; using the counts in {folder}")
        return StudyCounts(kept, None, _key(kept))
    assert plan is not None
    again = force
    if (description := read_description(folder)) is not None and (difference := plan.difference(description)):
        if description.get("study") != study.name and not force:
            raise InputError(
                f"{folder}: holds counts of another study ({description.get('study')}); pass --force to replace them, "
                "or choose another --out"
            )
        warn(f"counting again: {difference}")
        again = True
    counts = count(
        study,
        out=state.folder,
        threads=None if cluster else threads,  # threads of this machine only
        memory=memory,
        force=again,
        progress=progress,
        warn=warn,
        cluster=cluster,
    )
    return StudyCounts(counts, plan, _key(counts))


def _key(counts: Counts) -> str:
    settings = {name: counts.description[name] for name in ("format", "settings", "files", "tables")}
    return key_of("counts", settings)


def _without_corpus(study: Study, state: State) -> Counts | None:
    """The counts of a missing corpus; None if settings differ, or it cannot be known."""
    description = read_description(state.folder / "counts")
    settings: dict[str, Any] = state.run.get("settings", {})
    now = study.model_dump(mode="json")
    if description is None or settings.get("corpus") != now["corpus"]:
        return None
    counts = Counts(state.folder / "counts", description)
    weights = counts.weights
    if settings["weights"] != now["weights"]:
        # Temperature and CSV weights depend on files that may have changed. Weights in the study file can be compared.
        if study.weights.csv is not None or study.weights.temperature is not None:
            return None
        mistakes: list[Mistake] = []
        weights = resolve_weights(study, dict.fromkeys(weights, ((), "")), mistakes)
        if mistakes:
            return None
    subsets = [
        Subset(
            name=(name := SubsetName(of["category"], of["language"])),
            files=(),
            text_field=of["text"],
            documents=of["documents"],
            code_token=of["code_token"],
            weight=weights[name],
        )
        for of in description["settings"]["subsets"]
    ]
    plan = Plan(study, tuple(subsets), (), study.counting_settings(subsets))
    if plan.settings != description["settings"]:
        return None
    if weights != counts.weights:
        write_subsets(state.folder / "counts", subset_rows(plan, statistics_of(counts)))
    return Counts.load(state.folder)
