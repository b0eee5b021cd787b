"""`piecework.balance`: finds weights with which languages cost the same, from counts alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from piecework.balancing.candidates import Candidate, View
from piecework.balancing.costs import Costs, interval
from piecework.balancing.goals import GoalKind, Problem, check_goal, make_goal
from piecework.balancing.meter import PREMIUM, Meter
from piecework.balancing.result import Balance
from piecework.balancing.search import LARGEST_FACTOR, Search, find_weights
from piecework.balancing.weighting import Weighting
from piecework.corpus.parallel_text import ParallelText, parallel_text
from piecework.counting.store import Counts
from piecework.errors import InputError
from piecework.evaluation.metrics import Array, Metric
from piecework.evaluation.units import GroupBy
from piecework.study.byte_level_recipe import ByteLevelRecipe
from piecework.study.recipe import AnyRecipe, Recipe
from piecework.tokenizer.trained import TrainedTokenizer
from piecework.training.trainer import train_any

__all__ = ["balance"]

Progress = Callable[[int, str], None]

FRONTIER = (0.25, 0.5, 0.75)
"""Points of the frontier between today's weights (0) and those found (1), on the logarithm of the weights."""
NOISE_SHARE = 0.5
"""A residual is small enough at half the reach of its interval: a different text would move it by more."""
LEAST_TOLERANCE = 0.0005
"""The smallest tolerance: intervals on large text are narrower than anybody needs."""
TOLERANCE_WITHOUT_INTERVAL = 0.01


def balance(
    counts: Counts,
    recipe: AnyRecipe | None = None,
    *,
    goal: GoalKind = "equal",
    limit: float | None = None,
    targets: Mapping[str, float] | None = None,
    metric: str | Metric | None = None,
    parallel: ParallelText | Mapping[str, Sequence[str]] | None = None,
    pivot: str | None = None,
    by: GroupBy = "language",
    budget_s: float = 60.0,
    threads: int = 1,
    progress: Progress | None = None,
) -> Balance:
    """Finds weights of languages for which the cost of the tokenizer meets a goal; reads no document.

    The goal is `equal` costs, no cost above `limit` (`at-most`), or `targets` for some languages. The cost is the
    premium on `parallel` text, or a metric of the evaluation sample. Half of the buckets choose the weights, the other
    half gives the costs of the result. A language without parallel text keeps the cost that it has today. The search
    stops when no cost is further from the goal than half of its 95 % interval, or when the trainings
    would take more than `budget_s` seconds of CPU. A busy machine does not change the result.
    `progress(trainings, message)` is called before and after each training.
    """
    recipe = recipe or _usual_recipe(counts)
    wanted = make_goal(goal, limit, targets)
    text = parallel if parallel is None or isinstance(parallel, ParallelText) else parallel_text(parallel, pivot=pivot)
    meter = Meter(counts, metric=metric, parallel=text, by=by, threads=threads)
    weighting = Weighting(counts, meter.groups, by=by)
    movable = meter.measured & np.array(weighting.trained)
    if not movable.any():
        raise InputError(
            f"{counts.folder}: no language has both training text and text to measure on; raise sampling.eval and count"
            " again, or give parallel text"
        )
    check_goal(wanted, meter.groups, movable=movable, pivot=meter.pivot)
    problem = Problem(wanted, meter.groups, meter.compared, movable, meter.higher_is_better)
    run = _Run(counts, recipe, meter, weighting, problem, budget_s, progress or (lambda _done, _message: None))
    search = run.search()
    best = search.steps[search.best].log_weights
    points = [run.candidate(share, best) for share in (0.0, *(FRONTIER if best.any() else ()))]
    if best.any():
        points.append(run.candidate(1.0, best))
    factors = weighting.factors(np.exp(best))
    reason = search.stopped
    return Balance(
        goal=wanted,
        metric=meter.name,
        formula=meter.metric.formula if meter.metric else "tokens / tokens of the pivot for the same text",
        pivot=meter.pivot,
        by=by,
        before=points[0],
        after=points[-1],
        frontier=tuple(points),
        weights=weighting.of_study(factors),
        tokenizer=run.trained(best)[0],
        stopped=reason,
        out_of_reach=tuple(np.array(meter.groups)[search.at_bound].tolist()) if reason == "out of reach" else (),
        notes=tuple(_notes(problem, meter, np.array(weighting.trained))),
        trainings=run.trainings,
        elapsed_s=run.elapsed_s,
        cpu_s=run.cpu_s,
        path=tuple(run.path),
    )


def _usual_recipe(counts: Counts) -> AnyRecipe:
    if counts.pre_tokenizer is None:
        return Recipe.gpt_sw3()
    return ByteLevelRecipe(pre_tokenizer=counts.pre_tokenizer)


class _Run:
    """The trainings of one balance, each done once."""

    def __init__(
        self,
        counts: Counts,
        recipe: AnyRecipe,
        meter: Meter,
        weighting: Weighting,
        problem: Problem,
        budget_s: float,
        progress: Progress,
    ) -> None:
        self._counts, self._recipe, self._meter = counts, recipe, meter
        self._weighting, self._problem = weighting, problem
        self._budget_s, self._progress = budget_s, progress
        self._started, self._started_cpu = time.monotonic(), time.process_time()
        self._longest = 0.0
        self._costs: dict[tuple[Fraction, ...], Costs] = {}
        self._last: tuple[tuple[Fraction, ...], TrainedTokenizer] | None = None
        self.trainings = 0
        self.path: list[dict[str, float]] = []
        self._today: Costs | None = None

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    @property
    def cpu_s(self) -> float:
        """Seconds of CPU since the start."""
        return time.process_time() - self._started_cpu

    def search(self) -> Search:
        """Searches for the weights."""
        return find_weights(
            self._measure, self._problem.free, raises_only=self._problem.raises_only, is_late=self._is_late
        )

    def _is_late(self) -> bool:
        # Time for one more step, for the frontier, and for the tokenizer that is returned.
        return self.cpu_s + self._longest * (len(FRONTIER) + 2) > self._budget_s

    def trained(self, log_weights: Array) -> tuple[TrainedTokenizer, Costs]:
        """The tokenizer for these log-weights, and its costs."""
        factors = self._weighting.factors(np.exp(log_weights))
        key = tuple(factors.values())
        if self._last is None or self._last[0] != key:
            started = self.cpu_s
            self._progress(self.trainings, f"training {self.trainings + 1}")
            words = self._counts.training(weights=self._weighting.of_counts(factors))
            self._last = key, train_any(words, self._recipe)
            self.trainings += 1
            self._longest = max(self._longest, self.cpu_s - started)
        if key not in self._costs:
            self._costs[key] = self._meter.measure(self._last[1])
        return self._last[1], self._costs[key]

    def costs(self, log_weights: Array) -> Costs:
        """The costs for these log-weights, measured once."""
        key = tuple(self._weighting.factors(np.exp(log_weights)).values())
        return self._costs.get(key) or self.trained(log_weights)[1]

    def _measure(self, log_weights: Array) -> tuple[Array, Array]:
        costs = self.costs(log_weights)
        self._today = self._today or costs  # the search starts from today's weights
        residuals = self._problem.residuals(costs.values("choose"), self._today.values("choose"))
        resampled = self._problem.residuals(costs.resampled("choose"), self._today.resampled("choose"))
        tolerances = []
        for values in resampled:
            found = interval(values)
            reach = (found[1] - found[0]) / 2 if found else TOLERANCE_WITHOUT_INTERVAL / NOISE_SHARE
            tolerances.append(max(NOISE_SHARE * reach, LEAST_TOLERANCE))
        chosen = self._problem.compared & self._problem.movable
        values = costs.values("choose")[chosen]
        spread = float(values.max() / values.min()) if chosen.any() else 1.0
        self.path.append({"largest_residual": float(np.abs(residuals).max()), "spread": spread})
        self._progress(self.trainings, f"most expensive / cheapest: {spread:.3f}")
        return residuals, np.array(tolerances)

    def candidate(self, share: float, log_weights: Array) -> Candidate:
        """A point of the frontier: log-weights times `share`."""
        assert self._today is not None
        view = View(self._problem.compared, self._problem.movable, self._problem.higher_is_better, self._today)
        moved = log_weights * share
        name = "today" if not share else "balanced" if share == 1 else f"{share:.0%} of the way"
        return view.candidate(name, self.costs(moved), self._weighting.factors(np.exp(moved)))


def _notes(problem: Problem, meter: Meter, trained: Array) -> list[str]:
    """Notes for the user about groups whose weight or cost is not as expected."""
    notes = []
    names = np.array(meter.groups)
    if missing := names[~trained].tolist():
        notes.append(f"{', '.join(missing)}: no training text, so the weight changes nothing")
    if unmeasured := names[trained & ~meter.measured].tolist():
        notes.append(f"{', '.join(unmeasured)}: no text to measure on, so the weight stays relative to the others")
    if meter.name == PREMIUM and (kept := names[problem.movable & ~problem.compared].tolist()):
        held = "stays what it is" if problem.goal.kind == "equal" else "is relative to today"
        notes.append(f"{', '.join(kept)}: no parallel text; the cost, tokens per byte of the sample, {held}")
    if (problem.movable & problem.compared).sum() == 1:
        notes.append("one language alone: there is nothing to balance it with, so its weight stays")
    if problem.goal.kind != "equal":
        notes.append(f"weights change by at most a factor of {LARGEST_FACTOR:,.0f}")
    return notes
