"""The paper's findings, each with whether it holds on this text."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from piecework.report.blocks import Heading, Section, Sheet
from piecework.report.readings import Readings

__all__ = ["Claim", "findings_section"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A finding of the paper, in how many cases it holds here, and all of them."""

    text: str
    holding: int
    cases: int
    sheet: Sheet

    @property
    def verdict(self) -> str:
        """Whether it holds, in a word."""
        return "holds" if self.holding == self.cases else "does not hold" if not self.holding else "holds in part"


def findings_section(readings: Readings) -> Section | None:
    """Each claim with the figures that bear on it."""
    rows = readings.rows("findings")
    if not rows:
        return None
    claims = []
    for finding, group in groupby(rows, key=lambda row: row["finding"]):
        cases = list(group)
        sheet = Sheet.of(
            finding,
            ["case", Heading("here", "verdict"), "figures"],
            [(case["case"], case["holds"], case["figures"]) for case in cases],
        )
        claims.append(Claim(finding[:1].upper() + finding[1:], sum(case["holds"] for case in cases), len(cases), sheet))
    lead = (
        "What Stollenwerk (2023) reports of the GPT-SW3 tokenizer, put to the test on this text. Nothing is assumed to "
        "hold; a claim that does not is as much of a result."
    )
    return Section(
        "findings", "The paper's findings on this data", lead, template="findings.html.j2", content=tuple(claims)
    )
