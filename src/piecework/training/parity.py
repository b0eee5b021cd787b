"""Parity-aware training: counts by language, and a development text that says which language is worst off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Generic, TypeVar

from piecework.counting.pre_tokens import PreTokenCounts
from piecework.counting.words import WordCounts
from piecework.errors import InputError, RecipeError

__all__ = ["ParityCounts", "parity_counts"]

AnyCounts = TypeVar("AnyCounts", WordCounts, PreTokenCounts)


@dataclass(frozen=True, slots=True, eq=False)
class ParityCounts(Generic[AnyCounts]):
    """The counts of each language. If development texts are equally long, the first such language gets the merge."""

    training: Mapping[str, AnyCounts]
    development: Mapping[str, AnyCounts]

    @property
    def together(self) -> AnyCounts:
        """The training counts of all languages."""
        return reduce(add, self.training.values())


def parity_counts(
    training: Any, development: Mapping[str, Any] | None, count: Callable[[Any], AnyCounts]
) -> ParityCounts[AnyCounts]:
    """Training and development counts by language. `count` turns texts into counts.

    Use parallel text for development: the lengths of texts can be compared only if the texts say the same.
    """
    if not isinstance(training, Mapping) or not training:
        raise RecipeError(
            "parity = true needs counts or texts by language, such as train({'sv': ..., 'is': ...}, recipe,"
            " development={'sv': ..., 'is': ...})"
        )
    if not isinstance(development, Mapping):
        raise RecipeError(
            "parity = true needs development= texts or counts by language, preferably parallel text: it shows which"
            " language is worst off"
        )
    if missing := [language for language in training if language not in development]:
        raise InputError(f'no development text of "{missing[0]}"; there is {", ".join(development) or "none"}')
    return ParityCounts(
        {language: count(each) for language, each in training.items()},
        {language: count(development[language]) for language in training},
    )
