"""Curves over the vocabulary size: in one chart if they are few, in a panel each if they are many."""

from __future__ import annotations

from collections.abc import Sequence

from piecework.report.charts import Chart, Line, LineChart, PanelChart
from piecework.report.charts.axes import Format, value_text

__all__ = ["FEW_LINES", "curve_chart"]

FEW_LINES = 7
"""Lines that one chart can show with distinct colours and labels."""


def curve_chart(
    title: str,
    axis: str,
    lines: Sequence[Line],
    *,
    below: str,
    marked: Sequence[float],
    reference: Line | None = None,
    floor: float = 0.0,
    kind: Format = "number",
    height: int = 330,
) -> Chart:
    """The chart of these curves; `reference` is in every panel if there are panels."""
    description = f"{axis} by vocabulary size. " + " ".join(
        f"{line.label}: {value_text(float(line.y[0]), kind)} to {value_text(float(line.y[-1]), kind)}."
        for line in lines
    )
    if len(lines) <= FEW_LINES:
        return LineChart(title, description, axis, below, tuple(lines), tuple(marked), floor, kind, height)
    return PanelChart(title, description, axis, below, tuple(lines), reference, tuple(marked), floor, kind)
