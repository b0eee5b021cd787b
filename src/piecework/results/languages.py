"""The languages of a study, and which of them tokens per word can compare."""

from __future__ import annotations

import pyarrow as pa

from piecework.corpus.languages import CODE
from piecework.evaluation.evaluation import Evaluation
from piecework.evaluation.tables import Table

__all__ = ["languages_table", "with_words"]


def with_words(evaluation: Evaluation) -> list[str]:
    """The languages that tokens per word can compare: they separate words by spaces, and are not code.

    In code a whitespace word is a stretch of identifiers and operators, often a whole line.
    """
    left_out = {CODE, *evaluation.without_spaces}
    return [language for language in evaluation.groups if language not in left_out]


def languages_table(evaluation: Evaluation) -> Table:
    """A row for each language: how it is written, and how much evaluation text it has.

    `unspaced_share` is the share of characters in scripts written without spaces. `without_spaces` says that this
    is more than a third. `per_word` says whether tokens per word compare the language with others.
    """
    per_word = set(with_words(evaluation))
    totals = evaluation.bucket_totals(next(iter(evaluation.tokenizers)))
    sums = {name: totals[name].sum(axis=1).tolist() for name in ("words", "characters", "bytes")}
    rows = [
        (
            language,
            share,
            language in evaluation.without_spaces,
            language in per_word,
            *(values[number] for values in sums.values()),
        )
        for number, (language, share) in enumerate(evaluation.unspaced_shares.items())
    ]
    types = {"language": pa.string(), "unspaced_share": pa.float64(), "without_spaces": pa.bool_()}
    types |= {"per_word": pa.bool_()} | dict.fromkeys(sums, pa.int64())
    return Table.of(types, rows, types=types)
