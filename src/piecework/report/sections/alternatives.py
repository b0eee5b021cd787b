"""What other weights and parity-aware training give, side by side on held-out text."""

from __future__ import annotations

from typing import Any

from piecework.report.blocks import Heading, Note, Section, Sheet
from piecework.report.scales import format_share
from piecework.report.study_data import StudyData

__all__ = ["alternatives_section"]


def alternatives_section(data: StudyData) -> Section | None:
    """A row for each way of training: spread, total tokens, the cost and the share of each language."""
    rows = data.rows("alternatives")
    if not rows:
        return None
    names = list(dict.fromkeys(row["alternative"] for row in rows))
    languages = list(dict.fromkeys(row["language"] for row in rows))
    found = {(row["alternative"], row["language"]): row for row in rows}
    first = {name: found[name, languages[0]] for name in names}
    least = min(names, key=lambda name: first[name]["spread"])
    premium = rows[0]["metric"] == "premium"
    measure = "Premium: tokens for the same text, relative to the pivot language" if premium else rows[0]["metric"]
    lead = (
        "The same counts, trained in other ways, before you choose one. Every number is from held-out text. "
        f'With "{least}" the most expensive language costs {format_share(first[least]["spread"] - 1)} more than the '
        f"cheapest; with the study's weights, {format_share(first[names[0]]['spread'] - 1)}."
    )
    blocks: list[Sheet | Note] = [
        _overall(names, first),
        _by_language(data, names, languages, found, "cost", "Cost of each language", measure),
        _by_language(data, names, languages, found, "share", "Share of each language", "Of the training text"),
        Note(
            "A language that has no parallel text is shown relative to its cost with the study's weights. Parity-aware "
            "training chooses each merge for the language that is worst off; the weights do not change."
        ),
    ]
    return Section("alternatives", "Other weights", lead, tuple(blocks))


def _overall(names: list[str], first: dict[str, dict[str, Any]]) -> Sheet:
    headings: list[Heading | str] = [
        "training",
        Heading("most above cheapest", "share", "cost of the most expensive language / that of the cheapest, minus 1"),
        "95 % interval",
        Heading("tokens", "count", "of the held-out text of all languages"),
        Heading("more tokens", "share", "than with the study's weights"),
    ]
    lines = []
    for name in names:
        row = first[name]
        known = row["spread_low"] is not None
        interval = f"{100 * (row['spread_low'] - 1):.1f} to {100 * (row['spread_high'] - 1):.1f} %" if known else ""
        lines.append((name, row["spread"] - 1, interval, row["total_tokens"], row["more_tokens"]))
    return Sheet.build(
        "Ways of training on the same counts", headings, lines, name="alternatives", title="Side by side"
    )


def _by_language(
    data: StudyData,
    names: list[str],
    languages: list[str],
    found: dict[tuple[str, str], dict[str, Any]],
    column: str,
    title: str,
    caption: str,
) -> Sheet:
    kind: Any = "number" if column == "cost" else "share"
    headings: list[Heading | str] = ["training", *(Heading(data.name(language), kind) for language in languages)]
    lines = [(name, *(found[name, language][column] for language in languages)) for name in names]
    return Sheet.build(caption, headings, lines, name=f"alternatives-{column}", title=title)
