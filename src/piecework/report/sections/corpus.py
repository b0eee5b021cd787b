"""What was read, how it was weighted and sampled, and what was left out."""

from __future__ import annotations

from collections import Counter
from typing import Any

from piecework.report.blocks import Figure, Heading, Note, Section, Sheet
from piecework.report.charts import Bar, BarChart
from piecework.report.readings import Readings
from piecework.report.scales import format_share

__all__ = ["corpus_section"]


def corpus_section(readings: Readings) -> Section | None:
    """Subsets, weights, intended and achieved sample, skipped records."""
    rows = readings.rows("corpus")
    if not rows:
        return None
    blocks: list[Figure | Sheet | Note] = [*_text_by_language(readings, rows)]
    blocks.append(
        Sheet.of(
            "Every subset, with the shares of its documents that were wanted and those that chance gave.",
            [
                "subset",
                "language",
                Heading("weight", "plain"),
                Heading("documents read", "count"),
                Heading("training: wanted", "share"),
                Heading("got", "share"),
                Heading("documents", "count", "A document that training takes several times is one document."),
                Heading("text", "bytes"),
                Heading("evaluation: wanted", "share"),
                Heading("got", "share"),
                Heading("documents", "count"),
                Heading("text", "bytes"),
                Heading("records skipped", "count"),
            ],
            [
                (
                    row["subset"],
                    readings.name(row["language"]),
                    _decimal(row["weight"]),
                    row["read_documents"],
                    row["train_intended"],
                    row["train_achieved"],
                    row["train_documents"],
                    row["train_bytes"],
                    row["eval_intended"],
                    row["eval_achieved"],
                    row["eval_documents"],
                    row["eval_bytes"],
                    row["skipped_records"],
                )
                for row in rows
            ],
            name="subsets",
            title="What was wanted, and what the sample has",
        )
    )
    if empty := [row["subset"] for row in rows if not row["read_documents"]]:
        blocks.append(Note(f"No document was found in {', '.join(empty)}."))
    unevaluated = [name for name in readings.languages if name not in readings.values("fertility")]
    if unevaluated:
        names = ", ".join(readings.inline_name(name) for name in unevaluated)
        blocks.append(Note(f"There is no evaluation text in {names}, so there are no figures for it."))
    blocks += _skipped(readings)
    return Section("corpus", "The corpus", _lead(readings, rows), tuple(blocks))


def _lead(readings: Readings, rows: list[dict[str, Any]]) -> str:
    documents, used, held_out = (sum(row[f"{side}_documents"] for row in rows) for side in ("read", "train", "eval"))
    weighting = readings.results.study.sampling.weighting
    acts = (
        "Weights act on the counts: every subset is sampled alike, and its words count as often as its weight says."
        if weighting == "counts"
        else "Weights act on the documents: a subset with a higher weight gives more of them."
    )
    return (
        f"Of {documents:,} documents, {used:,} were drawn for training and {held_out:,} held out for evaluation. "
        "A hash of its text decides where a document goes, so that no text is on both sides, copies included. " + acts
    )


def _text_by_language(readings: Readings, rows: list[dict[str, Any]]) -> list[Figure]:
    """What training sees of each language: under weights that act on documents the sample has them already."""
    by_counts = readings.results.study.sampling.weighting == "counts"
    sizes: Counter[str] = Counter()
    weighted: Counter[str] = Counter()
    for row in rows:
        sizes[row["language"]] += row["train_bytes"]
        weighted[row["language"]] += row["train_bytes"] * (_decimal(row["weight"]) if by_counts else 1)
    total = sum(weighted.values())
    if not total:
        return []
    order = sorted(weighted, key=lambda name: (-weighted[name], name))
    title = f"{readings.name(order[0])} is {format_share(weighted[order[0]] / total, decimals=0)} of what training sees"
    if len(order) > 1:
        least = order[-1]
        title += f", {readings.inline_name(least)} {format_share(weighted[least] / total, decimals=0)}"
    bars = tuple(Bar(readings.name(name), weighted[name] / total, colour=readings.looks[name].colour) for name in order)
    axis = "Share of the training text, in bytes"
    chart = BarChart(title, f"{axis}: {_listed(bars)}.", axis, bars, kind="share")
    sheet = Sheet.of(
        "Training text by language",
        ["language", Heading("text", "bytes"), Heading("share, weighted", "share")],
        [(readings.name(name), sizes[name], weighted[name] / total) for name in order],
    )
    reading = "Bytes of text in the training sample, each subset with its weight."
    return [Figure("training-text", title, reading, chart, sheet)]


def _listed(bars: tuple[Bar, ...]) -> str:
    return ", ".join(f"{bar.label} {format_share(bar.value)}" for bar in bars)


def _skipped(readings: Readings) -> list[Sheet | Note]:
    rows = readings.rows("skipped")
    if not rows:
        return [Note("No record had to be skipped.")]
    return [
        Sheet.of(
            "By file and reason, with where the first of them stands.",
            ["file", "reason", Heading("records", "count"), "first"],
            [(row["file"], row["reason"], row["records"], row["first"]) for row in rows],
            name="skipped",
            title=f"{sum(row['records'] for row in rows):,} records could not be used",
        )
    ]


def _decimal(weight: str) -> float:
    numerator, _, denominator = str(weight).partition("/")
    return float(numerator) / float(denominator or 1)
