"""The stages of a study in order: count, train, evaluate, compare, report."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from piecework import __version__
from piecework.common.files import prepare_output, replace_atomically
from piecework.common.terms import BASE, MULTILINGUAL
from piecework.common.threads import in_threads
from piecework.corpus.parallel_text import ParallelText
from piecework.counting.spark_cluster import Cluster
from piecework.counting.store import Counts
from piecework.errors import InputError
from piecework.evaluation.metrics import all_metrics
from piecework.evaluation.tables import Table
from piecework.evaluation.units import EvaluationUnits
from piecework.pipeline.counts import StudyCounts, counts_of
from piecework.pipeline.outside import compare_outside, load_all, stamps
from piecework.pipeline.parallel import load_parallel
from piecework.pipeline.passages import choose_passages, load_passages, save_passages
from piecework.pipeline.recipes import compare_recipes
from piecework.pipeline.results import StudyResults
from piecework.pipeline.tokenizers import Trained, Training
from piecework.results.cards import write_cards
from piecework.results.folder import (
    FIGURES_FOLDER,
    LATEX_FOLDER,
    RESULTS_FOLDER,
    STUDY_FILE,
    TOKENIZERS_FOLDER,
    WORDS_FOLDER,
)
from piecework.results.latex import write_latex
from piecework.results.state import State, key_of
from piecework.results.study_tables import study_tables, study_units
from piecework.results.table_files import write_table
from piecework.study.resolved import resolved_toml
from piecework.study.study import Study
from piecework.tokenizer.any_tokenizer import AnyTokenizer
from piecework.tokenizer.trained import load_trained
from piecework.training.base import Base

__all__ = ["STAGES", "Progress", "Stage", "StudyRun"]

Stage = Literal["counting", "merging", "training", "evaluating", "comparing", "reporting"]
Progress = Callable[[Stage, int, int], None]
"""Called with the stage, the amount done and the total; not called for a stage with nothing to do."""

STAGES: dict[Stage, Literal["bytes", "tables", "pieces", "steps", "texts"]] = {
    "counting": "bytes",
    "merging": "tables",
    "training": "pieces",
    "evaluating": "steps",
    "comparing": "texts",
    "reporting": "steps",
}
"""The stages in order, and the unit of each stage's progress."""

PASSAGES_FILE = "passages.json"
# Raise this when the same tokenizers and counts give different tables.
EVALUATION_FORMAT = 4
ALTERNATIVES_FORMAT = 1

_PACKAGES = ("piecework", "pyarrow", "numpy")


@dataclass(frozen=True, slots=True)
class StudyRun:
    """One run of a study: its settings, and its stages in order."""

    study: Study
    """With the recipe that follows from `base`."""
    state: State
    base: Base | None
    """The tokenizer to extend."""
    threads: int
    memory: int | str | None
    force: bool
    allow_empty: bool
    latex: bool
    progress: Progress
    warn: Callable[[str], None]
    cluster: Cluster | None
    further: Mapping[str, StudyResults]
    """The results of the further recipes, on the same documents."""

    def run(self) -> None:
        """Runs every stage whose inputs have changed."""
        if self.state.damage:
            self.warn(f"running every stage again: {self.state.damage}")
        if self.force:
            self.state.forget()
        if self.force or not self.state.run:
            # The first file marks the folder as this study's.
            self.state.write({"study": self.study.name, "complete": False})
        # Loaded first, so that a broken file is found at once and not after hours.
        outside = load_all(self.study)
        parallel = load_parallel(self.study)
        counted = self._count()
        self._passages(counted)
        units = study_units(counted.counts)
        trained = Training(
            self.study,
            counted,
            self.state,
            base=self.base,
            threads=self.threads,
            progress=lambda done, total: self.progress("training", done, total),
            warn=self.warn,
            meanwhile=units.prepare,
        ).run()
        made_study = self._write_study(counted)
        tables = self._evaluate(counted, trained, units, parallel)
        made = ["evaluation", *self._compare(counted, trained.stages, outside, parallel)]
        made += self._alternatives(counted, parallel)
        results = self._results(counted.counts, list(trained.stages), tables)
        made += self._compare_recipes(results, made)
        made += self._present(results, made)
        self.state.remove_all_but(["counts", "passages", *made_study, *trained.stages.values(), *made])
        self._finish(results)

    def _count(self) -> StudyCounts:
        started = time.monotonic()
        counted = counts_of(
            self.study,
            self.state,
            threads=self.threads,
            memory=self.memory,
            force=self.force,
            allow_empty=self.allow_empty,
            progress=self.progress,
            warn=self.warn,
            cluster=self.cluster,
        )
        rows = counted.counts.subset_rows
        for column, side, setting in (("train_copies", "train", "train"), ("eval_documents", "evaluate", "eval")):
            if not any(row[column] for row in rows):
                raise InputError(
                    f"no document of {sum(row['read_documents'] for row in rows):,} was sampled to {side} on; "
                    f"raise {setting} in [sampling]"
                )
        for language in counted.counts.languages:
            if not any(row["eval_documents"] for row in rows if row["language"] == language):
                self.warn(f'the language "{language}" has no text to evaluate on, so it has no metrics')
        if not self.state.is_done("counts", counted.key):
            # No outputs are listed: the counts have a record of their own, and may be too large to hash.
            with self.state.doing("counts", counted.key, spent_s=time.monotonic() - started):
                pass
        return counted

    def _passages(self, counted: StudyCounts) -> None:
        path = self.state.folder / PASSAGES_FILE
        passages = choose_passages(counted.counts.description["passages"])
        key = key_of("passages", [astuple(passage) for passage in passages])
        if not self.state.is_done("passages", key):
            with self.state.doing("passages", key) as outputs:
                save_passages(path, passages)
                outputs.append(path)

    def _write_study(self, counted: StudyCounts) -> list[str]:
        """Writes the study with all settings resolved. Returns the names of the stages."""
        path = self.state.folder / STUDY_FILE
        if self.study.file is not None and path.exists() and path.samefile(self.study.file):
            # The user's own study file is in the output folder. It keeps its comments, and is not ours to remove.
            self.state.stages.pop("study", None)
            return []
        text = resolved_toml(self.study, self.state.folder, counted.counts.weights)
        if not self.state.is_done("study", key := key_of("study", text)):
            with self.state.doing("study", key) as outputs:
                with replace_atomically(path) as temporary:
                    temporary.write_text(text, encoding="utf-8")
                outputs.append(path)
        return ["study"]

    def _evaluate(
        self, counted: StudyCounts, trained: Trained, units: EvaluationUnits, parallel: ParallelText | None
    ) -> Mapping[str, Table]:
        """The tables; empty if the stage was skipped."""
        folder = self.state.folder / RESULTS_FOLDER
        metrics = [(metric.name, metric.formula, metric.units) for metric in all_metrics()]
        weights_of = counted.counts.weights
        weights = [(name.language, name.category, str(weight)) for name, weight in sorted(weights_of.items())]
        made = self.state.outputs(["passages", *trained.stages.values()])
        model = self.study.analysis.model
        settings = [parallel and parallel.key, self.study.analysis.paper_findings, model and model.model_dump()]
        if self.base:
            if BASE in counted.counts.languages:
                raise InputError(f'the language "{BASE}" has the name of the old tokenizer; rename the language')
            settings.append(self.base.checksum)
        skipped = counted.counts.description["skipped"]
        key = key_of("evaluation", EVALUATION_FORMAT, counted.key, weights, metrics, made, skipped, settings)
        if self.state.is_done("evaluation", key):
            return {}
        with self.state.doing("evaluation", key) as outputs:
            tables = study_tables(
                trained.load(),
                counted.counts,
                load_passages(self.state.folder / PASSAGES_FILE),
                units=units,
                parallel=parallel,
                paper_findings=self.study.analysis.paper_findings,
                model=model,
                base=self.base.tokenizer if self.base else None,
                threads=self.threads,
                progress=lambda done, total: self.progress("evaluating", done, total),
            )
            prepare_output(folder, [])
            for written in in_threads(
                lambda name: write_table(tables[name], folder / name), tables, threads=self.threads
            ):
                outputs += written
        return tables

    def _compare(
        self,
        counted: StudyCounts,
        tokenizers: Mapping[str, str],
        outside: Mapping[str, AnyTokenizer],
        parallel: ParallelText | None,
    ) -> list[str]:
        """Compares with outside tokenizers, if the study names some. Returns the names of the stages."""
        if not outside:
            # Before the report, which shows every table that exists.
            self.state.remove_all_but(self.state.stages.keys() - {"outside"})
            return []
        made = self.state.outputs([tokenizers[MULTILINGUAL]])
        versions = _versions(("tokenizers", "tiktoken"))
        key = key_of("outside", counted.key, stamps(self.study), made, versions, parallel and parallel.key)
        if not self.state.is_done("outside", key):
            with self.state.doing("outside", key) as outputs:
                tables = compare_outside(
                    outside,
                    load_trained(self.state.folder / TOKENIZERS_FOLDER / MULTILINGUAL),
                    counted.counts if counted.counts.pre_tokenizer is None else self._count_words(),
                    parallel=parallel,
                    progress=lambda done, total: self.progress("comparing", done, total),
                )
                for name, table in tables.items():
                    outputs += write_table(table, self.state.folder / RESULTS_FOLDER / name)
        return ["outside"]

    def _count_words(self) -> Counts:
        """The same documents counted as words. Other tokenizers need words, which pre-tokens do not give."""
        folder = self.state.folder / WORDS_FOLDER
        prepare_output(folder, [])
        return counts_of(
            self.study.counting_words(),
            State(folder),
            threads=self.threads,
            memory=self.memory,
            force=self.force,
            allow_empty=True,  # empty subsets were reported when the pre-tokens were counted
            progress=self.progress,
            warn=lambda _message: None,
            cluster=self.cluster,
        ).counts

    def _alternatives(self, counted: StudyCounts, parallel: ParallelText | None) -> list[str]:
        """Trains with other weights, if the study asks for it. Returns the names of the stages."""
        recipe = self.study.recipe
        if not self.study.analysis.alternatives:
            self.state.remove_all_but(self.state.stages.keys() - {"alternatives"})
            return []
        weights = {str(name): str(weight) for name, weight in counted.counts.weights.items()}
        settings = [recipe.model_dump(mode="json"), sorted(recipe.model_fields_set), parallel and parallel.key]
        key = key_of("alternatives", ALTERNATIVES_FORMAT, counted.key, weights, settings)
        if not self.state.is_done("alternatives", key):
            from piecework.balancing.alternatives import alternatives  # here: few studies ask for it

            with self.state.doing("alternatives", key) as outputs:
                table = alternatives(counted.counts, recipe, parallel=parallel, threads=self.threads)
                if table is not None:
                    outputs += write_table(table, self.state.folder / RESULTS_FOLDER / "alternatives")
                else:
                    self.warn("alternatives: there are no two languages to compare, so there is nothing to show")
        return ["alternatives"]

    def _compare_recipes(self, results: StudyResults, made: Sequence[str]) -> list[str]:
        """Compares the further recipes with the first. Returns the names of the stages."""
        if not self.further:
            self.state.remove_all_but(self.state.stages.keys() - {"recipes"})
            return []
        others = [(name, State(each.folder).outputs(["evaluation"])) for name, each in self.further.items()]
        key = key_of("recipes", self.state.outputs(made), others)
        if not self.state.is_done("recipes", key):
            with self.state.doing("recipes", key) as outputs:
                outputs += write_table(
                    compare_recipes(results, self.further), self.state.folder / RESULTS_FOLDER / "recipes"
                )
        return ["recipes"]

    def _results(self, counts: Counts, tokenizers: Sequence[str], tables: Mapping[str, Table]) -> StudyResults:
        """The results to present. Times are left out, so that files are reproducible."""
        description = counts.description
        content: dict[str, Any] = {
            "study": self.study.name,
            "seed": self.study.seed,
            "languages": counts.languages,
            "tokenizers": list(tokenizers),
            "settings": self.study.model_dump(mode="json"),
            "versions": _versions(),
            "skipped": description["skipped"],
            "inputs": {"key": description["counting_key"], **description["inputs"]},
        }
        return StudyResults(self.state.folder, content, tables=tables)

    def _present(self, results: StudyResults, made: Sequence[str]) -> list[str]:
        """Writes model cards, the report, its figures and LaTeX. Returns the names of the stages."""
        folder = self.state.folder
        settings = {**results.run["settings"], "versions": results.run["versions"]}
        key = key_of("presentation", __version__, settings, self.state.outputs(made), results.tokenizers)
        latex = self.latex or "latex" in self.state.stages  # once requested, always kept up to date
        stages: dict[str, Callable[[], Iterable[Path]]] = {
            "cards": lambda: write_cards(results),
            "latex": lambda: write_latex(results.tables, self.study.recipe, folder / LATEX_FOLDER),
            "report": lambda: _write_report(results),
        }
        if not latex:
            del stages["latex"]
        for number, (stage, write) in enumerate(stages.items(), 1):
            if not self.state.is_done(stage, key):
                with self.state.doing(stage, key) as outputs:
                    outputs += write()
                self.progress("reporting", number, len(stages))
        return list(stages)

    def _finish(self, results: StudyResults) -> None:
        """Writes run.json if anything in it has changed."""
        done = self.state.stages.values()
        content = {
            **results.run,
            "complete": True,
            "elapsed_s": round(sum(stage["elapsed_s"] for stage in done), 3),
            "peak_memory_bytes": max(stage["peak_memory_bytes"] for stage in done),
        }
        if any(self.state.run.get(name) != value for name, value in content.items()):
            self.state.write(content)


def _write_report(results: StudyResults) -> list[Path]:
    from piecework.report import write_report  # here: a run with nothing to do does not load the report's packages

    return write_report(results, results.report, figures=results.folder / FIGURES_FOLDER)


def _versions(packages: Sequence[str] = _PACKAGES) -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": f"{platform.system()} {platform.machine()}"}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
