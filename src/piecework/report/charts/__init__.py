"""Charts: each is a frozen dataclass with the data, and `svg(width=...)` draws it."""

from __future__ import annotations

from typing import Protocol

from markupsafe import Markup

from piecework.report.charts.bars import Bar, BarChart
from piecework.report.charts.columns import BarColumn, BarColumns, Value
from piecework.report.charts.dots import Dot, DotChart, DotRow
from piecework.report.charts.heat import HeatCell, HeatChart
from piecework.report.charts.histogram import Column, Histogram
from piecework.report.charts.lines import Line, LineChart
from piecework.report.charts.panels import PanelChart
from piecework.report.charts.ranges import RangeChart, RangeRow

__all__ = [
    "NARROW",
    "WIDE",
    "Bar",
    "BarChart",
    "BarColumn",
    "BarColumns",
    "Chart",
    "Column",
    "Dot",
    "DotChart",
    "DotRow",
    "HeatCell",
    "HeatChart",
    "Histogram",
    "Line",
    "LineChart",
    "PanelChart",
    "RangeChart",
    "RangeRow",
    "Value",
]

WIDE, NARROW = 740, 350
"""The two widths of a chart, for desktop and phone, with text of the same size."""


class Chart(Protocol):
    """What a page needs of a chart."""

    @property
    def title(self) -> str:
        """The title."""

    def svg(self, *, width: int = WIDE) -> Markup:
        """The picture."""
