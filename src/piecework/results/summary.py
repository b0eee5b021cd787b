"""The summary of a study: sentences computed from its estimates, each with its certainty."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from piecework.common.percent import format_percent
from piecework.common.terms import MULTILINGUAL, OVERALL
from piecework.corpus.languages import language_name
from piecework.evaluation import intervals
from piecework.evaluation.evaluation import Evaluation
from piecework.evaluation.metrics import Array, divide
from piecework.evaluation.tables import Table
from piecework.results.languages import with_words
from piecework.results.sentence import Sentence, capitalised, certainty, enumerated
from piecework.results.summary_parallel import premium_sentences
from piecework.tokenizer.byte_level import ByteLevelTokenizer

__all__ = ["summarise"]

CLOSE = 0.01
"""A size is close to the full one if it needs at most this share of tokens more."""

_percent = partial(format_percent, digits=2)


def summarise(evaluation: Evaluation, overlap: Table, parallel: Table | None = None) -> Table:
    """The summary of a study, the most important sentence first.

    With parallel text that is the premium: the one metric that compares languages. Otherwise it is tokens per word, of
    the languages that separate words by spaces.
    """
    sentences = [
        *(premium_sentences(parallel) if parallel is not None else ()),
        *_tokens_per_word(evaluation),
        *_without_spaces(evaluation, has_parallel=parallel is not None),
        *_multilingual_cost(evaluation),
        *_size(evaluation),
        *_overlap(overlap),
        *_unused(evaluation),
        *_byte_tokens(evaluation),
    ]
    return Sentence.table(sentences)


def _tokens_per_word(evaluation: Evaluation) -> Iterator[Sentence]:
    """The most expensive language compared with the cheapest, by tokens per word."""
    every = _values(evaluation, "fertility")
    values = {language: every[language] for language in with_words(evaluation) if language in every}
    order = sorted(values, key=lambda name: values[name])
    if not order:
        return
    cheapest, most_expensive = order[0], order[-1]
    if len(order) == 1:
        row = _row(evaluation, "fertility", cheapest)
        interval = None if row["low"] is None else f"95 % interval {row['low']:.2f} to {row['high']:.2f}"
        sentence = f"{capitalised(cheapest)} needs {values[cheapest]:.2f} tokens per word."
        yield Sentence("languages", sentence, interval or certainty(None), values[cheapest], row["low"], row["high"])
        return
    more = values[most_expensive] / values[cheapest] - 1
    totals = [_fertility_totals(evaluation, name) for name in (most_expensive, cheapest)]
    interval_of_more = _ratio_interval(*totals)
    among = "Of the languages that separate words by spaces, " if evaluation.without_spaces else ""
    subject = language_name(most_expensive) if among else capitalised(most_expensive)
    yield Sentence(
        "languages",
        f"{among}{subject} needs {_percent(more)} more tokens per word than {language_name(cheapest)}: "
        f"{values[most_expensive]:.2f} compared with {values[cheapest]:.2f}.",
        certainty(interval_of_more),
        more,
        *(interval_of_more or ()),
    )


def _without_spaces(evaluation: Evaluation, *, has_parallel: bool) -> Iterator[Sentence]:
    """The languages that tokens per word cannot compare, with their characters per token."""
    values = _values(evaluation, "characters_per_token")
    languages = sorted((each for each in evaluation.without_spaces if each in values), key=language_name)
    if not languages:
        return
    listed = enumerated([f"{language_name(language)} {values[language]:.2f}" for language in languages])
    names = [language_name(language) for language in languages]
    hint = "" if has_parallel else "; to compare them with other languages, give the study parallel text"
    yield Sentence(
        "without spaces",
        f"{enumerated(names)} {'is' if len(names) == 1 else 'are'} written without spaces, so tokens per word mean "
        f"nothing there. Characters per token: {listed}.",
        f"detected from the characters of the text{hint}",
    )


def _multilingual_cost(evaluation: Evaluation) -> Iterator[Sentence]:
    """What a shared vocabulary costs each language, compared with its own monolingual tokenizer."""
    cost: dict[str, float] = {}
    resampled = []
    for language in evaluation.groups:
        if language in evaluation.tokenizers:
            shared, own = (_tokens(evaluation, name, language) for name in (MULTILINGUAL, language))
            if not own.sum():
                continue
            cost[language] = float(shared.sum() / own.sum()) - 1
            if len(shared) >= intervals.FEWEST_BUCKETS:
                weights = intervals.bootstrap_weights(len(shared)).T
                resampled.append(divide(shared @ weights, own @ weights) - 1)
    # With one language, both tokenizers are trained on the same words, so they are equal.
    if len(cost) < 2:
        return
    mean = sum(cost.values()) / len(cost)
    interval = None
    if len(resampled) == len(cost):
        # Languages are independent of each other, so their resamples must differ.
        shifted = [np.roll(values, index * 97) for index, values in enumerate(resampled)]
        interval = intervals.interval_of(np.mean(shifted, axis=0), buckets=32)
    order = sorted(cost, key=lambda name: cost[name])
    yield Sentence(
        "multilingual and monolingual",
        f"Compared with its own monolingual tokenizer, a language needs {_percent(abs(mean))} "
        f"{'more' if mean >= 0 else 'fewer'} tokens on average: least in {language_name(order[0])} "
        f"({_percent(cost[order[0]])}), most in {language_name(order[-1])} ({_percent(cost[order[-1]])}).",
        certainty(interval),
        mean,
        *(interval or ()),
    )


def _size(evaluation: Evaluation) -> Iterator[Sentence]:
    """How many pieces are enough, by the tokens of all evaluation text."""
    curve = evaluation.curve(MULTILINGUAL, OVERALL, "bytes_per_token")
    tokens, sizes = curve.denominators, curve.vocab_sizes
    if len(sizes) < 2 or not tokens[-1]:
        return
    close = int(sizes[np.argmax(tokens <= tokens[-1] * (1 + CLOSE))])
    step = min(1000, (len(sizes) - 1) // 2 or 1)
    saved = float(1 - tokens[-1] / tokens[-1 - step])
    yield Sentence(
        "vocabulary size",
        f"{close:,} of the {int(sizes[-1]):,} pieces are enough to need at most {_percent(CLOSE)} more tokens for the "
        f"text of all languages together; the last {step:,} pieces save {_percent(saved)}.",
        "exact for this text: every size was computed",
        float(close),
    )


def _overlap(overlap: Table) -> Iterator[Sentence]:
    """The two languages whose monolingual vocabularies overlap most, and least."""
    pairs = {
        (row["first"], row["second"]): row["jaccard"]
        for row in overlap.rows()
        if row["first"] < row["second"] and MULTILINGUAL not in (row["first"], row["second"])
    }
    order = sorted((pair for pair in pairs if pairs[pair] is not None), key=lambda pair: pairs[pair])
    if len(order) < 2:
        return
    closest, farthest = ([language_name(name) for name in pair] for pair in (order[-1], order[0]))
    yield Sentence(
        "overlap",
        f"The monolingual vocabularies of {closest[0]} and {closest[1]} overlap most: {_percent(pairs[order[-1]])} of "
        f"the pieces in either are in both; those of {farthest[0]} and {farthest[1]} overlap least, "
        f"{_percent(pairs[order[0]])}.",
        "exact: pieces were counted",
        pairs[order[-1]],
    )


def _unused(evaluation: Evaluation) -> Iterator[Sentence]:
    frequencies = evaluation.frequency_array(MULTILINGUAL).sum(axis=0)
    unused = int((frequencies == 0).sum())
    yield Sentence(
        "vocabulary",
        f"{unused:,} of the {len(frequencies):,} pieces ({_percent(unused / len(frequencies))}) never occur in the "
        f"evaluation text.",
        f"counted on {int(frequencies.sum()):,} tokens; more text would use more pieces",
        unused / len(frequencies),
    )


def _byte_tokens(evaluation: Evaluation) -> Iterator[Sentence]:
    rates = _values(evaluation, "byte_rate")
    if not rates or not max(rates.values()):
        return
    # A newline is a byte token, so code and verse have byte tokens even without rare characters.
    highest = max(rates, key=lambda name: rates[name])
    row = _row(evaluation, "byte_rate", highest)
    interval = None if row["low"] is None else (row["low"], row["high"])
    compared = ", more than in any other language" if len(rates) > 1 else ""
    is_byte_level = isinstance(evaluation.tokenizers[MULTILINGUAL], ByteLevelTokenizer)
    what = (
        "Tokens that are not whole characters"
        if is_byte_level
        else "Byte tokens, which encode newlines and rare characters,"
    )
    yield Sentence(
        "bytes",
        f"{what} are {_percent(rates[highest])} of the tokens in {language_name(highest)}{compared}.",
        certainty(interval),
        rates[highest],
        *(interval or ()),
    )


def _row(evaluation: Evaluation, metric: str, language: str) -> dict[str, Any]:
    return evaluation.metrics.where(metric=metric, tokenizer=MULTILINGUAL, language=language).rows()[0]


def _values(evaluation: Evaluation, metric: str) -> dict[str, float]:
    """The values of the multilingual tokenizer by language."""
    matrix = evaluation.matrix(metric)
    values = zip(matrix.column(evaluation.by), matrix.column(MULTILINGUAL), strict=True)
    return {language: value for language, value in values if value is not None}


def _fertility_totals(evaluation: Evaluation, language: str) -> Array:
    """The totals of fertility for each bucket with text: tokens, and tokens that start with ▁."""
    totals = evaluation.bucket_totals(MULTILINGUAL, "eval_plain")
    row = evaluation.groups.index(language)
    occupied = totals["characters"][row] > 0
    return np.stack([totals[name][row][occupied] for name in ("tokens", "starts")])


def _tokens(evaluation: Evaluation, tokenizer: str, language: str) -> Array:
    """The tokens of the unchanged text, for each bucket with text."""
    totals = evaluation.bucket_totals(tokenizer)
    row = evaluation.groups.index(language)
    return np.asarray(totals["tokens"][row][totals["characters"][row] > 0])


def _ratio_interval(first: Array, second: Array) -> tuple[float, float] | None:
    """The interval of first / second − 1 of two ratios, of different documents."""
    counts = first.shape[1], second.shape[1]
    if min(counts) < intervals.FEWEST_BUCKETS:
        return None
    resampled = [divide(*(each @ intervals.bootstrap_weights(each.shape[1]).T)) for each in (first, second)]
    # Resamples of different documents must not be paired.
    return intervals.interval_of(resampled[0] / np.roll(resampled[1], 997) - 1, buckets=min(counts))
