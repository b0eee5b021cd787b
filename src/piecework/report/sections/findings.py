"""The findings of the paper, tested on this text."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from piecework.report.blocks import Heading, Section, Sheet
from piecework.report.study_data import StudyData

__all__ = ["Claim", "findings_section"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A finding of the paper, and the cases in which it holds here."""

    text: str
    holding: int
    cases: int
    sheet: Sheet

    @property
    def verdict(self) -> str:
        """Whether it holds: in all cases, in some, or in none."""
        return "holds" if self.holding == self.cases else "does not hold" if not self.holding else "holds in part"


def findings_section(data: StudyData) -> Section | None:
    """Each claim with its evidence."""
    rows = data.rows("findings")
    if not rows:
        return None
    claims = []
    for finding, group in groupby(rows, key=lambda row: row["finding"]):
        cases = list(group)
        sheet = Sheet.build(
            finding,
            ["case", Heading("result", "verdict"), "evidence"],
            [(case["case"], case["holds"], case["evidence"]) for case in cases],
        )
        claims.append(Claim(finding[:1].upper() + finding[1:], sum(case["holds"] for case in cases), len(cases), sheet))
    lead = (
        "Claims of Stollenwerk (2023) about the GPT-SW3 tokenizer, tested on this text. A claim that does not hold is "
        "a "
        "result too."
    )
    return Section(
        "findings", "The paper's findings on this data", lead, template="findings.html.j2", content=tuple(claims)
    )
