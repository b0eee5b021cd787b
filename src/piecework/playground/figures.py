"""Figures for the whole evaluation set of each language: at any vocabulary size, and the use of each piece."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from piecework.errors import InputError
from piecework.evaluation.curves import Curve
from piecework.evaluation.evaluate import evaluate
from piecework.evaluation.metrics import Array, Metric, find_metrics
from piecework.playground.catalogue import Catalogue, NativeTokenizer

__all__ = ["METRICS", "Figures", "FiguresOfAll"]

METRICS = ("fertility", "continued_words", "word_fertility", "split_words", "bytes_per_token")
CURVE_POINTS = 160
"""Points of a curve as it is drawn, which is about one for every other pixel."""


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """One tokenizer on the evaluation set."""

    languages: tuple[str, ...]
    curves: Mapping[tuple[str, str], Curve]
    """By metric and language; empty where the tokenizer has but one size."""
    use: Array
    """How often each piece occurs: a row for each language, a column for each id."""

    def at(self, metric: str, vocab_size: int) -> list[dict[str, Any]]:
        """The exact figure of each language at a size: what a tokenizer resized to it has."""
        return [_figure(language, self.curves[metric, language], vocab_size) for language in self.languages]

    def drawn(self, metric: str) -> dict[str, Any]:
        """The curve of each language, thinned to what a screen shows, the sizes evenly spaced on a logarithmic axis."""
        some = next(iter(self.curves.values())).vocab_sizes
        at = np.unique(np.round(np.geomspace(some[0], some[-1], CURVE_POINTS)).astype(np.int64) - some[0])
        values = {
            language: [_or_none(value) for value in self.curves[metric, language].values[at]]
            for language in self.languages
        }
        return {"sizes": some[at].tolist(), "values": values}


class FiguresOfAll:
    """The figures of a catalogue's tokenizers, each evaluated on the counts when it is first asked for."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._lock = threading.Lock()
        self._found: dict[str, Figures] = {}
        self._metrics = find_metrics(METRICS)

    @property
    def available(self) -> bool:
        """Whether there is anything to evaluate on."""
        return self._catalogue.counts is not None

    @property
    def metrics(self) -> list[Metric]:
        """The metrics that have a figure at every size."""
        return list(self._metrics)

    def of(self, name: str) -> Figures:
        """The figures of one tokenizer."""
        shown = self._catalogue.native(name)
        with self._lock:
            if name not in self._found:
                self._found[name] = self._evaluate(name, shown)
            return self._found[name]

    def _evaluate(self, name: str, shown: NativeTokenizer) -> Figures:
        counts = self._catalogue.counts
        if counts is None:
            raise InputError("no counted text to evaluate on: open the folder of a study, or pass --counts")
        curves = shown.smallest is not None
        found = evaluate({name: shown.tokenizer}, counts, metrics=self._metrics, curves=curves)
        by_metric = {
            (metric.name, language): found.curve(name, language, metric)
            for metric in (self._metrics if curves else [])
            for language in found.groups
        }
        return Figures(tuple(found.groups), by_metric, found.frequency_array(name))


def _figure(language: str, curve: Curve, vocab_size: int) -> dict[str, Any]:
    value = curve.at(vocab_size)
    place = vocab_size - int(curve.vocab_sizes[0])
    return {
        "language": language,
        "value": _or_none(value),
        "full": _or_none(float(curve.values[-1])),
        "numerator": int(curve.numerators[place]),
        "denominator": int(curve.denominators[place]),
    }


def _or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
