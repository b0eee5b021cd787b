"""Goals of a balance: equal costs, no cost above a limit, or targets. A group is a language or a subset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from piecework.common.mistakes import did_you_mean, listed
from piecework.errors import InputError
from piecework.evaluation.metrics import Array

__all__ = ["Goal", "GoalKind", "Problem", "check_goal", "make_goal"]

GoalKind = Literal["equal", "at-most", "targets"]


@dataclass(frozen=True, slots=True)
class Goal:
    """What the costs should be."""

    kind: GoalKind = "equal"
    limit: float | None = None
    """With `at-most`: the highest cost that a group may have."""
    targets: Mapping[str, float] = field(default_factory=dict)
    """With `targets`: the cost that each of these groups should have."""

    def __str__(self) -> str:
        match self.kind:
            case "at-most":
                return f"at most {self.limit:g}"
            case "targets":
                return ", ".join(f"{group} = {value:g}" for group, value in self.targets.items())
        return "equal costs"


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A goal for the groups of one measurement, as residuals that the search brings to 0."""

    goal: Goal
    groups: tuple[str, ...]
    compared: Array
    """Whether the cost of a group can be compared with the others'; the cost of any other stays what it is today."""
    movable: Array
    """Whether a group has training text and a measured cost, so that its weight has an effect."""
    higher_is_better: bool = False
    """Whether the metric is 1 / cost."""

    @property
    def free(self) -> Array:
        """The groups whose weights change."""
        if self.goal.kind == "targets":
            return self.movable & np.isin(self.groups, list(self.goal.targets))
        if self.goal.kind == "at-most":
            return self.movable & self.compared
        several = int((self.movable & self.compared).sum()) > 1
        return self.movable if several else np.zeros_like(self.movable)

    @property
    def raises_only(self) -> bool:
        """Whether a weight is only raised: a group below the limit keeps its weight."""
        return self.goal.kind == "at-most"

    def residuals(self, costs: Array, today: Array) -> Array:
        """Log of cost / wanted cost, [groups][...], 0 for groups whose weights do not change.

        `today` are the costs with today's weights, on the same text.
        """
        shape = (-1, *(1,) * (costs.ndim - 1))
        free = self.free.reshape(shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(costs)
            kept = np.where(free, logs - np.log(today), 0.0)
        compared = free & self.compared.reshape(shape)
        if self.goal.kind == "equal":
            count = max(int(compared.sum()), 1)
            level = np.where(compared, logs, 0.0).sum(axis=0, keepdims=True) / count
            return np.where(compared, logs - level, kept)
        sign = -1.0 if self.higher_is_better else 1.0
        if self.goal.kind == "at-most":
            assert self.goal.limit is not None
            return np.where(compared, logs - sign * np.log(self.goal.limit), 0.0)
        wanted = np.array([sign * np.log(self.goal.targets.get(group, 1.0)) for group in self.groups]).reshape(shape)
        # The target of a group that cannot be compared is relative to what it costs today.
        return np.where(compared, logs - wanted, np.where(free, kept - wanted, 0.0))


def make_goal(kind: GoalKind, limit: float | None, targets: Mapping[str, float] | None) -> Goal:
    """The goal, or an InputError if its parts do not fit each other."""
    if kind not in ("equal", "at-most", "targets"):
        raise InputError(f'goal is "equal", "at-most" or "targets", not {kind!r}')
    if (kind == "at-most") != (limit is not None):
        raise InputError(
            'goal "at-most" needs a limit, such as limit=1.05'
            if limit is None
            else f'limit = {limit:g} is for goal "at-most", not "{kind}"'
        )
    if (kind == "targets") != bool(targets):
        raise InputError(
            'goal "targets" needs targets, such as {"is": 1.1}'
            if not targets
            else f'targets are for goal "targets", not "{kind}"'
        )
    for name, value in [("limit", limit), *(targets or {}).items()]:
        if value is not None and not 0 < value < 1e6:
            raise InputError(f"{name} = {value:g}: a cost is above 0 and below 1,000,000")
    return Goal(kind, limit, dict(targets or {}))


def check_goal(goal: Goal, groups: tuple[str, ...], *, movable: Array, pivot: str | None) -> None:
    """Refuses a goal that names unknown groups, or that no weights can reach by definition."""
    for name, value in goal.targets.items():
        if name not in groups:
            hint = did_you_mean(name, groups) or f"; there is {listed(groups)}"
            raise InputError(f'targets: no language "{name}" in these counts{hint}')
        if not movable[groups.index(name)]:
            raise InputError(f'targets: "{name}" has no text to train or to measure on; leave it out')
        if name == pivot:
            raise InputError(f"targets: {name} is the pivot, whose premium is always 1, not {value:g}; leave it out")
    if pivot is not None and goal.limit is not None and goal.limit < 1:
        raise InputError(f"limit = {goal.limit:g}: the pivot has the premium 1, so the limit is 1 or more")
