"""The words of a study's counts, read from disk as often as training asks: no table of all words is in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from piecework import _core
from piecework.common.terms import CleanUp, Split
from piecework.counting.words import add_columns

__all__ = ["WordStream"]


@dataclass(frozen=True, slots=True)
class WordStream:
    """Word counts that are read in parts. `piecework.train` takes it in place of `WordCounts`.

    A word may be in several parts; its counts add up. The result is the same, and the memory that training needs
    depends on the distinct chunks of words alone.
    """

    read: Callable[[], Iterable[tuple[Any, Any]]]
    """Gives batches of Arrow columns, words and uint64 counts; called once for each pass."""
    rows: int
    """Distinct words; a word of several subsets counts in each of them. 0 if there is no text."""
    source: str
    """What errors name."""
    normalization: Any
    split: Split
    max_sentence_length: int | None
    clean_up: CleanUp | None

    def tables(self) -> Iterator[_core.WordTable]:
        """The batches as word tables."""
        for words, counts in self.read():
            table = _core.WordTable()
            add_columns(table, words, counts, split=self.split, source=self.source)
            yield table
