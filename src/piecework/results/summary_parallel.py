"""What the summary says about parallel text: the cost of each language for the same content."""

from __future__ import annotations

from collections.abc import Iterator

from piecework.common.terms import MULTILINGUAL
from piecework.corpus.languages import language_name
from piecework.evaluation.tables import Table
from piecework.results.sentence import Sentence

__all__ = ["premium_sentences"]


def premium_sentences(parallel: Table) -> Iterator[Sentence]:
    """The most expensive and the cheapest language for the same text, from the table `parallel` of a study."""
    rows = {row["language"]: row for row in parallel.where(tokenizer=MULTILINGUAL, metric="premium").rows()}
    values = {language: row["value"] for language, row in rows.items() if row["value"] is not None}
    if len(values) < 2:
        return
    pivot = parallel.column("pivot")[0]
    order = sorted(values, key=lambda language: values[language])
    cheapest, most_expensive = order[0], order[-1]
    row = rows[most_expensive]
    if most_expensive == pivot:
        row = rows[cheapest]
        sentence = (
            f"For the same text, {language_name(pivot)} needs the most tokens of {len(values)} languages; "
            f"{language_name(cheapest)} needs the fewest, {values[cheapest]:.2f} times as many."
        )
    else:
        sentence = (
            f"For the same text, {language_name(most_expensive)} needs {values[most_expensive]:.2f} times as many "
            f"tokens as {language_name(pivot)}, the most of {len(values)} languages; {language_name(cheapest)} needs "
            f"the fewest{'' if cheapest == pivot else f', {values[cheapest]:.2f} times as many'}."
        )
    interval = f"95 % interval {row['low']:.2f} to {row['high']:.2f}" if row["low"] is not None else ""
    yield Sentence(
        "premium", sentence, interval or "too few lines for an interval", row["value"], row["low"], row["high"]
    )
