"""Finds log-weights for which all residuals are 0 within their tolerances: Broyden's method, one training per step.

The cost of a language falls by about 5 % where its weight doubles (measured on five languages, 16,000 and 64,000
pieces), smoothly, and only relative weights matter. So a start from that slope, corrected by what each training shows,
needs few trainings. A step that makes things worse is halved, so the search ends with the best training it has seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from piecework.evaluation.metrics import Array

__all__ = ["LARGEST_FACTOR", "Search", "Step", "find_weights"]

SLOPE = 0.06
"""How much the log-cost of a group falls with its log-weight, at the start."""
STEEPEST, FLATTEST = 1.0, SLOPE / 4
LONGEST_STEP = math.log(4)
LARGEST_FACTOR = 1000.0
"""A weight changes at most by this factor. A language with 1,000 times the weight has a tokenizer of its own."""
MOST_TRAININGS = 40
PATIENCE = 4
"""The search stops after this many trainings in a row that are worse than the best, or twice as many not better."""

Stopped = Literal["met", "time", "out of reach", "no progress"]


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One training: the log-weights and the residuals of each group, with the tolerance of each residual."""

    log_weights: Array
    residuals: Array
    tolerances: Array


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """All trainings in order, the best one, and why the search stopped."""

    steps: tuple[Step, ...]
    best: int
    stopped: Stopped
    at_bound: Array
    """The groups whose weight has changed by the largest factor without reaching the goal."""


def find_weights(
    measure: Callable[[Array], tuple[Array, Array]],
    free: Array,
    *,
    raises_only: bool = False,
    is_late: Callable[[], bool] = lambda: False,
) -> Search:
    """Searches from log-weights of 0. `measure` trains, and returns residuals and their tolerances.

    With `raises_only` no log-weight is below 0, and a residual below 0 is accepted if the log-weight is 0. `is_late`
    says before each further training whether the time is up.

    >>> wanted = np.array([0.4, -0.3, -0.1])
    >>> search = find_weights(lambda x: (0.05 * (wanted - x), np.full(3, 1e-4)), np.full(3, True))
    >>> search.stopped, search.steps[search.best].log_weights.round(2).tolist()
    ('met', [0.4, -0.3, -0.1])
    """
    count = len(free)
    bound = math.log(LARGEST_FACTOR)
    low = 0.0 if raises_only else -bound
    relative = bool(free.all()) and not raises_only  # one factor for all weights changes nothing
    jacobian = -SLOPE * (np.eye(count) - (1 / count if relative else 0.0))
    steps: list[Step] = []
    faults: list[float] = []
    best = worse = idle = 0
    x = np.zeros(count)
    stopped: Stopped = "no progress"
    at_bound = np.zeros(count, dtype=bool)
    while True:
        step = Step(x, *measure(x))
        fault = _faults(step, raises_only=raises_only)
        steps.append(step)
        faults.append(float(np.max(np.abs(fault), initial=0.0)))
        if (np.abs(fault) <= step.tolerances).all():
            best, stopped = len(steps) - 1, "met"
            break
        if len(steps) > 1:
            _learn(jacobian, steps[best], step)
        worse = worse + 1 if faults[-1] > faults[best] else 0
        idle = 0 if faults[-1] < faults[best] or len(steps) == 1 else idle + 1
        if not worse:  # on a plateau, too: a small table has steps, and the next one may be just ahead
            best = len(steps) - 1
        wrong = np.abs(fault) > step.tolerances
        at_bound = wrong & (np.abs(x) >= bound - 1e-9)
        if worse >= PATIENCE or idle >= 2 * PATIENCE or len(steps) >= MOST_TRAININGS:
            break
        if is_late():
            stopped = "time"
            break
        x = _next(steps[best], jacobian, free, raises_only=raises_only)
        if worse:
            x = steps[best].log_weights + (x - steps[best].log_weights) * 0.5**worse
        if relative:
            x = x - x.mean()
        x = np.clip(x, low, bound)
        if np.abs(x - steps[best].log_weights).max() < 1e-3:
            stopped = "out of reach" if at_bound.any() else "no progress"
            break
    return Search(tuple(steps), best, stopped, at_bound)


def _faults(step: Step, *, raises_only: bool) -> Array:
    if not raises_only:
        return step.residuals
    return np.where((step.residuals < 0) & (step.log_weights <= 0), 0.0, step.residuals)


def _next(step: Step, jacobian: Array, free: Array, *, raises_only: bool) -> Array:
    """The log-weights at which the linear model has no residual, at most one long step away."""
    active = free & ((step.residuals > 0) | (step.log_weights > 0)) if raises_only else free
    chosen = np.flatnonzero(active)
    moved = step.log_weights.copy()
    if len(chosen):
        solved, *_ = np.linalg.lstsq(jacobian[np.ix_(chosen, chosen)], -step.residuals[chosen], rcond=1e-3)
        longest = np.abs(solved).max()
        moved[chosen] += solved * min(1.0, LONGEST_STEP / longest if longest else 1.0)
    return moved


def _learn(jacobian: Array, before: Step, after: Step) -> None:
    """Broyden's update, in place: the model then explains what the last training changed."""
    moved = after.log_weights - before.log_weights
    length = float(moved @ moved)
    if length < 1e-12:
        return
    missed = after.residuals - before.residuals - jacobian @ moved
    jacobian += np.outer(missed, moved) / length
    # More weight never raises a language's own cost; a noisy step must not teach the opposite.
    diagonal = np.clip(np.diag(jacobian), -STEEPEST, -FLATTEST)
    np.fill_diagonal(jacobian, diagonal)
