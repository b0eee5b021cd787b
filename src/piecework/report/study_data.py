"""The tables of a study as the report needs them: estimates, curves, and the name and look of each language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from piecework.common.terms import MULTILINGUAL, OVERALL
from piecework.corpus.languages import language_name
from piecework.errors import DamagedError
from piecework.evaluation.metrics import Array
from piecework.evaluation.tables import Table
from piecework.report.palette import LANGUAGE_COLOURS, Look, language_looks
from piecework.results.folder import MAKE_AGAIN

if TYPE_CHECKING:
    from piecework.results.folder import StudyFolder

__all__ = ["Estimate", "StudyData", "list_of"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval; both are None where there is no text."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


def list_of(names: Sequence[str]) -> str:
    """Names inside a sentence.

    >>> list_of(["Thai"]), list_of(["Swedish", "Danish", "Thai"])
    ('Thai', 'Swedish, Danish and Thai')
    """
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" and {names[-1]}"


class StudyData:
    """The tables of a study with fast lookups."""

    def __init__(self, results: StudyFolder) -> None:
        self.results = results
        self.languages = sorted(results.languages, key=lambda code: (language_name(code).casefold(), code))
        """The languages, sorted by name, because readers look for a name."""
        self.looks: dict[str, Look] = language_looks(results.languages)
        self.monolingual = [name for name in results.tokenizers if name in self.languages]
        """The languages that have a monolingual tokenizer."""
        rows = self.rows("languages")
        self.unspaced: list[str] = [row["language"] for row in rows if row["without_spaces"]]
        """The languages written without spaces: tokens per word say nothing about them."""
        self.per_word = [row["language"] for row in rows if row["per_word"]]
        """The languages that tokens per word can compare: without code, and without those above."""
        self._rows_by_language: dict[str, dict[str, Array]] = {}
        self._by_language: dict[tuple[str, str], dict[str, Array]] = {}

    def table(self, name: str) -> Table | None:
        """A table of the study; None if it is absent or empty."""
        table = self.results.tables.get(name)
        return table if table is not None and len(table) else None

    def rows(self, name: str, **equal: Any) -> list[dict[str, Any]]:
        """The rows of a table whose columns equal these values; empty if there is no such table."""
        table = self.table(name)
        return table.where(**equal).rows() if table is not None else []

    @cached_property
    def _metrics(self) -> dict[tuple[str, str, str], Estimate]:
        return {
            (row["tokenizer"], row["language"], row["metric"]): Estimate(row["value"], row["low"], row["high"])
            for row in self.rows("metrics")
        }

    def estimate(self, metric: str, language: str, tokenizer: str = MULTILINGUAL) -> Estimate:
        """A metric of a tokenizer on the text of a language."""
        return self._metrics.get((tokenizer, language, metric), Estimate())

    def values(self, metric: str, tokenizer: str = MULTILINGUAL) -> dict[str, float]:
        """A metric of a tokenizer on every language that has text, lowest first."""
        found = {language: self.estimate(metric, language, tokenizer).value for language in self.languages}
        known = {language: value for language, value in found.items() if value is not None}
        return dict(sorted(known.items(), key=lambda item: (item[1], item[0])))

    def values_per_word(self, metric: str, tokenizer: str = MULTILINGUAL) -> dict[str, float]:
        """The same for the languages that tokens per word can compare."""
        return {name: value for name, value in self.values(metric, tokenizer).items() if name in self.per_word}

    @property
    def spaced(self) -> list[str]:
        """The languages that separate words by spaces."""
        return [name for name in self.languages if name not in self.unspaced]

    def colour(self, language: str) -> str:
        """The colour of a language in a chart with labels; with many languages all have the same one."""
        if language not in self.looks:
            return "var(--axis)"
        return self.looks[language].colour if len(self.languages) <= LANGUAGE_COLOURS else "var(--bar)"

    def look(self, language: str) -> Look:
        """The look of a language in a chart with labels: its marker in the colour of `colour`."""
        marker = self.looks[language].marker if language in self.looks else "circle"
        return Look(self.colour(language), marker)

    def sentence_list(self, languages: Iterable[str]) -> str:
        """Names of languages inside a sentence: "Swedish, Danish and Thai"."""
        return list_of([self.inline_name(language) for language in languages])

    def curve(self, metric: str, language: str = OVERALL) -> tuple[Array, Array]:
        """A metric of the multilingual tokenizer at every size: the sizes, and the values."""
        return self.columns("sizes", language, "vocab_size", metric)

    def columns(self, name: str, language: str, x: str, y: str) -> tuple[Array, Array]:
        """Two columns of a table, for the rows of one language; missing values are NaN."""
        return self._column(name, language, x), self._column(name, language, y).astype(float)

    def _column(self, name: str, language: str, column: str) -> Array:
        table = self.table(name)
        if table is None:
            return np.zeros(0)
        # Split once for all languages: filtering a table of every size for each language again would be slow.
        if name not in self._rows_by_language:
            self._rows_by_language[name] = _rows_by_value(table, "language")
        if (name, column) not in self._by_language:
            values = table.to_arrow().column(column).to_numpy()
            self._by_language[name, column] = {
                each: values[rows] for each, rows in self._rows_by_language[name].items()
            }
        return self._by_language[name, column].get(language, np.zeros(0))

    @cached_property
    def vocab_size(self) -> int:
        """The vocabulary size of the multilingual tokenizer."""
        rows = self.rows("metrics", tokenizer=MULTILINGUAL)
        if not rows:
            table = self.results.folder / "results" / "metrics.parquet"
            raise DamagedError(table, "the metrics of the multilingual tokenizer are missing", MAKE_AGAIN)
        return int(rows[0]["vocab_size"])

    @cached_property
    def smaller_monolingual(self) -> dict[str, int]:
        """The monolingual tokenizers that are smaller because their text allows no more pieces, with their sizes."""
        sizes = {row["tokenizer"]: row["vocab_size"] for row in self.rows("metrics")}
        return {name: sizes[name] for name in self.monolingual if sizes.get(name, self.vocab_size) < self.vocab_size}

    @cached_property
    def marked_sizes(self) -> list[int]:
        """The sizes that the study lists, and the full size."""
        smaller = [int(name.rpartition("-")[2]) for name in self.results.tokenizers if self._is_smaller(name)]
        return sorted({*smaller, self.vocab_size})

    @staticmethod
    def _is_smaller(name: str) -> bool:
        return name.startswith(f"{MULTILINGUAL}-") and name.rpartition("-")[2].isdecimal()

    def name(self, language: str) -> str:
        """The name of a language, or of all text, with a capital letter."""
        if language == OVERALL:
            return "All text"
        name = language_name(language)
        return name[:1].upper() + name[1:]

    def inline_name(self, language: str) -> str:
        """The name of a language inside a sentence."""
        return "all text" if language == OVERALL else language_name(language)


def _rows_by_value(table: Table, column: str) -> dict[str, Array]:
    """The row indices of each value of a column."""
    values: Any = table.to_arrow().column(column).combine_chunks().dictionary_encode()
    indices = np.from_dlpack(values.indices)
    return {value: np.flatnonzero(indices == index) for index, value in enumerate(values.dictionary.to_pylist())}
