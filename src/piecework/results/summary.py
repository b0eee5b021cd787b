"""The summary of a study: sentences computed from its estimates, each with its certainty."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from piecework.common.terms import MULTILINGUAL
from piecework.corpus.languages import CODE, language_name
from piecework.evaluation import intervals
from piecework.evaluation.curves import Curve
from piecework.evaluation.evaluation import Evaluation
from piecework.evaluation.metrics import Array, divide
from piecework.evaluation.tables import Table

__all__ = ["Sentence", "summarise"]

CLOSE = 0.01
"""A size is close to the full one if its tokens per word are higher by at most this share."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the summary; `value` is its number, with the 95 % interval if there is one."""

    topic: str
    sentence: str
    certainty: str
    value: float | None = None
    low: float | None = None
    high: float | None = None


def summarise(evaluation: Evaluation, overlap: Table, curve: Curve) -> Table:
    """The summary of a study; `curve` is the multilingual tokenizer's fertility on all text, at every size."""
    import pyarrow as pa

    sentences = [
        *_languages(evaluation),
        *_multilingual_cost(evaluation),
        *_size(curve),
        *_overlap(overlap),
        *_unused(evaluation),
        *_bytes(evaluation),
    ]
    names = ["topic", "sentence", "certainty", "value", "low", "high"]
    rows = [tuple(getattr(each, name) for name in names) for each in sentences]
    types = {name: pa.string() if index < 3 else pa.float64() for index, name in enumerate(names)}
    return Table.of(names, rows, title="Summary", types=types)


def _languages(evaluation: Evaluation) -> Iterator[Sentence]:
    """The most expensive language compared with the cheapest, by tokens per word."""
    values = _values(evaluation, "fertility", MULTILINGUAL)
    spoken = {name: value for name, value in values.items() if name != CODE} or values
    order = sorted(spoken, key=lambda name: spoken[name])
    if not order:
        return
    cheapest, most_expensive = order[0], order[-1]
    if len(order) == 1:
        yield Sentence(
            "languages",
            f"{_capital(cheapest)} needs {spoken[cheapest]:.2f} tokens per word.",
            _documents(evaluation, cheapest),
            spoken[cheapest],
        )
        return
    more = spoken[most_expensive] / spoken[cheapest] - 1
    tokens = {name: _buckets(evaluation, MULTILINGUAL, name) for name in (cheapest, most_expensive)}
    interval = _ratio_interval(tokens[most_expensive], tokens[cheapest], paired=False)
    yield Sentence(
        "languages",
        f"{_capital(most_expensive)} needs {_percent(more)} more tokens per word than {language_name(cheapest)}: "
        f"{spoken[most_expensive]:.2f} compared with {spoken[cheapest]:.2f}.",
        _certainty(interval),
        more,
        *(interval or ()),
    )


def _multilingual_cost(evaluation: Evaluation) -> Iterator[Sentence]:
    """What a shared vocabulary costs each language, compared with its own monolingual tokenizer."""
    cost: dict[str, float] = {}
    resampled = []
    for language in evaluation.groups:
        if language in evaluation.tokenizers:
            shared, own = (_buckets(evaluation, name, language) for name in (MULTILINGUAL, language))
            if not shared[1].sum():
                continue
            cost[language] = float(divide(*shared.sum(axis=1)) / divide(*own.sum(axis=1))) - 1
            if shared.shape[1] >= intervals.FEWEST_BUCKETS:
                weights = intervals.bootstrap_weights(shared.shape[1]).T
                resampled.append(divide(*(shared @ weights)) / divide(*(own @ weights)) - 1)
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
        f"{'more' if mean >= 0 else 'fewer'} tokens per word on average: least in {language_name(order[0])} "
        f"({_percent(cost[order[0]])}), most in {language_name(order[-1])} ({_percent(cost[order[-1]])}).",
        _certainty(interval),
        mean,
        *(interval or ()),
    )


def _size(curve: Curve) -> Iterator[Sentence]:
    values, sizes = curve.values, curve.vocab_sizes
    if len(sizes) < 2 or not np.isfinite(values[-1]):
        return
    close = int(sizes[np.argmax(values <= values[-1] * (1 + CLOSE))])
    step = min(1000, (len(sizes) - 1) // 2 or 1)
    last = float(values[-1 - step] / values[-1] - 1)
    yield Sentence(
        "vocabulary size",
        f"{close:,} of the {int(sizes[-1]):,} pieces are enough to come within {_percent(CLOSE)} of the full "
        f"vocabulary's tokens per word; its last {step:,} pieces save {_percent(last)}.",
        "exact for this text: every size was computed",
        float(close),
    )


def _overlap(overlap: Table) -> Iterator[Sentence]:
    pairs = {
        (row["first"], row["second"]): row["jaccard"]
        for row in overlap.rows()
        if row["first"] < row["second"] and {MULTILINGUAL, CODE}.isdisjoint((row["first"], row["second"]))
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
    tokens = int(frequencies.sum())
    yield Sentence(
        "vocabulary",
        f"{unused:,} of the {len(frequencies):,} pieces ({_percent(unused / len(frequencies))}) never occur in the "
        f"evaluation text.",
        f"counted on {tokens:,} tokens; more text would use more pieces",
        unused / len(frequencies),
    )


def _bytes(evaluation: Evaluation) -> Iterator[Sentence]:
    rates = _values(evaluation, "byte_rate", MULTILINGUAL)
    if not rates or not max(rates.values()):
        return
    # A newline is a byte token, so code and verse have byte tokens even without rare characters.
    worst = max(rates, key=lambda name: rates[name])
    row = evaluation.metrics.where(metric="byte_rate", tokenizer=MULTILINGUAL, language=worst).rows()[0]
    interval = None if row["low"] is None else (row["low"], row["high"])
    compared = ", more than in any other language" if len(rates) > 1 else ""
    yield Sentence(
        "bytes",
        f"Byte tokens, which encode newlines and rare characters, are {_percent(rates[worst])} of the tokens in "
        f"{language_name(worst)}{compared}.",
        _certainty(interval),
        rates[worst],
        *(interval or ()),
    )


def _values(evaluation: Evaluation, metric: str, tokenizer: str) -> dict[str, float]:
    rows = evaluation.metrics.where(metric=metric, tokenizer=tokenizer).rows()
    values = {row[evaluation.by]: row["value"] for row in rows if row["value"] is not None}
    return {language: values[language] for language in evaluation.groups if language in values}


def _buckets(evaluation: Evaluation, tokenizer: str, language: str) -> Array:
    """The totals of fertility for each bucket with text: tokens, and tokens that start with ▁."""
    totals = evaluation.bucket_totals(tokenizer, "eval_plain")
    row = evaluation.groups.index(language)
    occupied = totals["characters"][row] > 0
    return np.stack([totals["tokens"][row][occupied], totals["starts"][row][occupied]])


def _ratio_interval(first: Array, second: Array, *, paired: bool) -> tuple[float, float] | None:
    """The interval of first / second − 1 of two fertilities; paired if both are of the same documents."""
    counts = first.shape[1], second.shape[1]
    if min(counts) < intervals.FEWEST_BUCKETS:
        return None
    resampled = [divide(*(each @ intervals.bootstrap_weights(each.shape[1]).T)) for each in (first, second)]
    if not paired:
        resampled[1] = np.roll(resampled[1], 997)
    return intervals.interval_of(resampled[0] / resampled[1] - 1, buckets=min(counts))


def _certainty(interval: tuple[float, float] | None) -> str:
    if interval is None:
        return "too few documents for an interval"
    return f"95 % interval {_percent(interval[0])} to {_percent(interval[1])}"


def _documents(evaluation: Evaluation, language: str) -> str:
    row = evaluation.metrics.where(metric="fertility", tokenizer=MULTILINGUAL, language=language).rows()[0]
    if row["low"] is None:
        return _certainty(None)
    return f"95 % interval {row['low']:.2f} to {row['high']:.2f}"


def _percent(share: float) -> str:
    """A share in percent with two significant digits, or with two decimals below 0.1 %.

    >>> [_percent(share) for share in (0.4312, 0.0512, 0.00012, 1.5, 0.0)]
    ['43 %', '5.1 %', '0.01 %', '150 %', '0 %']
    """
    percent = 100 * share
    if abs(percent) >= 9.95:
        return f"{percent:,.0f} %"
    decimals = 1 if abs(percent) >= 0.095 else 2
    return f"{percent:.{decimals}f} %".replace("0.00 %", "0 %").replace("-0 %", "0 %")


def _capital(name: str) -> str:
    """A language at the start of a sentence.

    >>> _capital("is"), _capital("code")
    ('Icelandic', 'Code')
    """
    text = language_name(name)
    return text[:1].upper() + text[1:]
