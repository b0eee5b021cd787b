"""The metrics of the multilingual tokenizer by language and category."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from piecework.common.subset_name import SubsetName
from piecework.common.terms import MULTILINGUAL
from piecework.evaluation.evaluate import evaluate_on
from piecework.evaluation.metrics import find_metrics
from piecework.evaluation.tables import Table
from piecework.health.use import PieceUse
from piecework.tokenizer.trained import TrainedTokenizer

if TYPE_CHECKING:
    from piecework.counting.store import Counts

__all__ = ["categories_table"]

METRICS = ("fertility", "continued_words", "word_fertility", "split_words", "bytes_per_token", "characters_per_token")


def categories_table(tokenizer: TrainedTokenizer, counts: Counts, use: PieceUse) -> Table | None:
    """A row for each language, category and metric, with its interval; None if there is one category only.

    `use` comes from the pass of the tokenizer over all kinds of text.
    """
    subsets = [
        SubsetName(row["category"], row["language"]) for row in counts.subsets.to_pylist() if row["eval_documents"]
    ]
    if len({subset.category for subset in subsets}) < 2:
        return None
    assert use.units is not None and use.found is not None
    evaluation = evaluate_on(
        use.units, {MULTILINGUAL: tokenizer}, metrics=find_metrics(METRICS), passes={MULTILINGUAL: use.found}
    )
    by_name = {str(subset): subset for subset in subsets}
    estimates = [
        (subset.language, subset.category, row["metric"], row["value"], row["low"], row["high"])
        for row in evaluation.metrics.rows()
        if (subset := by_name.get(row["subset"])) is not None
    ]
    types: dict[str, pa.DataType] = dict.fromkeys(["language", "category", "metric"], pa.string())
    types |= dict.fromkeys(["value", "low", "high"], pa.float64())
    return Table.of(types, estimates, types=types)
