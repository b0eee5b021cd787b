"""Compares tokenizers of any kind on the same text: metrics over whitespace words, sequence lengths, vocabularies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from piecework.common.terms import OVERALL
from piecework.corpus.sampling import BUCKETS, Sampler
from piecework.errors import InputError
from piecework.evaluation import intervals
from piecework.evaluation.cut_words import cut_words
from piecework.evaluation.estimates import estimates_from_sums
from piecework.evaluation.metrics import Array, Metric, divide, find_metrics
from piecework.evaluation.tables import Table
from piecework.tokenizer.any_tokenizer import AnyTokenizer

if TYPE_CHECKING:
    import pyarrow as pa

    from piecework.evaluation.units import UnitSource

__all__ = ["LENGTH", "METRICS", "Comparison", "compare", "compare_on_counts"]

METRICS = ("word_fertility", "split_words", "bytes_per_token", "characters_per_token", "unknown_rate")
"""The metrics of every kind of tokenizer: none depends on how a tokenizer marks the start of a word."""

LENGTH = "sequence_length"
"""Tokens / tokens of the first tokenizer on the same text."""

TOTALS = ("tokens", "split_words", "unknown", "words", "characters", "bytes")
_BATCH_CHARACTERS = 1 << 18

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The tables of a comparison; docs/compare.md lists their columns."""

    tokenizers: Mapping[str, AnyTokenizer]
    languages: list[str]
    """The languages, then `overall` if there are several."""
    metrics: Table
    overlap: Table
    words: Table
    """Frequent words that the tokenizers split differently."""

    @property
    def metric_list(self) -> list[Metric]:
        """The metrics of a single tokenizer; the sequence length is not among them, since it compares two."""
        return find_metrics(METRICS)


def compare(
    tokenizers: Mapping[str, AnyTokenizer], documents: Mapping[str, Sequence[str]], *, progress: Progress | None = None
) -> Comparison:
    """Compares tokenizers on the documents of each language.

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
    samples = {language: _document_sample(texts) for language, texts in sorted(documents.items()) if texts}
    return _compare(tokenizers, samples, progress=progress)


def compare_on_counts(
    tokenizers: Mapping[str, AnyTokenizer], counts: UnitSource, *, progress: Progress | None = None
) -> Comparison:
    """Compares tokenizers on the evaluation counts of a study: each word is encoded with the spaces before it.

    This is exact for SentencePiece BPE models. A tokenizer that looks across spaces gets slightly different token
    counts than on whole documents.
    """
    tables = {language: counts.evaluation([language]) for language in counts.languages}
    samples = {language: _unit_sample(table) for language, table in tables.items() if table.num_rows}
    return _compare(tokenizers, samples, progress=progress)


@dataclass(frozen=True, slots=True)
class _Sample:
    """Distinct texts, and how often each occurs in each bucket.

    Row i says that `texts[text_index[i]]` occurs `counts[i]` times in bucket `buckets[i]`.
    """

    texts: list[str]
    skip: Array
    """For each text, the characters at its start that are context and are not counted."""
    text_index: Array
    buckets: Array
    counts: Array


def _document_sample(documents: Sequence[str]) -> _Sample:
    sampler = Sampler(seed=1, train=Fraction(0), evaluation=Fraction(0), weights={})
    buckets = [sampler.bucket(text.encode("utf-8", "surrogatepass")) for text in documents]
    one = np.ones(len(documents), np.int64)
    return _Sample(list(documents), np.zeros_like(one), np.arange(len(documents)), np.array(buckets), one)


def _unit_sample(table: pa.Table) -> _Sample:
    """Every unit of the counts. A unit that does not open its document is encoded after a one-letter word."""
    units = [str(unit) for unit in table["unit"].to_pylist()]
    opens = table["opens"].to_pylist()
    in_context = [unit if is_start else f"a{unit}" for unit, is_start in zip(units, opens, strict=True)]
    numbers: dict[str, int] = {}
    text_index = [numbers.setdefault(text, len(numbers)) for text in in_context]
    skip = np.zeros(len(numbers), np.int64)
    skip[text_index] = [not is_start for is_start in opens]
    buckets, counts = (table[name].to_numpy().astype(np.int64) for name in ("bucket", "count"))
    return _Sample(list(numbers), skip, np.array(text_index, np.int64), buckets, counts)


def _compare(
    tokenizers: Mapping[str, AnyTokenizer], samples: Mapping[str, _Sample], *, progress: Progress | None
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
    for name, tokenizer in tokenizers.items():
        for language, sample in samples.items():
            sums[name, language] = _bucket_sums(tokenizer, sample, step)
        if len(samples) > 1:
            sums[name, OVERALL] = sum((sums[name, language] for language in samples), np.zeros((BUCKETS, len(TOTALS))))
    languages = [*samples, *([OVERALL] if len(samples) > 1 else [])]
    words = {language: _words(sample) for language, sample in samples.items()}
    return Comparison(
        tokenizers, languages, _metrics(tokenizers, languages, sums), _overlap(tokenizers), cut_words(tokenizers, words)
    )


def _words(sample: _Sample) -> Counter[str]:
    """How often each whitespace word occurs."""
    times = np.bincount(sample.text_index, sample.counts, len(sample.texts)).astype(np.int64)
    words: Counter[str] = Counter()
    for text, skip, count in zip(sample.texts, sample.skip.tolist(), times.tolist(), strict=True):
        for word in text[skip:].split():
            words[word] += count
    return words


def _bucket_sums(tokenizer: AnyTokenizer, sample: _Sample, step: Callable[[int], None]) -> Array:
    """`TOTALS` of each bucket."""
    totals = np.zeros((len(sample.texts), len(TOTALS)))
    for start, batch in _batches(sample.texts):
        where = slice(start, start + len(batch))
        totals[where] = _totals(tokenizer, batch, sample.skip[where])
        step(len(batch))
    sums = np.zeros((BUCKETS, len(TOTALS)))
    np.add.at(sums, sample.buckets, totals[sample.text_index] * sample.counts[:, np.newaxis])
    return sums


def _batches(texts: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """The texts in batches, each with the index of its first text."""
    start = size = 0
    for number, text in enumerate(texts):
        size += len(text)
        if size >= _BATCH_CHARACTERS:
            yield start, texts[start : number + 1]
            start, size = number + 1, 0
    if start < len(texts):
        yield start, texts[start:]


def _totals(tokenizer: AnyTokenizer, texts: Sequence[str], skip: Array) -> Array:
    """`TOTALS` of each text, counted from character `skip` on. Where `skip` is not 0, that character is a space.

    All texts are joined with a line break between them, so that one search finds the tokens of every word.
    """
    encoded = tokenizer.tokens_batch(texts)
    lengths = np.array([len(text) for text in texts])
    offsets = np.concatenate(([0], np.cumsum(lengths + 1)[:-1]))
    token_text = np.repeat(np.arange(len(texts)), [len(each.ids) for each in encoded])
    ids, starts, ends = (
        np.concatenate([getattr(each, name).astype(np.int64) for each in encoded]) for name in ("ids", "starts", "ends")
    )
    counts = (skip[token_text] == 0) | (ends > skip[token_text])
    starts, ends = starts + offsets[token_text], ends + offsets[token_text]
    spans = [match.span() for match in re.finditer(r"\S+", "\n".join(texts))]
    word_starts, word_ends = np.array(spans, np.int64).reshape(-1, 2).T
    # The tokens of a word end after its start and start before its end. Offsets are in order, except where a runtime
    # decomposes characters and sorts their parts.
    first = np.searchsorted(np.maximum.accumulate(ends), word_starts, "right")
    last = np.searchsorted(np.maximum.accumulate(starts), word_ends, "left")
    word_text = np.searchsorted(offsets, word_starts, "right") - 1
    is_word = word_starts >= offsets[word_text] + skip[word_text]

    def per_text(text_index: Array) -> Array:
        return np.bincount(text_index, minlength=len(texts))

    unknown = np.isin(ids, list(tokenizer.unknown_ids))
    totals = (
        per_text(token_text[counts]),
        per_text(word_text[is_word & (last - first > 1)]),
        per_text(token_text[counts & unknown]),
        per_text(word_text[is_word]),
        lengths - skip,
        np.array([len(text.encode("utf-8", "surrogatepass")) for text in texts]) - skip,
    )
    return np.stack(totals, axis=1).astype(float)


def _metrics(
    tokenizers: Mapping[str, AnyTokenizer], languages: Sequence[str], sums: Mapping[tuple[str, str], Array]
) -> Table:
    import pyarrow as pa

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
    import pyarrow as pa

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
