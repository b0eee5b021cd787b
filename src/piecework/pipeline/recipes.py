"""Further recipes of a study: each is a study of its own on the same documents, and one table compares them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from piecework.common.terms import MULTILINGUAL
from piecework.evaluation.tables import Table
from piecework.results.folder import StudyFolder
from piecework.results.table_names import TITLES

__all__ = ["compare_recipes"]

METRICS = ("word_fertility", "split_words", "bytes_per_token", "characters_per_token", "fertility", "continued_words")
"""Metrics of both kinds. The last two depend on tokens that start with a space, the others on the text alone."""
ESTIMATE = ("language", "metric", "value", "low", "high")


def compare_recipes(first: StudyFolder, further: Mapping[str, StudyFolder]) -> Table:
    """The metrics of each recipe's tokenizer by language; the study's own recipe comes first.

    Every recipe has the same evaluation documents: the sample depends on the text of a document and on the seed. The
    metric `sequence_length` is the number of tokens divided by that of the first recipe.
    """
    lines: list[tuple[Any, ...]] = []
    base: dict[str, int] = {}
    for name, study in {MULTILINGUAL: first, **further}.items():
        tokenizer = study.tokenizer()
        rows = [row for row in study.tables["metrics"].rows() if row["tokenizer"] == MULTILINGUAL]
        tokens = {row["language"]: row["denominator"] for row in rows if row["metric"] == "bytes_per_token"}
        base = base or tokens
        found = [row for metric in METRICS for row in rows if row["metric"] == metric]
        for language, count in tokens.items():
            value = count / base[language] if base.get(language) else None
            found.append({"language": language, "metric": "sequence_length", "value": value, "low": None, "high": None})
        described = name, tokenizer.kind, tokenizer.vocab_size
        lines += [(*described, *(row[column] for column in ESTIMATE)) for row in found]
    return Table.of(("recipe", "kind", "vocab_size", *ESTIMATE), lines, title=TITLES["recipes"])
