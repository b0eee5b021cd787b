"""The files of a balance beside its tokenizer: the weights for the study, all numbers as JSON, the frontier as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from piecework.balancing.candidates import Candidate
from piecework.common.exact import format_exact
from piecework.common.files import check_output, write_together

__all__ = ["OUTPUT_NAMES", "candidate_json", "check_balance_output", "write_files"]

WEIGHTS_FILE = "weights.toml"
JSON_FILE = "balance.json"
FRONTIER_FILE = "frontier.csv"
OUTPUT_NAMES = (WEIGHTS_FILE, JSON_FILE, FRONTIER_FILE)
TOKENIZER_NAMES = ("tokenizer.model", "tokenizer.vocab", "tokenizer.json")


def check_balance_output(folder: Path, *, force: bool) -> None:
    """Refuses a folder that has some of the files already, before any work is done."""
    check_output(folder, [*OUTPUT_NAMES, *TOKENIZER_NAMES], force=force)


def write_files(folder: Path, weights: str, content: Mapping[str, Any], frontier: Sequence[Candidate]) -> list[Path]:
    """Writes the files, all or none; returns them."""
    contents = {
        folder / WEIGHTS_FILE: weights,
        folder / JSON_FILE: json.dumps(content, indent=1, ensure_ascii=False) + "\n",
        folder / FRONTIER_FILE: _frontier(frontier),
    }
    write_together({path: text.encode() for path, text in contents.items()})
    return list(contents)


def candidate_json(candidate: Candidate) -> dict[str, Any]:
    """A candidate for JSON."""
    return {
        "name": candidate.name,
        "spread": candidate.spread,
        "spread_interval": candidate.spread_interval,
        "worst": candidate.worst,
        "worst_value": candidate.worst_value,
        "total_tokens": candidate.total_tokens,
        "factors": {group: format_exact(factor) for group, factor in candidate.factors.items()},
        "costs": {
            cost.group: {"value": cost.value, "interval": cost.interval, "compared": cost.compared}
            for cost in candidate.costs
        },
    }


def _frontier(frontier: Sequence[Candidate]) -> str:
    groups = [cost.group for cost in frontier[0].costs]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = ["point", "total_tokens", "spread", "worst", "worst_value"]
    writer.writerow([*columns, *(f"cost_{group}" for group in groups), *(f"factor_{group}" for group in groups)])
    for point in frontier:
        costs: Mapping[str, float] = {cost.group: cost.value for cost in point.costs}
        writer.writerow(
            [
                point.name,
                point.total_tokens,
                repr(point.spread),
                point.worst,
                repr(point.worst_value),
                *(repr(costs[group]) for group in groups),
                *(format_exact(point.factors[group]) for group in groups),
            ]
        )
    return text.getvalue()
