"""Vocabulary overlap: between pairs of languages, and with the multilingual tokenizer."""

from __future__ import annotations

import numpy as np

from piecework.common.terms import MULTILINGUAL
from piecework.report.blocks import Figure, Heading, Section, Sheet
from piecework.report.charts import Bar, BarChart, BarColumn, BarColumns, Line, Value
from piecework.report.charts.axes import MANY_ROWS
from piecework.report.scales import format_share
from piecework.report.sections.curves import curve_chart
from piecework.report.sections.sizes import marked_sizes
from piecework.report.study_data import StudyData

__all__ = ["overlap_section"]

MOST_PAIRS = 10


def overlap_section(data: StudyData) -> Section | None:
    """Bars for pairs of languages and for the multilingual vocabulary; curves over its size."""
    if len(data.monolingual) < 2 or data.table("overlap") is None:
        return None
    figures = [*_pairs(data), *_with_multilingual(data), *_curves(data)]
    lead = (
        "How many pieces two vocabularies share. Only learned pieces count, merges and characters: special pieces, "
        "bytes and whitespace runs are in every vocabulary."
    )
    return Section("overlap", "Vocabulary overlap", lead, tuple(figures)) if figures else None


def _pairs(data: StudyData) -> list[Figure]:
    rows = [
        row
        for row in data.rows("overlap")
        if row["first"] < row["second"] and row["first"] in data.looks and row["second"] in data.looks
    ]
    rows = [row for row in rows if row["jaccard"] is not None]
    if not rows:
        return []
    rows.sort(key=lambda row: (-row["jaccard"], row["first"], row["second"]))

    def pair(row: dict[str, str]) -> str:
        return f"{data.name(row['first'])} – {data.inline_name(row['second'])}"

    first = rows[0]
    title = (
        f"{data.name(first['first'])} and {data.inline_name(first['second'])} share "
        f"{format_share(first['jaccard'], decimals=0)} of their pieces"
    )
    if len(rows) > 1:
        last = rows[-1]
        title += (
            f"; {data.inline_name(last['first'])} and {data.inline_name(last['second'])} "
            f"{format_share(last['jaccard'], decimals=0)}"
        )
    bars = tuple(Bar(pair(row), row["jaccard"]) for row in rows[:MOST_PAIRS])
    listed = ", ".join(f"{bar.label} {format_share(bar.value)}" for bar in bars)
    axis = "Shared pieces, as a share of the pieces in either vocabulary"
    chart = BarChart(title, f"{axis}: {listed}.", axis, bars, kind="share")
    how_to_read = "Pairs of monolingual vocabularies: pieces in both, divided by pieces in either (Jaccard)."
    if len(rows) > MOST_PAIRS:
        how_to_read += f" The chart has the {MOST_PAIRS} pairs that share most, the table has all {len(rows)}."
    sheet = Sheet.build(
        "Overlap of monolingual vocabularies",
        ["pair", Heading("shared pieces", "count"), Heading("Jaccard", "share")],
        [(pair(row), row["shared"], row["jaccard"]) for row in rows],
    )
    return [Figure("overlap-pairs", title, how_to_read, chart, sheet)]


def _with_multilingual(data: StudyData) -> list[Figure]:
    rows = [row for row in data.rows("overlap", second=MULTILINGUAL) if row["first"] in data.looks]
    rows = [row for row in rows if row["relative"] is not None]
    if not rows:
        return []
    rows.sort(key=lambda row: (-row["relative"], row["first"]))
    most, least = rows[0], rows[-1]
    title = (
        f"The multilingual vocabulary contains {format_share(most['relative'], decimals=0)} of the "
        f"{data.inline_name(most['first'])} pieces"
    )
    if len(rows) > 1:
        title += f", {format_share(least['relative'], decimals=0)} of the {data.inline_name(least['first'])} ones"
    columns = tuple(
        BarColumn(title, tuple(Value(row[column]) for row in rows), detail, kind="share")
        for column, title, detail in (
            ("relative", "Share of its pieces", "in the multilingual vocabulary"),
            ("weighted", "Share of its tokens", "on text in its language"),
        )
    )
    names = tuple(data.name(row["first"]) for row in rows)
    colours = tuple(data.colour(row["first"]) for row in rows)
    listed = ", ".join(f"{name} {format_share(row['relative'])}" for name, row in zip(names, rows, strict=True))
    chart = BarColumns(title, f"{columns[0].title} {columns[0].detail}: {listed}.", names, columns, colours)
    how_to_read = (
        "How much of each monolingual vocabulary is also in the multilingual one. Frequent pieces are shared more "
        "often, so the share of tokens is higher."
    )
    sheet = Sheet.build(
        "Monolingual vocabularies in the multilingual one",
        [
            "language",
            Heading("shared pieces", "count"),
            Heading("share of its pieces", "share"),
            Heading(
                "share of its tokens",
                "share",
                "Tokens of the monolingual tokenizer, on its own language, whose piece is shared.",
            ),
        ],
        [(data.name(row["first"]), row["shared"], row["relative"], row["weighted"]) for row in rows],
    )
    return [Figure("overlap-multilingual", title, how_to_read, chart, sheet, folded=len(rows) > MANY_ROWS)]


def _curves(data: StudyData) -> list[Figure]:
    figures = []
    for column, name, axis, what in (
        ("relative_to_other", "overlap-sizes", "Monolingual pieces in the multilingual vocabulary", "pieces"),
        (
            "weighted",
            "overlap-sizes-tokens",
            "Monolingual tokens whose piece is in the multilingual vocabulary",
            "tokens",
        ),
    ):
        lines = []
        for language in data.monolingual:
            sizes, values = data.columns("overlap_sizes", language, "vocab_size", column)
            if np.isfinite(values).any():
                lines.append(Line(data.name(language), data.look(language), sizes, values))
        if not lines or len(lines[0].x) < 2:
            continue
        marked = marked_sizes(data, lines[0].x)
        drawn = tuple(line.since(marked[0]) for line in lines)
        title = _curve_title(data, drawn, what)
        chart = curve_chart(
            title, axis, drawn, below="Size of the multilingual vocabulary", marked=marked, kind="share", height=270
        )
        sheet = Sheet.build(
            f"{axis}, by size of the multilingual vocabulary",
            [Heading("vocabulary size", "count"), *(Heading(line.label, "share") for line in drawn)],
            [(size, *(line.at(size) for line in drawn)) for size in marked],
        )
        how_to_read = (
            f"The share of the {what} of each monolingual tokenizer that the multilingual vocabulary covers at each "
            "size. Marks are the sizes of the study."
        )
        figures.append(Figure(name, title, how_to_read, chart, sheet, folded=True))
    return figures


def _curve_title(data: StudyData, lines: tuple[Line, ...], what: str) -> str:
    inline = {data.name(language): data.inline_name(language) for language in data.monolingual}
    gains = {line.label: (float(line.y[0]), float(line.y[-1])) for line in lines}
    steepest = max(gains, key=lambda name: (gains[name][1] - gains[name][0], name))
    low, high = gains[steepest]
    if what == "tokens":
        lowest = min(gains, key=lambda name: (gains[name][1], name))
        return (
            f"By tokens, the multilingual vocabulary covers at least {format_share(gains[lowest][1], decimals=0)} "
            "of every monolingual one"
        )
    return (
        f"A larger vocabulary covers more of each language: {inline[steepest]} rises from "
        f"{format_share(low, decimals=0)} to {format_share(high, decimals=0)}"
    )
