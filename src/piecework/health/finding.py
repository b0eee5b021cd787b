"""A finding about a vocabulary, and the list of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from piecework.evaluation.tables import Table

__all__ = ["STATUSES", "Finding", "Health", "Status"]

Status = Literal["pass", "warn", "fail"]
STATUSES: tuple[Status, ...] = ("pass", "warn", "fail")
"""From the best to the worst."""

EXAMPLES = 24


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    check: str
    """The name of the check, as in `near-duplicates`."""
    status: Status
    summary: str
    """What was found, in a sentence."""
    advice: str = ""
    """What to do; empty if the check passes."""
    pieces: tuple[str, ...] = ()
    """The pieces or characters that it is about, the most important first."""
    saving: float | None = None
    """The share of the text's tokens that the advice saves, where it was measured."""


@dataclass(frozen=True, slots=True)
class Health:
    """All findings about one vocabulary."""

    findings: tuple[Finding, ...]
    has_text: bool
    """Whether counts were given: some checks need text."""

    @property
    def status(self) -> Status:
        """The worst status of all findings.

        >>> Health((Finding("size", "pass", "…"), Finding("bytes", "warn", "…")), has_text=False).status
        'warn'
        """
        return max((finding.status for finding in self.findings), key=STATUSES.index, default="pass")

    def of_status(self, status: Status) -> list[Finding]:
        """The findings with this status."""
        return [finding for finding in self.findings if finding.status == status]

    def table(self) -> Table:
        """A row for each check."""
        import pyarrow as pa

        text = pa.string()
        types: dict[str, Any] = {"check": text, "status": text, "finding": text, "advice": text}
        types |= {"pieces": pa.int64(), "examples": text, "saving": pa.float64()}
        rows = [
            (
                each.check,
                each.status,
                each.summary,
                each.advice,
                len(each.pieces),
                "  ".join(each.pieces[:EXAMPLES]),
                each.saving,
            )
            for each in self.findings
        ]
        return Table.of(list(types), rows, title="Health of the vocabulary", types=types)
