"""The corpus: what was read, how it was weighted and sampled, and which records were skipped."""

from __future__ import annotations

from collections import Counter
from typing import Any

from piecework.common.subset_name import SubsetName
from piecework.report.blocks import Figure, Heading, Note, Section, Sheet
from piecework.report.charts import Bar, BarChart
from piecework.report.scales import format_share
from piecework.report.study_data import StudyData

__all__ = ["corpus_section"]


def corpus_section(data: StudyData) -> Section | None:
    """Subsets, weights, intended and actual sample, skipped records."""
    rows = data.rows("corpus")
    if not rows:
        return None
    blocks: list[Figure | Sheet | Note] = [*_text_by_language(data, rows)]
    blocks.append(
        Sheet.build(
            "Each subset with its intended and its actual share of sampled documents.",
            [
                "subset",
                "language",
                Heading("weight", "plain"),
                Heading("documents read", "count"),
                Heading("training: intended", "share"),
                Heading("actual", "share"),
                Heading("documents", "count", "A document that is sampled several times counts once."),
                Heading("text", "bytes"),
                Heading("evaluation: intended", "share"),
                Heading("actual", "share"),
                Heading("documents", "count"),
                Heading("text", "bytes"),
                Heading("records skipped", "count"),
            ],
            [
                (
                    row["subset"],
                    data.name(row["language"]),
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
            title="Intended and actual sample",
        )
    )
    if empty := [row["subset"] for row in rows if not row["read_documents"]]:
        blocks.append(Note(f"No documents in {', '.join(empty)}."))
    unevaluated = [name for name in data.languages if name not in data.values("fertility")]
    if unevaluated:
        names = ", ".join(data.inline_name(name) for name in unevaluated)
        blocks.append(Note(f"No evaluation text in {names}, so there are no estimates."))
    blocks += _skipped(data)
    return Section("corpus", "The corpus", _lead(data, rows), tuple(blocks))


def _lead(data: StudyData, rows: list[dict[str, Any]]) -> str:
    documents, used, held_out = (sum(row[f"{side}_documents"] for row in rows) for side in ("read", "train", "eval"))
    weighting = data.results.study.sampling.weighting
    acts = (
        "Weights multiply the counts: all subsets are sampled at the same rate, and each word counts as often as the "
        "weight of its subset."
        if weighting == "counts"
        else "Weights act on documents: a higher weight samples more documents of a subset."
    )
    return (
        f"Of {documents:,} documents, {used:,} are in the training sample and {held_out:,} are held out for "
        "evaluation. "
        "A hash of the text decides, so copies of a document never land on both sides. " + acts
    )


def _text_by_language(data: StudyData, rows: list[dict[str, Any]]) -> list[Figure]:
    """The share of each language in training. Weights that act on documents are already part of the sample."""
    by_counts = data.results.study.sampling.weighting == "counts"
    sizes: Counter[str] = Counter()
    weighted: Counter[str] = Counter()
    for row in rows:
        sizes[row["language"]] += row["train_bytes"]
        weighted[row["language"]] += row["train_bytes"] * (_decimal(row["weight"]) if by_counts else 1)
    total = sum(weighted.values())
    if not total:
        return []
    order = sorted(weighted, key=lambda name: (-weighted[name], name))
    title = f"{data.name(order[0])} is {_rounded(weighted[order[0]] / total)} of the training text"
    if len(order) > 1:
        title += f", {data.inline_name(order[-1])} {_rounded(weighted[order[-1]] / total)}"
    bars = tuple(Bar(data.name(name), weighted[name] / total, colour=data.colour(name)) for name in order)
    axis = "Share of the training text, in bytes"
    chart = BarChart(title, f"{axis}: {_listed(bars)}.", axis, bars, kind="share")
    sheet = Sheet.build(
        "Training text by language",
        ["language", Heading("text", "bytes"), Heading("weighted share", "share")],
        [(data.name(name), sizes[name], weighted[name] / total) for name in order],
    )
    how_to_read = "Share of the bytes of the training sample, with weights applied."
    return [Figure("training-text", title, how_to_read, chart, sheet)]


def _rounded(share: float) -> str:
    """A share in whole percent. A small share is never shown as zero."""
    return format_share(share, decimals=0 if share >= 0.01 or not share else 1)


def _listed(bars: tuple[Bar, ...]) -> str:
    return ", ".join(f"{bar.label} {format_share(bar.value)}" for bar in bars)


def _skipped(data: StudyData) -> list[Sheet | Note]:
    rows = data.rows("skipped")
    if not rows:
        return [Note("No records were skipped.")]
    return [
        Sheet.build(
            "By subset and reason, with the locations of the first ones.",
            ["subset", "reason", Heading("records", "count"), "first locations"],
            [
                (
                    str(SubsetName(row["category"], row["language"])),
                    row["reason"],
                    row["records"],
                    "; ".join(row["first"].splitlines()),
                )
                for row in rows
            ],
            name="skipped",
            title=f"{sum(row['records'] for row in rows):,} records were skipped",
        )
    ]


def _decimal(weight: str) -> float:
    numerator, _, denominator = str(weight).partition("/")
    return float(numerator) / float(denominator or 1)
