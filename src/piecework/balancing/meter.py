"""Measures what tokenizers cost: on parallel text where there is some, else on the evaluation sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from piecework.balancing.costs import Costs
from piecework.corpus.parallel_text import ParallelText
from piecework.corpus.sampling import BUCKETS
from piecework.counting.store import Counts
from piecework.errors import InputError
from piecework.evaluation.metrics import Array, Metric, UnitKind, find_metrics
from piecework.evaluation.passes import TEXT_TOTALS, TOKEN_TOTALS, Evaluator
from piecework.evaluation.units import EvaluationUnits, GroupBy
from piecework.tokenizer.trained import TrainedTokenizer

__all__ = ["PREMIUM", "Meter"]

PREMIUM = "premium"
"""The metric on parallel text: tokens / tokens of the pivot for the same text."""
DEFAULT_METRIC = "word_fertility"
KEPT_METRIC = "bytes_per_token"
"""The metric in which a language without parallel text keeps its cost."""


class Meter:
    """Measures the cost of tokenizers for each group of the counts."""

    def __init__(
        self,
        counts: Counts,
        *,
        metric: str | Metric | None = None,
        parallel: ParallelText | None = None,
        by: GroupBy = "language",
        threads: int = 1,
    ) -> None:
        """Without `metric`, it is the premium where there is parallel text, else tokens per whitespace word."""
        self._threads = threads
        self.metric = _find(metric, has_parallel=parallel is not None)
        """None for the premium."""
        if self.metric is None and by == "subset":
            raise InputError("parallel text has languages, no subsets: balance languages, or name a metric")
        kinds: list[UnitKind] = sorted({"eval", self.metric.units if self.metric else "eval"})
        self._units = EvaluationUnits(counts, kinds, counts.languages, by=by)
        self.groups = tuple(self._units.groups) if by == "language" else tuple(sorted(map(str, counts.weights)))
        self.lines: dict[str, Sequence[str]] = {}
        self.pivot: str | None = None
        if parallel is not None and self.metric is None:
            own = {name: parallel.lines[name] for name in (parallel.pivot, *self.groups) if name in parallel.lines}
            if short := next((name for name, lines in own.items() if not _has_both_halves(lines)), None):
                raise InputError(
                    f'the parallel text of "{short}" is too short: one half of it chooses the weights and the other one'
                    " reports, and each needs lines with text"
                )
            self.lines = {name: own[name] for name in self.groups if name in own}
            self.pivot = parallel.pivot
            self._pivot_lines = own[parallel.pivot]
        text = self._units.text["eval"][:, :, TEXT_TOTALS.index("characters")]
        found = dict(zip(self._units.groups, text, strict=True))
        self._sampled = np.array([found.get(group, np.zeros(BUCKETS)) for group in self.groups])

    @property
    def name(self) -> str:
        """The name of the metric."""
        return self.metric.name if self.metric else PREMIUM

    @property
    def higher_is_better(self) -> bool:
        """Whether the metric is 1 / cost."""
        return self.metric is not None and self.metric.direction == "higher"

    @property
    def compared(self) -> Array:
        """Whether each group's cost can be compared with the others': with the premium, if it has parallel text."""
        return np.array([self.metric is not None or group in self.lines for group in self.groups])

    @property
    def measured(self) -> Array:
        """Whether each group has text to measure on, in both halves."""
        sampled = (self._sampled[:, 0::2].sum(axis=1) > 0) & (self._sampled[:, 1::2].sum(axis=1) > 0)
        return np.asarray(sampled | np.array([group in self.lines for group in self.groups]))

    def measure(self, tokenizer: TrainedTokenizer) -> Costs:
        """The costs of one tokenizer."""
        tokens = np.zeros((len(self.groups), BUCKETS))
        numerators, denominators = tokens.copy(), tokens.copy()
        if self._sampled.any():
            found = Evaluator(tokenizer, name="balance", sizes=None, threads=self._threads).run(
                self._units, in_blocks=False
            )
            rows = [self.groups.index(group) for group in self._units.groups]
            tokens[rows] = found.totals["eval"].sum(axis=1)[:, :, TOKEN_TOTALS.index("tokens")]
            metric = self.metric or find_metrics([KEPT_METRIC])[0]
            sums = dict(zip(TOKEN_TOTALS, np.moveaxis(found.totals[metric.units].sum(axis=1), 2, 0), strict=True))
            sums |= zip(TEXT_TOTALS, np.moveaxis(self._units.text[metric.units], 2, 0), strict=True)
            sums["vocab_size"] = np.asarray(tokenizer.vocab_size)
            ratio = metric.ratio(sums)
            numerators[rows], denominators[rows] = ratio if metric.direction == "lower" else ratio[::-1]
        if self.lines:
            buckets = _line_buckets(len(self._pivot_lines))
            pivot = self._tokens(tokenizer, self._pivot_lines, buckets)
            for group, lines in self.lines.items():
                row = self.groups.index(group)
                numerators[row], denominators[row] = self._tokens(tokenizer, lines, buckets), pivot
            if not self._sampled.any():
                tokens = np.where(self.compared[:, np.newaxis], numerators, 0)
        return Costs(self.groups, numerators, denominators, tokens)

    def _tokens(self, tokenizer: TrainedTokenizer, lines: Sequence[str], buckets: Array) -> Array:
        encoded = tokenizer.encode_batch(list(lines), threads=self._threads)
        return np.bincount(buckets, list(map(len, encoded)), BUCKETS)


def _line_buckets(count: int) -> Array:
    """The bucket of each line: stretches of neighbours, so that a text of several lines is in one bucket."""
    return np.arange(count) * BUCKETS // max(count, 1)


def _has_both_halves(lines: Sequence[str]) -> bool:
    halves = _line_buckets(len(lines)) % 2
    return len({half for half, line in zip(halves.tolist(), lines, strict=True) if line.strip()}) == 2


def _find(metric: str | Metric | None, *, has_parallel: bool) -> Metric | None:
    if metric == PREMIUM or (metric is None and has_parallel):
        if not has_parallel:
            raise InputError(f'the metric "{PREMIUM}" needs parallel text, the same in every language')
        return None
    found = find_metrics([metric or DEFAULT_METRIC])[0]
    if found.direction == "none" or not found.adds_up:
        kind = "counts distinct things" if found.direction != "none" else "has no better direction"
        raise InputError(f'the metric "{found.name}" {kind}, so it cannot be balanced; {DEFAULT_METRIC} can')
    return found
