"""One chart of each kind, with data that is hard to draw: long names, missing values, intervals, ends that collide."""

import numpy as np

from piecework.report.charts import (
    Bar,
    BarChart,
    BarColumn,
    BarColumns,
    Chart,
    Column,
    Dot,
    DotChart,
    DotRow,
    HeatCell,
    HeatChart,
    Histogram,
    Line,
    LineChart,
    PanelChart,
    RangeChart,
    RangeRow,
    Value,
)
from piecework.report.palette import language_looks

NAMES = {"sv": "Swedish", "en": "English", "no": "Norwegian", "da": "Danish", "is": "Icelandic", "code": "code"}
LOOKS = language_looks(NAMES)
FERTILITY = {"sv": 1.41, "en": 1.29, "no": 1.38, "da": 1.395, "is": 1.84, "code": 1.97}


def _bars() -> BarChart:
    bars = [
        Bar(NAMES[name], value, value - 0.03, value + 0.04, LOOKS[name].colour) for name, value in FERTILITY.items()
    ]
    bars += [Bar('a language with a <long> & "quoted" name that has to be cut somewhere', 1.55), Bar("no text", None)]
    return BarChart("Icelandic pays most", "Bars of eight languages.", "Tokens per word", tuple(bars), floor=1.0)


def _shares() -> BarChart:
    bars = (Bar("Swedish – Danish", 0.431), Bar("Swedish – Icelandic", 0.002), Bar("none", 0.0))
    return BarChart("Shares", "Three shares.", "Shared pieces", bars, kind="share")


def _dots() -> DotChart:
    rows = []
    for name, value in FERTILITY.items():
        dots = tuple(
            Dot(NAMES[other], value * (0.97 if other == name else 1.2 + 0.011 * index), LOOKS[other], other == name)
            for index, other in enumerate(FERTILITY)
        )
        rows.append(DotRow(NAMES[name], value, dots))
    rows.append(DotRow("no text", None, ()))
    return DotChart("Own is best", "Dots over bars.", "Tokens per word", "multilingual", tuple(rows), floor=1.0)


def _heat(count: int = 6) -> HeatChart:
    names = tuple(list(NAMES.values()) + [f"language {number}" for number in range(count - 6)])
    cells = tuple(
        tuple(
            HeatCell(None if (row, column) == (1, 2) else 1.2 + 0.1 * abs(row - column), abs(row - column) / 7)
            if row != column
            else HeatCell(1.2, 0, marked=True)
            for column in range(count)
        )
        for row in range(count)
    )
    return HeatChart("Who serves whom", "A table.", "text", "tokenizer", names, names, cells)


def _lines() -> LineChart:
    sizes = np.arange(1000, 64_001)
    lines = tuple(
        Line(NAMES[name], LOOKS[name], sizes, value + 3.0 * (value - 0.8) / np.sqrt(sizes / 200))
        for name, value in FERTILITY.items()
    )
    marked = (10_000, 20_000, 30_000, 40_000, 51_200, 64_000)
    return LineChart("It flattens", "Curves.", "Tokens per word", "Vocabulary size", lines, marked, floor=1.0)


def _below_its_floor() -> LineChart:
    sizes = np.arange(100, 200)
    line = Line("Swedish", LOOKS["sv"], sizes, np.linspace(0.02, -0.005, 100))
    return LineChart("It gets worse", "A curve.", "Tokens saved", "Vocabulary size", (line,), kind="share", height=200)


def _histogram() -> Histogram:
    columns = tuple(Column(str(length), int(9000 * length * np.exp(-length / 4.5))) for length in range(1, 25))
    return Histogram("Most have six", "Columns.", "Pieces", "Characters in a piece, ▁ counted", columns)


def _outlier() -> BarChart:
    bars = [
        Bar(f"language {number}", 1.5 + 0.1 * number, 1.4 + 0.1 * number, 1.7 + 0.1 * number) for number in range(14)
    ]
    bars.append(Bar("outlier", 19.4, 15.0, 25.0))
    return BarChart("One is far off", "Fifteen bars.", "Tokens per word", tuple(reversed(bars)), floor=1.0)


def _columns() -> BarColumns:
    names = (*NAMES.values(), "a language with a rather long name")
    columns = (
        BarColumn("Tokens per word", tuple(Value(1.2 + 0.2 * n, 1.1, 3.0) for n in range(7)), "lower is better", 1.0),
        BarColumn("Split words", tuple(Value(None if n == 2 else 0.1 * n) for n in range(7)), "of all", 0.0, "share"),
        BarColumn("Bytes per token", tuple(Value(40.0 if n == 6 else 4.0) for n in range(7)), "higher is better"),
        *(BarColumn(f"Column {n}", tuple(Value(float(n)) for _ in range(7))) for n in range(4)),
    )
    return BarColumns("Seven metrics", "Columns of bars.", names, columns, ("var(--bar)",) * 7)


def _ranges() -> RangeChart:
    rows = [
        RangeRow(NAMES[name], value, value * 0.9, tuple((f"other {n}", value + 0.3 * n) for n in range(1, 6)))
        for name, value in FERTILITY.items()
    ]
    rows += [RangeRow("far off", 30.0, 12.0, (("other", 60.0),)), RangeRow("no text", None, None, ())]
    labels = ("multilingual", "own tokenizer", "other tokenizers")
    return RangeChart("Own is best", "Marks by language.", "Tokens per word", *labels, tuple(rows), floor=1.0)


def _panels() -> PanelChart:
    sizes = np.arange(300, 64_000)
    lines = [
        Line(f"language {number}", LOOKS["sv"], sizes, 1 + (0.4 + 0.1 * number) * (300 / sizes) ** 0.2)
        for number in range(9)
    ]
    lines.append(Line("far off", LOOKS["en"], sizes, 30 - 20 * np.log(sizes / 300) / np.log(64_000 / 300)))
    return PanelChart(
        "Every language",
        "A panel each.",
        "Tokens per word",
        "Vocabulary size",
        tuple(lines),
        lines[4],
        (1_000, 64_000),
        floor=1.0,
    )


CHARTS: dict[str, Chart] = {
    "bars": _bars(),
    "bars-outlier": _outlier(),
    "columns": _columns(),
    "ranges": _ranges(),
    "panels": _panels(),
    "shares": _shares(),
    "dots": _dots(),
    "heat": _heat(),
    "heat-twelve": _heat(12),
    "lines": _lines(),
    "lines-below": _below_its_floor(),
    "histogram": _histogram(),
    "no-bars": BarChart("Nothing", "No bar.", "Nothing", ()),
    "no-lines": LineChart("Nothing", "No line.", "Nothing", "Nothing", ()),
}
