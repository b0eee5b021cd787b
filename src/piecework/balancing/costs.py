"""What a tokenizer costs each group of text, measured in two halves: one chooses weights, the other reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from piecework.corpus.sampling import BUCKETS
from piecework.evaluation import intervals
from piecework.evaluation.metrics import Array, divide

__all__ = ["Costs", "Half", "interval"]

Half = Literal["choose", "report"]

# Buckets of documents alternate, and so do stretches of parallel lines. So no document is in both halves, and neither
# half has only the beginning of the text.
_BUCKETS: dict[Half, Array] = {"choose": np.arange(0, BUCKETS, 2), "report": np.arange(1, BUCKETS, 2)}


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """The cost of each group is the sum of its numerators / the sum of its denominators, over buckets.

    Lower costs are better. For a metric where higher is better, numerator and denominator are swapped.

    >>> tokens, bytes_ = np.arange(64).reshape(2, 32), np.full((2, 32), 10)
    >>> Costs(("da", "sv"), tokens, bytes_, tokens).values("choose").tolist()
    [1.5, 4.7]
    """

    groups: tuple[str, ...]
    numerators: Array
    """[groups][32 buckets]."""
    denominators: Array
    tokens: Array
    """Tokens of the evaluation sample, [groups][32]; of the parallel text if there is no sample."""

    def values(self, half: Half) -> Array:
        """The cost of each group."""
        chosen = _BUCKETS[half]
        return divide(self.numerators[:, chosen].sum(axis=1), self.denominators[:, chosen].sum(axis=1))

    def resampled(self, half: Half) -> Array:
        """The cost of each group in resamples of the buckets, [groups][resamples].

        All groups have the same resamples, so ratios of parallel text are paired.
        """
        chosen = _BUCKETS[half]
        weights = intervals.bootstrap_weights(len(chosen)).T
        return divide(self.numerators[:, chosen] @ weights, self.denominators[:, chosen] @ weights)

    def total(self, half: Half) -> int:
        """Tokens of all groups together."""
        return int(self.tokens[:, _BUCKETS[half]].sum())


def interval(values: Array) -> tuple[float, float] | None:
    """The 95 % interval that the values of resamples span."""
    return intervals.interval_of(values, buckets=len(_BUCKETS["choose"]))
