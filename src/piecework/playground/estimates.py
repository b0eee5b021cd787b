"""Estimates on the evaluation set of each language at any vocabulary size, and the use of each piece."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from piecework.common.terms import MULTILINGUAL, OVERALL
from piecework.errors import InputError
from piecework.evaluation.evaluate import evaluate
from piecework.evaluation.metrics import Array, Metric, find_metrics
from piecework.playground.catalogue import Catalogue, NativeTokenizer

if TYPE_CHECKING:
    from piecework.results.folder import StudyFolder

__all__ = ["METRICS", "EstimateStore", "Estimates"]

METRICS = ("fertility", "continued_words", "word_fertility", "split_words", "bytes_per_token")
PER_WORD = frozenset(METRICS) - {"bytes_per_token"}
"""Metrics that say nothing about languages written without spaces."""
CURVE_POINTS = 160
"""Points of a drawn curve: about one for every other pixel."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """The estimates of one tokenizer."""

    first_size: int
    """The smallest vocabulary size."""
    curves: Mapping[str, Mapping[str, Array]]
    """By metric and language, the value at each size; empty if the tokenizer has one size only."""
    languages: tuple[str, ...]
    use: Array
    """How often each piece occurs: a row per language, a column per id."""
    without_spaces: tuple[str, ...] = ()

    def left_out(self, metric: str) -> tuple[str, ...]:
        """The languages without spaces, if the metric is per word. The estimate of all text is then left out too."""
        return self.without_spaces if metric in PER_WORD else ()

    def _comparable(self, metric: str) -> Mapping[str, Array]:
        curves = self.curves[metric]
        left_out = self.left_out(metric)
        hidden = {*left_out, OVERALL} if left_out else set()
        return {language: values for language, values in curves.items() if language not in hidden}

    def at(self, metric: str, vocab_size: int) -> list[dict[str, Any]]:
        """The exact value of each language at a size: equal to that of a tokenizer resized to it."""
        curves = self.curves[metric]
        last = self.first_size + len(next(iter(curves.values()))) - 1
        if not self.first_size <= vocab_size <= last:
            raise InputError(f"size {vocab_size:,}: estimates exist from {self.first_size:,} to {last:,}")
        index = vocab_size - self.first_size
        return [
            {"language": language, "value": _or_none(values[index]), "full": _or_none(values[-1])}
            for language, values in self._comparable(metric).items()
        ]

    def curve_points(self, metric: str) -> dict[str, Any]:
        """The curve of each language at sizes evenly spaced on a logarithmic axis, as many as a screen shows."""
        curves = self.curves[metric]
        last = self.first_size + len(next(iter(curves.values()))) - 1
        sizes = np.unique(np.round(np.geomspace(self.first_size, last, CURVE_POINTS)).astype(np.int64))
        return {
            "sizes": sizes,
            "values": {
                language: [_or_none(value) for value in values[sizes - self.first_size]]
                for language, values in self._comparable(metric).items()
            },
        }


class EstimateStore:
    """The estimates of a catalogue's tokenizers, computed on first use.

    Estimates of a study's multilingual tokenizer are in the study's tables. Other tokenizers are evaluated on the
    study's counts.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._locks = {name: threading.Lock() for name in catalogue.names}
        self._found: dict[str, Estimates] = {}
        self.metrics: list[Metric] = find_metrics(METRICS)

    def available(self, name: str) -> bool:
        """Whether the store can give estimates of a tokenizer."""
        return self._in_tables(name) or self._catalogue.counts_for(name) is not None

    def get(self, name: str) -> Estimates:
        """The estimates of one tokenizer."""
        tokenizer = self._catalogue.native(name)
        with self._locks[name]:
            if name not in self._found:
                study = self._catalogue.study
                if study is not None and self._in_tables(name):
                    self._found[name] = _from_tables(study)
                else:
                    self._found[name] = self._evaluate(name, tokenizer)
            return self._found[name]

    def _in_tables(self, name: str) -> bool:
        study = self._catalogue.study
        return name == MULTILINGUAL and study is not None and {"languages", "sizes", "pieces"} <= set(study.tables)

    def _evaluate(self, name: str, tokenizer: NativeTokenizer) -> Estimates:
        counts = self._catalogue.counts_for(name)
        if counts is None:
            raise InputError("no counted text to evaluate on: open the folder of a study, or pass --counts")
        smallest = tokenizer.smallest
        found = evaluate({name: tokenizer.tokenizer}, counts, metrics=self.metrics, curves=smallest is not None)
        curves = {
            metric.name: {language: found.curve(name, language, metric).values for language in found.groups}
            for metric in (self.metrics if smallest is not None else [])
        }
        unspaced = tuple(found.without_spaces)
        return Estimates(smallest or 0, curves, tuple(found.groups), found.frequency_array(name), unspaced)


def _from_tables(study: StudyFolder) -> Estimates:
    sizes = study.tables["sizes"].to_arrow()
    names = np.array(sizes.column("language").to_pylist())
    all_sizes = sizes.column("vocab_size").to_numpy()
    languages = list(dict.fromkeys(names.tolist()))
    curves = {
        metric: {language: sizes.column(metric).to_numpy()[names == language] for language in languages}
        for metric in METRICS
    }
    pieces = study.tables["pieces"].to_arrow()
    used = tuple(language for language in study.languages if f"tokens_{language}" in pieces.column_names)
    use = np.array([pieces.column(f"tokens_{language}").to_numpy() for language in used])
    unspaced = tuple(row["language"] for row in study.tables["languages"].rows() if row["without_spaces"])
    return Estimates(int(all_sizes[0]), curves, used, use, unspaced)


def _or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
