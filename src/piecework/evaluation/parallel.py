"""Parallel text: how many tokens each language needs for the same content, compared with a pivot language."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from piecework.corpus.sampling import BUCKETS
from piecework.errors import InputError
from piecework.evaluation import intervals
from piecework.evaluation.evaluate import Tokenizers, named_tokenizers
from piecework.evaluation.metrics import Array, Direction, divide
from piecework.evaluation.tables import Table
from piecework.tokenizer.any_tokenizer import AnyTokenizer
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["PARALLEL_METRICS", "ParallelMetric", "evaluate_parallel"]


@dataclass(frozen=True, slots=True)
class ParallelMetric:
    """A named formula over the tokens of all languages for the same text."""

    name: str
    title: str
    formula: str
    direction: Direction
    per_language: bool
    """Whether each language has a value, or all languages together have one."""
    function: Callable[[Array, int], tuple[Array, Array]]
    """Takes tokens, [languages][...], and the index of the pivot; returns numerator and denominator."""


def premium(tokens: Array, pivot: int) -> tuple[Array, Array]:
    """Tokens of the language / tokens of the pivot."""
    return np.broadcast_arrays(tokens, tokens[pivot])  # type: ignore[return-value]


def worst_premium(tokens: Array, pivot: int) -> tuple[Array, Array]:
    """Tokens of the most expensive language / tokens of the pivot."""
    return tokens.max(axis=0), tokens[pivot]


def gini(tokens: Array, pivot: int) -> tuple[Array, Array]:  # noqa: ARG001
    """Σ over pairs of languages of the difference in tokens / (2 · languages · all tokens).

    >>> [int(value) for value in gini(np.array([10, 10, 20]), 0)]
    [40, 240]
    """
    differences = np.abs(tokens[:, np.newaxis] - tokens[np.newaxis]).sum(axis=(0, 1))
    return differences, 2 * len(tokens) * tokens.sum(axis=0)


PARALLEL_METRICS = (
    ParallelMetric("premium", "Premium", "tokens / tokens of the pivot for the same text", "lower", True, premium),
    ParallelMetric(
        "worst_premium",
        "Premium of the most expensive language",
        "tokens of the most expensive language / tokens of the pivot",
        "lower",
        False,
        worst_premium,
    ),
    ParallelMetric(
        "gini",
        "Gini coefficient of tokens",
        "Σᵢ Σⱼ |tᵢ − tⱼ| / (2 n Σᵢ tᵢ), t the tokens of each of n languages for the same text",
        "lower",
        False,
        gini,
    ),
)


def evaluate_parallel(
    tokenizers: Mapping[str, AnyTokenizer] | Tokenizers,
    texts: Mapping[str, Sequence[str]],
    *,
    pivot: str,
    threads: int = 1,
) -> Table:
    """Premium and Gini coefficient of each tokenizer on parallel text: line n says the same in every language.

    Tokenizers may be of any kind. The columns are those of `Evaluation.metrics`. `worst_premium` names the most
    expensive language. `gini` has no language, so its language is None. Intervals are paired: a resample takes the same
    lines in every language.

    >>> import piecework as pw
    >>> tokenizer = pw.train(pw.count_words(["the cat", "the hat"]), pw.Recipe(vocab_size=15))
    >>> table = evaluate_parallel(tokenizer, {"en": ["the cat"], "de": ["die Katze"]}, pivot="en")
    >>> [(row["metric"], row["language"], row["numerator"]) for row in table.rows()]
    [('premium', 'en', 3.0), ('premium', 'de', 8.0), ('worst_premium', 'de', 8.0), ('gini', None, 10.0)]
    """
    lengths = {language: len(lines) for language, lines in texts.items()}
    if pivot not in texts:
        raise InputError(f'the pivot "{pivot}" is not among the languages: {", ".join(texts) or "none"}')
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{language} has {length:,}" for language, length in lengths.items())
        raise InputError(f"texts are not parallel: {listed} lines; line n must say the same in every language")
    # Neighbouring lines are often of one document. A bucket is a stretch of lines, so that buckets are independent.
    buckets = np.arange(lengths[pivot]) * BUCKETS // max(lengths[pivot], 1)
    occupied = np.unique(buckets)
    named = tokenizers if isinstance(tokenizers, Mapping) else named_tokenizers(tokenizers)
    languages = list(texts)
    rows: list[tuple[Any, ...]] = []
    for name, tokenizer in named.items():
        lines = [_line_tokens(tokenizer, texts[language], threads) for language in languages]
        tokens = np.array([np.bincount(buckets, each, BUCKETS)[occupied] for each in lines]).astype(np.int64)
        for row in _rows(tokens, languages, languages.index(pivot)):
            rows.append((name, tokenizer.vocab_size, *row))
    names = ["tokenizer", "vocab_size", "language", "metric", "value", "low", "high", "numerator", "denominator"]
    types = {name: pa.float64() for name in names[4:]} | {"language": pa.string()}
    return Table.of(names, rows, title=f"Tokens for the same text, compared with {pivot}", types=types)


def _line_tokens(tokenizer: AnyTokenizer, lines: Sequence[str], threads: int) -> list[int]:
    """The number of tokens of each line."""
    if isinstance(tokenizer, Tokenizer):
        return list(map(len, tokenizer.encode_batch(lines, threads=threads)))
    return list(map(len, tokenizer.tokens_batch(lines)))


def _rows(buckets: Array, languages: list[str], pivot: int) -> list[tuple[Any, ...]]:
    tokens = buckets.sum(axis=1)
    count = buckets.shape[1]
    enough = count >= intervals.FEWEST_BUCKETS
    resampled = buckets @ intervals.bootstrap_weights(count).T if enough else None
    found = []
    for metric in PARALLEL_METRICS:
        numerators, denominators = map(np.atleast_1d, metric.function(tokens, pivot))
        values = divide(numerators, denominators)
        resamples = None
        if resampled is not None:
            resamples = np.atleast_2d(divide(*metric.function(resampled, pivot)))
        if metric.per_language:
            named: list[str | None] = list(languages)
        else:
            named = [languages[int(tokens.argmax())] if metric.name == "worst_premium" else None]
        for i, language in enumerate(named):
            interval = intervals.interval_of(resamples[i], buckets=count) if resamples is not None else None
            low, high = interval or (None, None)
            value = float(values[i]) if denominators[i] else None
            found.append((language, metric.name, value, low, high, float(numerators[i]), float(denominators[i])))
    return found
