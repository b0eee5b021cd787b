"""The result of a balance: weights, costs before and after on held-out text, and the frontier between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from piecework.balancing.candidates import Candidate
from piecework.balancing.goals import Goal
from piecework.balancing.output import OUTPUT_NAMES, candidate_json, check_balance_output, write_files
from piecework.balancing.weighting import weights_toml
from piecework.common.exact import format_exact
from piecework.common.files import prepare_output
from piecework.common.subset_name import SubsetName
from piecework.tokenizer.trained import TrainedTokenizer

__all__ = ["Balance"]


@dataclass(frozen=True, slots=True, eq=False)
class Balance:
    """Weights that serve the goal, and what they give. No cost is measured on text that helped to choose them."""

    goal: Goal
    metric: str
    formula: str
    pivot: str | None
    by: str
    before: Candidate
    """With today's weights."""
    after: Candidate
    frontier: tuple[Candidate, ...]
    """From today's weights to those found, in order; the first is `before`, the last is `after`."""
    weights: Mapping[SubsetName, Fraction]
    """The weights for the table `[weights]` of the study."""
    tokenizer: TrainedTokenizer
    stopped: str
    """Why the search stopped: "met", "time", "out of reach" or "no progress"."""
    out_of_reach: tuple[str, ...]
    """The groups whose goal no weights can reach."""
    notes: tuple[str, ...]
    trainings: int
    elapsed_s: float
    cpu_s: float
    path: tuple[Mapping[str, float], ...]
    """For each training of the search, the largest residual and the spread, on the text that chooses the weights."""

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The tokenizers to compare."""
        return self.before, self.after

    def toml(self) -> str:
        """The table [weights] for the study file."""
        return weights_toml(self.weights)

    def save(self, folder: str | Path, *, force: bool = False) -> list[Path]:
        """Writes the tokenizer, weights.toml, balance.json and frontier.csv into the folder; returns the files."""
        folder = Path(folder)
        check_balance_output(folder, force=force)
        prepare_output(folder, OUTPUT_NAMES, force=force)
        model = self.tokenizer.save(folder, force=force)
        before, after = (f"{(each.spread - 1):.2%}" for each in (self.before, self.after))
        weights = (
            f"# piecework balance, goal: {self.goal}, metric: {self.metric}. On held-out text the most expensive\n"
            f"# language costs {before} more than the cheapest before, {after} after. Replace [weights] of the study.\n"
            f"{self.toml()}\n"
        )
        return [model, *write_files(folder, weights, self.as_json(), self.frontier)]

    def as_json(self) -> dict[str, Any]:
        """Everything but the tokenizer, for JSON."""
        return {
            "goal": {"kind": self.goal.kind, "limit": self.goal.limit, "targets": dict(self.goal.targets)},
            "metric": self.metric,
            "formula": self.formula,
            "pivot": self.pivot,
            "by": self.by,
            "stopped": self.stopped,
            "out_of_reach": list(self.out_of_reach),
            "notes": list(self.notes),
            "weights": {str(name): format_exact(weight) for name, weight in self.weights.items()},
            "toml": self.toml(),
            "loss": self.loss,
            "before": candidate_json(self.before),
            "after": candidate_json(self.after),
            "frontier": [candidate_json(each) for each in self.frontier],
            "search": [dict(each) for each in self.path],
            "trainings": self.trainings,
            "cpu_s": round(self.cpu_s, 2),
            "elapsed_s": round(self.elapsed_s, 2),
            "vocab_size": self.tokenizer.vocab_size,
        }

    @property
    def loss(self) -> float:
        """How many more tokens the held-out text has than with today's weights, as a share."""
        return self.after.total_tokens / self.before.total_tokens - 1 if self.before.total_tokens else 0.0
