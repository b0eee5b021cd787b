"""What other weights would give, before anybody chooses them: presets, balanced weights, and parity-aware training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa

from piecework.balancing.balance import balance
from piecework.balancing.candidates import Candidate, View
from piecework.balancing.meter import Meter
from piecework.common.subset_name import SubsetName
from piecework.corpus.parallel_text import ParallelText
from piecework.corpus.sampling import BUCKETS
from piecework.counting.store import Counts
from piecework.evaluation.tables import Table
from piecework.study.recipe import AnyRecipe
from piecework.study.weights import temperature_weights, unimax_weights
from piecework.tokenizer.trained import TrainedTokenizer
from piecework.training.trainer import train, train_any

__all__ = ["alternatives"]

TODAY, BALANCED, PARITY = "as in the study", "balanced", "parity-aware"
TEMPERATURE = Fraction(3, 10)
EPOCHS = 4
"""The most times that UniMax uses a text. Its authors' experiments repeat text up to 10 times."""


@dataclass(frozen=True, slots=True)
class _Alternative:
    name: str
    tokenizer: TrainedTokenizer
    text: Mapping[str, Fraction]
    """Bytes of training text by language; for parity-aware training, those of the study."""


def alternatives(
    counts: Counts,
    recipe: AnyRecipe,
    *,
    parallel: ParallelText | None = None,
    budget_s: float = 60.0,
    threads: int = 1,
) -> Table | None:
    """A row for each way of training and each language: its share of the text, and its cost on held-out text.

    The ways are the study's own weights, weights of 1 (as in the corpus), a temperature, UniMax, the weights that
    `balance` finds, and parity-aware BPE, which needs parallel text. None if fewer than two languages have text.
    """
    meter = Meter(counts, parallel=parallel, threads=threads)
    sizes = _text(counts)
    if len(sizes) < 2 or (meter.measured & meter.compared).sum() < 2:
        return None
    found = list(_trained(counts, recipe, parallel, sizes, budget_s, threads))
    measured = {each.name: meter.measure(each.tokenizer) for each in found}
    trained = np.array([group in sizes for group in meter.groups])
    view = View(meter.compared, meter.measured & trained, meter.higher_is_better, measured[TODAY])
    candidates = {each.name: view.candidate(each.name, measured[each.name], {}) for each in found}
    rows: list[tuple[Any, ...]] = []
    for each in found:
        rows += _rows(each, candidates[each.name], candidates[TODAY], meter.name)
    names = ["alternative", "language", "share", "metric", "cost", "low", "high", "compared"]
    names += ["spread", "spread_low", "spread_high", "total_tokens", "more_tokens"]
    types: dict[str, pa.DataType] = dict.fromkeys(names, pa.float64())
    types |= dict.fromkeys(["alternative", "language", "metric"], pa.string())
    types |= {"compared": pa.bool_(), "total_tokens": pa.int64()}
    return Table.of(names, rows, types=types)


def _rows(each: _Alternative, candidate: Candidate, today: Candidate, metric: str) -> Iterator[tuple[Any, ...]]:
    total = sum(each.text.values())
    low, high = candidate.spread_interval or (None, None)
    more = candidate.total_tokens / today.total_tokens - 1 if today.total_tokens else None
    overall = (candidate.spread, low, high, candidate.total_tokens, more)
    for cost in candidate.costs:
        share = float(each.text[cost.group] / total)
        interval = cost.interval or (None, None)
        yield each.name, cost.group, share, metric, cost.value, *interval, cost.compared, *overall


def _text(counts: Counts) -> dict[str, Fraction]:
    """Bytes of training text by language as the corpus has them: without weights."""
    sizes: dict[str, Fraction] = {}
    for row in counts.subset_rows:
        weight = counts.weights[SubsetName(row["category"], row["language"])]
        if weight and row["train_bytes"]:
            natural = Fraction(row["train_bytes"]) / (1 if counts.weighting == "counts" else weight)
            sizes[row["language"]] = sizes.get(row["language"], Fraction(0)) + natural
    return sizes


def _trained(
    counts: Counts,
    recipe: AnyRecipe,
    parallel: ParallelText | None,
    sizes: Mapping[str, Fraction],
    budget_s: float,
    threads: int,
) -> Iterator[_Alternative]:
    """Every tokenizer, with the text that it was trained on."""
    today = _weighted(counts, counts.weights)
    yield _Alternative(TODAY, train_any(counts.training(), recipe), today)
    whole = {language: round(size) for language, size in sizes.items()}
    presets = {
        "as in the corpus": dict.fromkeys(sizes, Fraction(1)),
        f"temperature {float(TEMPERATURE):g}": temperature_weights(whole, TEMPERATURE),
        f"UniMax, at most {EPOCHS} times": unimax_weights(whole, EPOCHS),
    }
    for name, weights in presets.items():
        wanted = {
            subset: weights.get(subset.language, Fraction(0)) * (own > 0) for subset, own in counts.weights.items()
        }
        yield _Alternative(name, _train(counts, recipe, wanted), _weighted(counts, wanted))
    found = balance(counts, recipe, parallel=parallel, budget_s=budget_s, threads=threads)
    yield _Alternative(BALANCED, found.tokenizer, _weighted(counts, found.weights))
    if parallel is not None:
        yield _Alternative(PARITY, _parity(counts, recipe, parallel, list(sizes)), today)


def _factors(counts: Counts, weights: Mapping[SubsetName, Fraction]) -> dict[SubsetName, Fraction]:
    """What the counts are multiplied by. Under `weighting = "documents"` the sample has today's weights already."""
    if counts.weighting == "counts":
        return dict(weights)
    return {name: weight / own if (own := counts.weights[name]) else own for name, weight in weights.items()}


def _train(counts: Counts, recipe: AnyRecipe, weights: Mapping[SubsetName, Fraction]) -> TrainedTokenizer:
    return train_any(counts.training(weights=_factors(counts, weights)), recipe)


def _weighted(counts: Counts, weights: Mapping[SubsetName, Fraction]) -> dict[str, Fraction]:
    """Bytes of training text by language with these weights."""
    factors = _factors(counts, weights)
    sizes: dict[str, Fraction] = {}
    for row in counts.subset_rows:
        size = row["train_bytes"] * factors[SubsetName(row["category"], row["language"])]
        sizes[row["language"]] = sizes.get(row["language"], Fraction(0)) + size
    return sizes


def _parity(counts: Counts, recipe: AnyRecipe, parallel: ParallelText, languages: list[str]) -> TrainedTokenizer:
    """Parity-aware BPE with the study's weights.

    Its development text is the half of the parallel text that gives no reported cost. A language without parallel text,
    such as code, is trained together with the pivot.
    """
    compared = [language for language in languages if language in parallel.lines]
    pivot = parallel.pivot if parallel.pivot in compared else compared[0]
    training: dict[str, Any] = {language: counts.training(language) for language in compared}
    rest = [counts.training(language) for language in languages if language not in compared]
    training[pivot] = reduce(add, rest, training[pivot])
    size = len(parallel.lines[pivot])
    chooses = [at * BUCKETS // size % 2 == 0 for at in range(size)]
    development = {
        language: [line for line, chosen in zip(parallel.lines[language], chooses, strict=True) if chosen]
        for language in compared
    }
    given = {name: getattr(recipe, name) for name in recipe.model_fields_set}
    parity: Any = type(recipe)(**{**given, "parity": True})
    found: TrainedTokenizer = train(training, parity, development=development)
    return found
