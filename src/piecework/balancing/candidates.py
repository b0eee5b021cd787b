"""One tokenizer on held-out text: what each group costs, the spread of the costs, the total of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from piecework.balancing.costs import Costs, Half, interval
from piecework.evaluation.metrics import Array

__all__ = ["Candidate", "GroupCost", "View"]


@dataclass(frozen=True, slots=True)
class GroupCost:
    """What a tokenizer costs one group of the held-out text, as people read the metric."""

    group: str
    value: float
    interval: tuple[float, float] | None
    compared: bool
    """Whether it counts for the spread. If not, the value is relative to its cost with today's weights."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One tokenizer on the held-out text."""

    name: str
    costs: tuple[GroupCost, ...]
    spread: float
    """The cost of the most expensive compared group / that of the cheapest one."""
    spread_interval: tuple[float, float] | None
    worst: str
    """The most expensive compared group."""
    total_tokens: int
    """Tokens of all groups together."""
    factors: Mapping[str, Fraction]
    """What each group's weight of today is multiplied by."""

    @property
    def worst_value(self) -> float:
        """The cost of the most expensive compared group."""
        return next((cost.value for cost in self.costs if cost.group == self.worst), 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """How costs are shown: which groups are compared, and what the others are relative to."""

    compared: Array
    measured: Array
    higher_is_better: bool
    today: Costs

    def candidate(self, name: str, costs: Costs, factors: Mapping[str, Fraction], half: Half = "report") -> Candidate:
        """The costs of one tokenizer with their intervals."""
        values, resampled = self._shown(costs, half)
        group_costs = tuple(
            GroupCost(group, float(values[i]), interval(resampled[i]), bool(self.compared[i]))
            for i, group in enumerate(costs.groups)
            if self.measured[i]
        )
        chosen = np.flatnonzero(self.compared & self.measured)
        if not len(chosen):
            return Candidate(name, group_costs, 1.0, None, "", costs.total(half), dict(factors))
        raw, raw_resampled = costs.values(half)[chosen], costs.resampled(half)[chosen]
        return Candidate(
            name,
            group_costs,
            float(raw.max() / raw.min()),
            interval(raw_resampled.max(axis=0) / raw_resampled.min(axis=0)) if len(chosen) > 1 else None,
            costs.groups[chosen[int(raw.argmax())]],
            costs.total(half),
            dict(factors),
        )

    def _shown(self, costs: Costs, half: Half) -> tuple[Array, Array]:
        values, resampled = costs.values(half), costs.resampled(half)
        with np.errstate(divide="ignore", invalid="ignore"):
            kept = values / self.today.values(half), resampled / self.today.resampled(half)
            if self.higher_is_better:
                values, resampled = 1 / values, 1 / resampled
        return (
            np.where(self.compared, values, kept[0]),
            np.where(self.compared[:, np.newaxis], resampled, kept[1]),
        )
