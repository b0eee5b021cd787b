"""The weights of a study, multiplied by a factor for each group. Factors are rounded before they are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from piecework.common.exact import format_exact
from piecework.common.subset_name import SubsetName
from piecework.counting.store import Counts
from piecework.evaluation.metrics import Array
from piecework.evaluation.units import GroupBy

__all__ = ["Weighting", "weights_toml"]

DIGITS = 3
"""Significant digits of a factor. If a weight rises by 1 %, a cost falls by 0.06 %: a fourth digit has no effect."""


class Weighting:
    """Today's weights of the counts, and how a factor for each group changes them."""

    def __init__(self, counts: Counts, groups: Sequence[str], *, by: GroupBy) -> None:
        self._counts = counts
        self._groups = tuple(groups)
        self._by = by
        self._multiplies_counts = counts.weighting == "counts"
        rows = counts.subset_rows
        text = {SubsetName(row["category"], row["language"]): int(row["train_bytes"]) for row in rows}
        self._text = {
            name: size * (counts.weights[name] if self._multiplies_counts else 1) for name, size in text.items()
        }

    def group(self, subset: SubsetName) -> str:
        """The group of a subset."""
        return subset.language if self._by == "language" else str(subset)

    @property
    def trained(self) -> list[bool]:
        """Whether each group has training text."""
        sizes = dict.fromkeys(self._groups, Fraction(0))
        for subset, size in self._text.items():
            sizes[self.group(subset)] += size
        return [sizes[group] > 0 for group in self._groups]

    def factors(self, wanted: Array) -> dict[str, Fraction]:
        """The factors, scaled so that training has as much text as today, and rounded."""
        raw = dict(zip(self._groups, wanted.tolist(), strict=True))
        before = float(sum(self._text.values()))
        after = sum(float(size) * raw[self.group(subset)] for subset, size in self._text.items())
        scale = before / after if after else 1.0
        return {group: round_significant(factor * scale) for group, factor in raw.items()}

    def of_counts(self, factors: Mapping[str, Fraction]) -> dict[SubsetName, Fraction]:
        """What the counts are multiplied by. Under `weighting = "documents"` the sample has today's weights already."""
        today = self._counts.weights
        return {name: factors[self.group(name)] * (today[name] if self._multiplies_counts else 1) for name in today}

    def of_study(self, factors: Mapping[str, Fraction]) -> dict[SubsetName, Fraction]:
        """The weights to write into the study."""
        return {name: factors[self.group(name)] * weight for name, weight in self._counts.weights.items()}


def round_significant(value: float) -> Fraction:
    """A number rounded to three significant digits, exactly.

    >>> round_significant(1.23456), round_significant(0.000987654)
    (Fraction(123, 100), Fraction(247, 250000))
    """
    return Fraction(Decimal(f"{value:.{DIGITS}g}"))


def weights_toml(weights: Mapping[SubsetName, Fraction]) -> str:
    """The table [weights] of a study file: by language where all subsets of a language have the same weight.

    >>> print(weights_toml({SubsetName("law", "is"): Fraction(3, 2), SubsetName("law", "sv"): Fraction(1)}))
    [weights]
    language = { "is" = 1.5, "sv" = 1 }
    """
    by_language: dict[str, set[Fraction]] = {}
    for name, weight in weights.items():
        by_language.setdefault(name.language, set()).add(weight)
    if all(len(found) == 1 for found in by_language.values()):
        kind, pairs = "language", {language: min(found) for language, found in by_language.items()}
    else:
        kind, pairs = "subset", {str(name): weight for name, weight in weights.items()}
    listed = ", ".join(f'"{name}" = {format_exact(weight)}' for name, weight in sorted(pairs.items()))
    return f"[weights]\n{kind} = {{ {listed} }}"
