"""Metrics: each has a name, a formula, a direction, and a function from totals to a ratio."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from piecework.common.mistakes import did_you_mean
from piecework.errors import InputError

__all__ = [
    "AT_SIZES",
    "DISTINCT",
    "SUMS",
    "Array",
    "Direction",
    "Metric",
    "UnitKind",
    "all_metrics",
    "find_metrics",
    "metric",
]

Array: TypeAlias = npt.NDArray[Any]
Direction = Literal["lower", "higher", "none"]
UnitKind = Literal["eval", "eval_plain"]

SUMS = {
    "tokens": "tokens",
    "starts": "tokens that start with ▁, which is a space",
    "continued": "tokens that start with ▁ and are followed by one that does not",
    "split_words": "whitespace words of two or more tokens",
    "unknown": "tokens that are the unknown piece",
    "byte_tokens": "tokens that are a byte piece; of byte-level tokenizers, those that are not whole characters",
    "partial": "tokens that are not whole characters",
    "words": "whitespace words: maximal runs of non-whitespace",
    "characters": "characters of the text",
    "bytes": "bytes of the text in UTF-8",
}
"""Totals that add up over documents, and so over buckets."""

DISTINCT = {
    "frequencies": "how often each piece that occurs is a token; has one more axis than the other totals, the last",
    "types": "distinct whitespace words with one space before and after them",
    "single_types": "the `types` that are one token",
}
"""Totals that count distinct things, so they do not add up over documents."""

AT_SIZES = frozenset({"tokens", "starts", "continued", "split_words", "words", "characters", "bytes", "vocab_size"})
"""Totals that are known for every vocabulary size; a metric of only these has a curve."""

_TOTALS = {**SUMS, **DISTINCT, "vocab_size": "pieces of the vocabulary"}


@dataclass(frozen=True, slots=True)
class Metric:
    """A named formula over the totals of a tokenizer on the text of a language.

    >>> fertility = find_metrics(["fertility"])[0]
    >>> fertility.title, fertility.direction, fertility.units
    ('Fertility', 'lower', 'eval_plain')
    >>> fertility.function(tokens=30, starts=20)
    (30, 20)
    """

    name: str
    title: str
    formula: str
    direction: Direction
    """Which way is better."""
    units: UnitKind
    """The text: unchanged (`eval`), or without ASCII punctuation (`eval_plain`)."""
    function: Callable[..., tuple[Any, Any]]
    """Takes totals by name and returns numerator and denominator; works on arrays of any shape."""
    totals: frozenset[str]
    """The totals that the function takes."""

    def ratio(self, totals: Mapping[str, Any]) -> tuple[Array, Array]:
        """Numerator and denominator, of the same shape."""
        numerator, denominator = self.function(**{name: totals[name] for name in self.totals})
        pair = np.broadcast_arrays(np.asarray(numerator), np.asarray(denominator))
        return pair[0], pair[1]

    def value(self, totals: Mapping[str, Any]) -> Array:
        """Numerator divided by denominator; NaN without text."""
        return divide(*self.ratio(totals))

    @property
    def adds_up(self) -> bool:
        """Whether all its totals are sums over documents."""
        return self.totals.isdisjoint(DISTINCT)

    @property
    def has_curve(self) -> bool:
        """Whether its value is known for every vocabulary size."""
        return self.totals <= AT_SIZES

    def best(self, values: Iterable[float | None]) -> list[int]:
        """The indices of the best values: several if they are equal, none if the metric has no direction.

        >>> find_metrics(["fertility"])[0].best([1.5, None, 1.25, 1.25])
        [2, 3]
        """
        known = [(number, value) for number, value in enumerate(values) if value is not None]
        if self.direction == "none" or not known:
            return []
        choose = min if self.direction == "lower" else max
        best = choose(value for _, value in known)
        return [number for number, value in known if value == best]


_registry: dict[str, Metric] = {}


def metric(
    name: str, *, title: str, formula: str, direction: Direction = "none", units: UnitKind = "eval"
) -> Callable[[Callable[..., tuple[Any, Any]]], Metric]:
    """Registers a metric. The parameters of the decorated function name the totals that it takes.

    >>> @metric("tokens_per_kilobyte", title="Tokens per kB", formula="1000 · tokens / bytes", direction="lower")
    ... def tokens_per_kilobyte(tokens, bytes):
    ...     return 1000 * tokens, bytes
    >>> tokens_per_kilobyte.has_curve
    True
    >>> forget(tokens_per_kilobyte)
    """
    if direction not in ("lower", "higher", "none"):
        raise InputError(f'metric "{name}": direction is "lower", "higher" or "none", not {direction!r}')
    if units not in ("eval", "eval_plain"):
        raise InputError(f'metric "{name}": units are "eval" or "eval_plain", not {units!r}')

    def register(function: Callable[..., tuple[Any, Any]]) -> Metric:
        parameters = frozenset(inspect.signature(function).parameters)
        for parameter in sorted(parameters - set(_TOTALS)):
            hint = did_you_mean(parameter, _TOTALS) or f"; there are {', '.join(_TOTALS)}"
            raise InputError(f'metric "{name}": no total is called "{parameter}"{hint}')
        if name in _registry:
            raise InputError(f'a metric called "{name}" exists already; choose another name')
        made = Metric(name, title, formula, direction, units, function, parameters)
        _registry[name] = made
        return made

    return register


def forget(unwanted: Metric) -> None:
    """Removes a metric from the registry."""
    _registry.pop(unwanted.name, None)


def all_metrics() -> list[Metric]:
    """All registered metrics, in order of registration."""
    return list(_registry.values())


def find_metrics(names: Iterable[str | Metric] | None) -> list[Metric]:
    """The metrics with these names, or all.

    >>> find_metrics(["fertilty"])
    Traceback (most recent call last):
    piecework.errors.InputError: no metric is called "fertilty"; did you mean "fertility"?
    """
    if names is None:
        return all_metrics()
    found = []
    for name in [names] if isinstance(names, str) else names:
        if isinstance(name, Metric):
            found.append(name)
        elif name in _registry:
            found.append(_registry[name])
        else:
            hint = did_you_mean(name, _registry) or f"; there are {', '.join(_registry)}"
            raise InputError(f'no metric is called "{name}"{hint}')
    return found


def divide(numerator: Array, denominator: Array) -> Array:
    """The quotient; NaN where the denominator is 0.

    >>> divide(np.array([3, 1]), np.array([2, 0])).tolist()
    [1.5, nan]
    """
    quotient = np.full(np.broadcast(numerator, denominator).shape, np.nan)
    np.divide(numerator, denominator, out=quotient, where=np.asarray(denominator) != 0)
    return quotient


@metric(
    "fertility",
    title="Fertility",
    formula="tokens / tokens that start with ▁",
    direction="lower",
    units="eval_plain",
)
def fertility(tokens: Array, starts: Array) -> tuple[Array, Array]:
    """The paper's fertility: tokens / tokens that start with ▁, after removal of punctuation."""
    return tokens, starts


@metric(
    "continued_words",
    title="Continued words",
    formula="tokens that start with ▁ and are followed by one that does not / tokens that start with ▁",
    direction="lower",
    units="eval_plain",
)
def continued_words(continued: Array, starts: Array) -> tuple[Array, Array]:
    """The paper's continued words, after removal of punctuation.

    Tokens that start with ▁ and are continued / tokens that start with ▁.
    """
    return continued, starts


@metric(
    "word_fertility",
    title="Fertility, whitespace words",
    formula="tokens / whitespace words",
    direction="lower",
)
def word_fertility(tokens: Array, words: Array) -> tuple[Array, Array]:
    """Tokens / maximal runs of non-whitespace."""
    return tokens, words


@metric(
    "split_words",
    title="Continued words, whitespace words",
    formula="whitespace words of two or more tokens / whitespace words",
    direction="lower",
)
def split_word_share(split_words: Array, words: Array) -> tuple[Array, Array]:
    """Whitespace words of two or more tokens / whitespace words."""
    return split_words, words


@metric("bytes_per_token", title="Bytes per token", formula="bytes of the text / tokens", direction="higher")
def bytes_per_token(bytes: Array, tokens: Array) -> tuple[Array, Array]:  # noqa: A002
    """Bytes of the text in UTF-8 / tokens."""
    return bytes, tokens


@metric(
    "characters_per_token",
    title="Characters per token",
    formula="characters of the text / tokens",
    direction="higher",
)
def characters_per_token(characters: Array, tokens: Array) -> tuple[Array, Array]:
    """Characters of the text / tokens."""
    return characters, tokens


@metric("unknown_rate", title="Unknown tokens", formula="unknown tokens / tokens", direction="lower")
def unknown_rate(unknown: Array, tokens: Array) -> tuple[Array, Array]:
    """Tokens that are the unknown piece / tokens."""
    return unknown, tokens


@metric("byte_rate", title="Byte tokens", formula="tokens that are byte pieces / tokens", direction="lower")
def byte_rate(byte_tokens: Array, tokens: Array) -> tuple[Array, Array]:
    """Tokens that are byte pieces / tokens."""
    return byte_tokens, tokens


@metric(
    "partial_rate",
    title="Tokens that are not whole characters",
    formula="tokens that start or end inside a character / tokens",
    direction="lower",
)
def partial_rate(partial: Array, tokens: Array) -> tuple[Array, Array]:
    """Tokens that start or end inside a character / tokens."""
    return partial, tokens


@metric(
    "vocabulary_utilisation",
    title="Vocabulary utilisation",
    formula="pieces that occur / pieces",
    direction="higher",
)
def vocabulary_utilisation(frequencies: Array, vocab_size: Array) -> tuple[Array, Array]:
    """Pieces that occur in the text / pieces of the vocabulary."""
    return np.count_nonzero(frequencies, axis=-1), vocab_size * (frequencies.sum(axis=-1) > 0)


RENYI_ORDER = 2.5


@metric(
    "renyi_efficiency",
    title="Rényi efficiency (α = 2.5)",
    formula="log Σ p^α / (1 − α), p the shares of the pieces among the tokens / log pieces",
    direction="higher",
)
def renyi_efficiency(frequencies: Array, vocab_size: Array) -> tuple[Array, Array]:
    """The Rényi entropy of order 2.5 of the tokens / its maximum, the logarithm of the vocabulary size."""
    tokens = frequencies.sum(axis=-1, keepdims=True)
    shares = frequencies / np.maximum(tokens, 1)
    # p^2.5 as p·p·√p: np.power takes ten times as long.
    powers = (shares * shares * np.sqrt(shares)).sum(axis=-1)
    has_text = tokens[..., 0] > 0
    entropy = np.log(np.where(has_text, powers, 1.0)) / (1 - RENYI_ORDER)
    return entropy, np.log(vocab_size) * has_text


@metric(
    "single_token_types",
    title="Word types of one token",
    formula="distinct words that are one token / distinct words, of words with one space before and after them",
    direction="higher",
)
def single_token_types(single_types: Array, types: Array) -> tuple[Array, Array]:
    """Distinct words that are one token / distinct words."""
    return single_types, types
