"""How much of their vocabularies languages share, with one another and with the multilingual tokenizer."""

from __future__ import annotations

import numpy as np

from piecework.common.terms import MULTILINGUAL
from piecework.report.blocks import Figure, Heading, Section, Sheet
from piecework.report.charts import Bar, BarChart, Line, LineChart
from piecework.report.readings import Readings
from piecework.report.scales import format_share
from piecework.report.sections.sizes import shown_sizes

__all__ = ["overlap_section"]

MOST_PAIRS = 21


def overlap_section(readings: Readings) -> Section | None:
    """Bars for pairs of languages and for the multilingual vocabulary; curves over its size."""
    if len(readings.monolingual) < 2 or readings.table("overlap") is None:
        return None
    figures = [*_pairs(readings), *_with_multilingual(readings), *_curves(readings)]
    lead = (
        "Which pieces do vocabularies have in common? Compared is what training learns, merges and characters: special "
        "pieces, bytes and runs of spaces are in all of them, so sharing those says nothing."
    )
    return Section("overlap", "Overlap of vocabularies", lead, tuple(figures)) if figures else None


def _pairs(readings: Readings) -> list[Figure]:
    rows = [
        row
        for row in readings.rows("overlap")
        if row["first"] < row["second"] and row["first"] in readings.looks and row["second"] in readings.looks
    ]
    rows = [row for row in rows if row["jaccard"] is not None]
    if not rows:
        return []
    rows.sort(key=lambda row: (-row["jaccard"], row["first"], row["second"]))

    def pair(row: dict[str, str]) -> str:
        return f"{readings.name(row['first'])} – {readings.inline_name(row['second'])}"

    first = rows[0]
    title = (
        f"{readings.name(first['first'])} and {readings.inline_name(first['second'])} share "
        f"{format_share(first['jaccard'], decimals=0)} of their pieces"
    )
    if len(rows) > 1:
        last = rows[-1]
        title += (
            f"; {readings.inline_name(last['first'])} and {readings.inline_name(last['second'])} "
            f"{format_share(last['jaccard'], decimals=0)}"
        )
    bars = tuple(Bar(pair(row), row["jaccard"]) for row in rows[:MOST_PAIRS])
    listed = ", ".join(f"{bar.label} {format_share(bar.value)}" for bar in bars)
    axis = "Pieces in both vocabularies, of those in either"
    chart = BarChart(title, f"{axis}: {listed}.", axis, bars, kind="share")
    reading = "Two monolingual vocabularies each: pieces in both, as a share of the pieces in either (Jaccard)."
    if len(rows) > MOST_PAIRS:
        reading += f" Drawn are the {MOST_PAIRS} pairs that share most; the table has all {len(rows)}."
    sheet = Sheet.of(
        "Overlap of monolingual vocabularies",
        ["pair", Heading("shared pieces", "count"), Heading("of either", "share")],
        [(pair(row), row["shared"], row["jaccard"]) for row in rows],
    )
    return [Figure("overlap-pairs", title, reading, chart, sheet)]


def _with_multilingual(readings: Readings) -> list[Figure]:
    rows = [row for row in readings.rows("overlap", second=MULTILINGUAL) if row["first"] in readings.looks]
    rows = [row for row in rows if row["relative"] is not None]
    if not rows:
        return []
    rows.sort(key=lambda row: (-row["relative"], row["first"]))
    most, least = rows[0], rows[-1]
    title = (
        f"The multilingual vocabulary has {format_share(most['relative'], decimals=0)} of the pieces of "
        f"{readings.inline_name(most['first'])}"
    )
    if len(rows) > 1:
        title += f", {format_share(least['relative'], decimals=0)} of those of {readings.inline_name(least['first'])}"
    bars = tuple(
        Bar(readings.name(row["first"]), row["relative"], colour=readings.looks[row["first"]].colour) for row in rows
    )
    listed = ", ".join(f"{bar.label} {format_share(bar.value)}" for bar in bars)
    axis = "Pieces of the monolingual vocabulary that the multilingual one has too"
    chart = BarChart(title, f"{axis}: {listed}.", axis, bars, kind="share")
    reading = "Frequent pieces are more likely to be shared: the table also has the share of tokens, not of pieces."
    sheet = Sheet.of(
        "Monolingual vocabularies in the multilingual one",
        [
            "language",
            Heading("shared pieces", "count"),
            Heading("share of its pieces", "share"),
            Heading("share of its tokens", "share", "Tokens of its own text whose piece is shared."),
        ],
        [(readings.name(row["first"]), row["shared"], row["relative"], row["weighted"]) for row in rows],
    )
    return [Figure("overlap-multilingual", title, reading, chart, sheet)]


def _curves(readings: Readings) -> list[Figure]:
    figures = []
    for column, name, axis, what in (
        ("relative_to_other", "overlap-sizes", "Pieces of the monolingual vocabulary that are there", "pieces"),
        ("weighted", "overlap-sizes-tokens", "Tokens of the monolingual tokenizer whose piece is there", "tokens"),
    ):
        lines = []
        for language in readings.monolingual:
            sizes, values = readings.columns("overlap_sizes", language, "vocab_size", column)
            if np.isfinite(values).any():
                lines.append(Line(readings.name(language), readings.looks[language], sizes, values))
        if not lines or len(lines[0].x) < 2:
            continue
        marked = shown_sizes(readings, lines[0].x)
        drawn = tuple(line.since(marked[0]) for line in lines)
        title = _curve_title(readings, drawn, what)
        chart = LineChart(
            title,
            f"{axis}, against the size of the multilingual vocabulary. "
            + " ".join(f"{line.label}: {format_share(line.y[0])} to {format_share(line.y[-1])}." for line in drawn),
            axis,
            "Size of the multilingual vocabulary",
            drawn,
            tuple(marked),
            kind="share",
            height=270,
        )
        sheet = Sheet.of(
            f"{axis}, by size of the multilingual vocabulary",
            [Heading("vocabulary size", "count"), *(Heading(line.label, "share") for line in drawn)],
            [(size, *(line.at(size) for line in drawn)) for size in marked],
        )
        reading = (
            f"Of the {what} of each monolingual tokenizer, how many the multilingual vocabulary has, at each of its "
            "sizes. Marks are the sizes of the study."
        )
        figures.append(Figure(name, title, reading, chart, sheet))
    return figures


def _curve_title(readings: Readings, lines: tuple[Line, ...], what: str) -> str:
    inline = {readings.name(language): readings.inline_name(language) for language in readings.monolingual}
    gains = {line.label: (float(line.y[0]), float(line.y[-1])) for line in lines}
    steepest = max(gains, key=lambda name: (gains[name][1] - gains[name][0], name))
    low, high = gains[steepest]
    if what == "tokens":
        lowest = min(gains, key=lambda name: (gains[name][1], name))
        return (
            f"Counted in tokens, the multilingual vocabulary has at least {format_share(gains[lowest][1], decimals=0)} "
            "of every monolingual one"
        )
    return (
        f"A larger vocabulary takes in more of each language: {format_share(low, decimals=0)} to "
        f"{format_share(high, decimals=0)} of {inline[steepest]}"
    )
