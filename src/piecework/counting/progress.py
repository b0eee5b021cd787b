"""How far counting is: what it reports while it works."""

from collections.abc import Callable
from typing import Literal

__all__ = ["Progress", "Stage", "merge_report"]

Stage = Literal["counting", "merging"]
Progress = Callable[[Stage, int, int], None]
"""Called with the stage, the amount done and the amount in all: bytes read, or spill files merged."""


def merge_report(progress: Progress, total: int) -> Callable[[int], None]:
    """Adds up the merged spill files and reports them. `total` is the number of all spill files."""
    merged = 0

    def report(amount: int) -> None:
        nonlocal merged
        merged += amount
        progress("merging", merged, total)

    report(0)
    return report
