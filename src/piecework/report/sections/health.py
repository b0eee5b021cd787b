"""The health of the vocabulary: what a person should look at, and what to do."""

from __future__ import annotations

from piecework.common.printable import printable
from piecework.report.blocks import Heading, Sheet
from piecework.report.study_data import StudyData

__all__ = ["health_sheets"]


def health_sheets(data: StudyData) -> list[Sheet]:
    """The findings that warn or fail in one table, folded if there are many; the others on request."""
    rows = data.rows("health")
    if not rows:
        return []
    bad = [row for row in rows if row["status"] != "pass"]
    good = len(rows) - len(bad)
    title = f"Health of the vocabulary: {good} of {len(rows)} checks pass"
    if not bad:
        title = f"Health of the vocabulary: all {len(rows)} checks pass"
    order = {"fail": 0, "warn": 1, "pass": 2}
    listed = sorted(rows, key=lambda row: order[row["status"]])
    return [
        Sheet.build(
            "Findings that warn or fail come first. The command piecework check lists every piece of a finding.",
            ["check", "status", "finding", "what to do", Heading("tokens saved", "share")],
            [
                (row["check"], row["status"], printable(row["finding"]), printable(row["advice"]), row["saving"])
                for row in listed
            ],
            name="health",
            sortable=False,
            title=title,
            always_folded=True,
        )
    ]
