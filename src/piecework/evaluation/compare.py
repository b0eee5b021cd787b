"""Compares tokenizers of any kind on the same text: metrics over whitespace words, sequence lengths, vocabularies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from piecework.common.terms import OVERALL
from piecework.corpus.parallel_text import ParallelText
from piecework.corpus.sampling import BUCKETS
from piecework.errors import InputError
from piecework.evaluation import intervals
from piecework.evaluation.cut_words import cut_words
from piecework.evaluation.estimates import estimates_from_sums
from piecework.evaluation.metrics import Array, Metric, divide, find_metrics
from piecework.evaluation.parallel import evaluate_parallel
from piecework.evaluation.tables import Table
from piecework.evaluation.text_sample import TOTALS, TextSample, bucket_sums, document_sample, unit_sample
from piecework.evaluation.word_spacing import UNSPACED_SHARE
from piecework.tokenizer.any_tokenizer import AnyTokenizer
from piecework.tokenizer.independent_units import units_problem

if TYPE_CHECKING:
    from piecework.evaluation.units import UnitSource

__all__ = ["LENGTH", "METRICS", "Comparison", "compare", "compare_on_counts"]

METRICS = ("word_fertility", "split_words", "bytes_per_token", "characters_per_token", "unknown_rate")
"""The metrics of every kind of tokenizer: none depends on how a tokenizer marks the start of a word."""

LENGTH = "sequence_length"
"""Tokens / tokens of the first tokenizer on the same text."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The tables of a comparison; docs/compare.md lists their columns."""

    tokenizers: Mapping[str, AnyTokenizer]
    languages: list[str]
    """The languages, then `overall` if there are several."""
    without_spaces: list[str]
    """The languages written without spaces: tokens per word say nothing about them."""
    metrics: Table
    overlap: Table
    words: Table
    """Frequent words that the tokenizers split differently."""
    parallel: Table | None = None
    """The premiums on parallel text, as `evaluate_parallel` gives them; None without parallel text."""

    @property
    def metric_list(self) -> list[Metric]:
        """The metrics of a single tokenizer; the sequence length is not among them, since it compares two."""
        return find_metrics(METRICS)


def compare(
    tokenizers: Mapping[str, AnyTokenizer],
    documents: Mapping[str, Sequence[str]],
    *,
    parallel: ParallelText | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compares tokenizers on the documents of each language, and on parallel text if there is some.

    A literal ▁ in a document separates words, as in `evaluate`; each tokenizer encodes it as it does.

    >>> import piecework as pw
    >>> small, large = (pw.train(pw.count_words(["en ros är en ros"]), pw.Recipe(vocab_size=n)) for n in (12, 16))
    >>> comparison = compare({"small": small, "large": large}, {"sv": ["en ros är en ros"]})
    >>> rows = comparison.metrics.where(metric="sequence_length").rows()
    >>> [(row["tokenizer"], round(row["value"], 2)) for row in rows]
    [('small', 1.0), ('large', 0.46)]
    """
    for language, texts in documents.items():
        if isinstance(texts, str):
            raise InputError(f'the documents of "{language}" are one string; for a single document write [text]')
    samples = {language: document_sample(texts) for language, texts in sorted(documents.items()) if texts}
    return _compare(tokenizers, samples, parallel, progress=progress)


def compare_on_counts(
    tokenizers: Mapping[str, AnyTokenizer],
    counts: UnitSource,
    *,
    parallel: ParallelText | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compares tokenizers on the evaluation counts of a study: each word is encoded with the spaces before it.

    This is exact for SentencePiece models; those that look across spaces are refused. Tokenizers of other libraries
    that do so get slightly different token counts than on whole documents.
    """
    for name, tokenizer in tokenizers.items():
        if problem := units_problem(tokenizer):
            raise InputError(f'"{name}" cannot be compared on counts: {problem}; compare on documents instead')
    tables = {language: counts.evaluation([language]) for language in counts.languages}
    samples = {language: unit_sample(table) for language, table in tables.items() if table.num_rows}
    return _compare(tokenizers, samples, parallel, progress=progress)


def _compare(
    tokenizers: Mapping[str, AnyTokenizer],
    samples: Mapping[str, TextSample],
    parallel: ParallelText | None,
    *,
    progress: Progress | None,
) -> Comparison:
    if not tokenizers:
        raise InputError("no tokenizer to compare")
    if not samples:
        raise InputError("no text to compare on")
    steps = len(tokenizers) * sum(len(sample.texts) for sample in samples.values())
    done = 0

    def step(texts: int) -> None:
        nonlocal done
        done += texts
        if progress is not None:
            progress(done, steps)

    sums: dict[tuple[str, str], Array] = {}
    for language, sample in samples.items():
        sums |= {(name, language): each for name, each in bucket_sums(tokenizers, sample, step).items()}
    if len(samples) > 1:
        for name in tokenizers:
            sums[name, OVERALL] = sum((sums[name, language] for language in samples), np.zeros((BUCKETS, len(TOTALS))))
    languages = [*samples, *([OVERALL] if len(samples) > 1 else [])]
    return Comparison(
        tokenizers=tokenizers,
        languages=languages,
        without_spaces=[name for name, sample in samples.items() if sample.unspaced_share() > UNSPACED_SHARE],
        metrics=_metrics(tokenizers, languages, sums),
        overlap=_overlap(tokenizers),
        words=cut_words(tokenizers, {language: sample.words() for language, sample in samples.items()}),
        parallel=evaluate_parallel(tokenizers, parallel.lines, pivot=parallel.pivot) if parallel else None,
    )


def _metrics(
    tokenizers: Mapping[str, AnyTokenizer], languages: Sequence[str], sums: Mapping[tuple[str, str], Array]
) -> Table:
    first = next(iter(tokenizers))
    rows = []
    for name, tokenizer in tokenizers.items():
        for language in languages:
            occupied = sums[first, language][:, TOTALS.index("characters")] > 0
            found, first_sums = sums[name, language][occupied], sums[first, language][occupied]
            by_name = dict(zip(TOTALS, found.T, strict=True))
            identity = (name, tokenizer.kind, tokenizer.vocab_size, language)
            rows += [(*identity, metric.name, *_estimate(metric, by_name)) for metric in find_metrics(METRICS)]
            rows.append((*identity, LENGTH, *_length(found, first_sums)))
    names = [
        "tokenizer",
        "kind",
        "vocab_size",
        "language",
        "metric",
        "value",
        "low",
        "high",
        "numerator",
        "denominator",
    ]
    return Table.of(names, rows, title="Comparison", types=dict.fromkeys(names[5:], pa.float64()))


def _estimate(metric: Metric, sums: dict[str, Array]) -> tuple[float | None, ...]:
    alone = {name: values[np.newaxis] for name, values in sums.items()}
    estimate = estimates_from_sums(metric, alone, np.ones_like(alone["tokens"], bool))[0]
    return estimate.value, *(estimate.interval or (None, None)), estimate.numerator, estimate.denominator


def _length(found: Array, first: Array) -> tuple[float | None, ...]:
    """Tokens / tokens of the first tokenizer. Both are resampled together, since they are of the same text."""
    tokens, others = found[:, TOTALS.index("tokens")], first[:, TOTALS.index("tokens")]
    numerator, denominator = float(tokens.sum()), float(others.sum())
    if not denominator:
        return None, None, None, numerator, denominator
    interval = None
    if len(tokens) >= intervals.FEWEST_BUCKETS:
        weights = intervals.bootstrap_weights(len(tokens))
        interval = intervals.interval_of(divide(weights @ tokens, weights @ others), buckets=len(tokens))
    return numerator / denominator, *(interval or (None, None)), numerator, denominator


def _overlap(tokenizers: Mapping[str, AnyTokenizer]) -> Table:
    """For every two tokenizers, how many learned tokens they share, compared as text."""
    learned = {name: tokenizer.learned_texts for name, tokenizer in tokenizers.items()}
    rows: list[tuple[Any, ...]] = []
    for first, second in permutations(tokenizers, 2):
        shared = len(learned[first] & learned[second])
        sizes = len(learned[first]), len(learned[second])
        either = sum(sizes) - shared
        relative = shared / sizes[0] if sizes[0] else None
        rows.append((first, second, *sizes, shared, relative, shared / either if either else None))
    names = ["first", "second", "first_tokens", "second_tokens", "shared", "relative", "jaccard"]
    types = {"relative": pa.float64(), "jaccard": pa.float64()}
    return Table.of(names, rows, title="Vocabulary overlap", types=types)
