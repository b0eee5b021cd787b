"""Skipped records on the terminal: how many, why, and where the first of them are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from piecework.common.subset_name import SubsetName

if TYPE_CHECKING:
    from piecework.cli.terminal import Terminal

__all__ = ["warn_about_skipped"]

MOST_SUBSETS = 8
"""More are shown with -v only."""


def warn_about_skipped(terminal: Terminal, rows: Sequence[Mapping[str, Any]]) -> None:
    """Warn about the rows of `skipped` in counts.json: the reasons in one line, then a line for each subset."""
    if not rows:
        return
    reasons: Counter[str] = Counter()
    for row in rows:
        reasons[row["reason"]] += row["records"]
    total = reasons.total()
    listed = ", ".join(f"{records:,} {reason}" for reason, records in reasons.most_common())
    terminal.warn(f"{total:,} record{'s' if total != 1 else ''} skipped: {listed}")
    by_size = sorted(rows, key=lambda row: -row["records"])
    for index, row in enumerate(by_size):
        name = SubsetName(row["category"], row["language"])
        line = f"  {name}: {row['records']:,} {row['reason']}, first in {', '.join(row['first'])}"
        if index < MOST_SUBSETS:
            terminal.say(line)
        else:
            terminal.detail(line)
    if len(rows) > MOST_SUBSETS:
        terminal.say(f"  and {len(rows) - MOST_SUBSETS:,} more (-v)")
