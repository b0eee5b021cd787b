"""The vocabulary: groups, lengths, examples, and its use by language."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyarrow import compute

from piecework.common.terms import MULTILINGUAL
from piecework.report.blocks import Figure, Heading, Section, Sheet
from piecework.report.charts import Bar, BarChart, Column, Histogram
from piecework.report.charts.axes import MANY_ROWS
from piecework.report.scales import format_share
from piecework.report.sections.curves import FEW_LINES
from piecework.report.sections.health import health_sheets
from piecework.report.study_data import StudyData

__all__ = ["vocabulary_section"]

EXAMPLES = 7
MOST_LENGTHS = 100
"""Longer pieces share the last bar: a vocabulary of others may have a piece of a million characters."""


def vocabulary_section(data: StudyData) -> Section | None:
    """The paper's table of groups, the lengths of pieces with examples, use by language."""
    groups = data.rows("vocabulary", tokenizer=MULTILINGUAL)
    if not groups:
        return None
    blocks: list[Figure | Sheet] = [
        Sheet.build(
            "The vocabulary by group, in the order of the paper.",
            [
                "group",
                Heading("pieces", "count"),
                Heading("share", "share"),
                Heading("ids", "ids"),
                Heading("examples", "pieces"),
            ],
            [(row["group"], row["pieces"], row["share"], row["ids"], row["examples"].split("  ")) for row in groups],
            name="groups",
            sortable=False,
            title=_groups_title(groups),
        ),
        *health_sheets(data),
        *_lengths(data),
        *_use(data),
    ]
    lead = (
        f"{data.vocab_size:,} pieces. Regular pieces are learned from the text. The recipe adds special pieces, "
        "symbols, "
        "bytes and whitespace runs; the character coverage adds single characters."
    )
    return Section("vocabulary", "The vocabulary", lead, tuple(blocks))


def _groups_title(groups: list[dict[str, Any]]) -> str:
    learned = sum(row["share"] for row in groups if row["group"] == "regular")
    return f"{format_share(learned, decimals=0)} of the vocabulary is learned from the text"


def _lengths(data: StudyData) -> list[Figure | Sheet]:
    rows = data.rows("lengths", tokenizer=MULTILINGUAL, kind="text")
    counts = {row["characters"]: row["pieces_with_space_counted"] for row in rows if row["pieces_with_space_counted"]}
    total = sum(counts.values())
    if not total:
        return []
    lower, upper = (_quantile(counts, share * total) for share in (0.25, 0.75))
    between = f"{lower} to {upper} characters" if lower < upper else f"{lower} characters"
    title = f"Half of the pieces have {between}; the longest has {max(counts)}"
    shown = range(1, min(max(counts), MOST_LENGTHS) + 1)
    columns = tuple(Column(str(length), counts.get(length, 0)) for length in shown)
    if longer := sum(number for length, number in counts.items() if length > MOST_LENGTHS):
        columns += (Column(f"over {MOST_LENGTHS}", longer),)
    chart = Histogram(
        title,
        "Number of pieces by length: " + ", ".join(f"{column.label}: {column.count:,}" for column in columns) + ".",
        "Pieces",
        "Length of a piece in characters, ▁ counted",
        columns,
    )
    bare = {row["characters"]: row["pieces_without_space_counted"] for row in rows}
    sheet = Sheet.build(
        "Pieces by length",
        [
            Heading("characters", "count"),
            Heading("pieces, ▁ counted", "count"),
            Heading("pieces, ▁ not counted", "count"),
        ],
        [
            (length, counts.get(length, 0), bare.get(length, 0))
            for length in (0, *shown, *sorted(length for length in counts if length > MOST_LENGTHS))
        ],
    )
    how_to_read = (
        "The number of pieces of each length, without bytes, special pieces and symbols. The longest pieces are "
        "whitespace "
        "runs if the recipe has them."
    )
    # A report of many languages is long already.
    folded = len(data.languages) > FEW_LINES
    return [Figure("lengths", title, how_to_read, chart, sheet, folded=folded), *_examples(data)]


def _quantile(counts: dict[int, int], wanted: float) -> int:
    seen = 0
    for length in sorted(counts):
        seen += counts[length]
        if seen >= wanted:
            return length
    return max(counts)


def _examples(data: StudyData) -> list[Sheet]:
    table = data.table("pieces")
    if table is None:
        return []
    rows: list[tuple[int, int, list[str]]] = []
    learned: Any = table.to_arrow().select(["piece", "group", "characters", "tokens"])
    learned = learned.filter(compute.is_in(learned.column("group"), value_set=pa.array(["regular", "character"])))
    for length in sorted(learned.column("characters").unique().to_pylist()):
        pieces = learned.filter(compute.equal(learned.column("characters"), length))
        first = compute.select_k_unstable(pieces, EXAMPLES, [("tokens", "descending"), ("piece", "ascending")])
        rows.append((length, len(pieces), pieces.column("piece").take(first).to_pylist()))
    return [
        Sheet.build(
            "In the evaluation text.",
            [Heading("characters", "count"), Heading("pieces", "count"), Heading("most frequent", "pieces")],
            rows,
            name="pieces-by-length",
            sortable=False,
            title="Most frequent pieces by length",
            always_folded=True,
        )
    ]


def _use(data: StudyData) -> list[Figure]:
    rows = [row for row in data.rows("use") if row["share_of_use"] is not None and row["tokens"]]
    if not rows:
        return []
    rows.sort(key=lambda row: (-row["share_of_use"], row["language"]))
    most, least = rows[0], rows[-1]
    title = (
        f"{format_share(most['share_of_use'], decimals=0)} of the used vocabulary serves "
        f"{data.inline_name(most['language'])}"
    )
    if len(rows) > 1:
        title += f", {format_share(least['share_of_use'], decimals=0)} serves {data.inline_name(least['language'])}"
    bars = tuple(
        Bar(
            data.name(row["language"]),
            row["share_of_use"],
            colour=data.colour(row["language"]),
        )
        for row in rows
    )
    listed = ", ".join(f"{bar.label} {format_share(bar.value)}" for bar in bars)
    chart = BarChart(title, f"Share of the used vocabulary: {listed}.", "Share of the used pieces", bars, kind="share")
    sheet = Sheet.build(
        "Use of the vocabulary by language",
        [
            "language",
            Heading("tokens", "count"),
            Heading("pieces used", "count"),
            Heading("share of all pieces", "share"),
            Heading("used only here", "count"),
            Heading("share of the used vocabulary", "share"),
        ],
        [
            (
                data.name(row["language"]),
                row["tokens"],
                row["pieces_used"],
                row["share_used"],
                row["pieces_only_here"],
                row["share_of_use"],
            )
            for row in rows
        ],
    )
    how_to_read = (
        "Each used piece counts as 1, divided among the languages in proportion to its rate in each language, so that "
        "a "
        "language with more text does not look larger. The bars add up to 100 %."
    )
    return [Figure("vocabulary-use", title, how_to_read, chart, sheet, folded=len(rows) > MANY_ROWS)]
