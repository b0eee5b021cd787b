"""The characters of counted text: how often each occurs, and the lengths of runs of newlines and of tabs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from piecework._core import CharacterCounter

__all__ = ["TextCharacters", "add_characters", "count_characters"]

Group = TypeVar("Group")


@dataclass(frozen=True, slots=True)
class TextCharacters:
    """The characters of a text."""

    counts: Mapping[str, int]
    """How often each character occurs, in the order in which they occur first."""
    runs: Mapping[tuple[str, int], int]
    """How many runs of a newline or of a tab have each length."""


def count_characters(batches: Iterable[tuple[Group, pa.RecordBatch]]) -> dict[Group, TextCharacters]:
    """The characters of each group, from rows of unit and count.

    >>> rows = pa.record_batch({"unit": pa.array([" nej", "nej\\n\\n"], pa.large_string()), "count": [3, 1]})
    >>> count_characters([("sv", rows)])["sv"]
    TextCharacters(counts={' ': 3, 'n': 4, 'e': 4, 'j': 4, '\\n': 2}, runs={('\\n', 2): 1})
    """
    counters: dict[Group, CharacterCounter] = {}
    for group, rows in batches:
        counters.setdefault(group, CharacterCounter()).add(rows["unit"], rows["count"].cast(pa.uint64()))
    return {group: TextCharacters(counter.characters, counter.runs) for group, counter in counters.items()}


def add_characters(parts: Iterable[TextCharacters]) -> TextCharacters:
    """The characters of several texts together."""
    counts: dict[str, int] = {}
    runs: dict[tuple[str, int], int] = {}
    for part in parts:
        for character, count in part.counts.items():
            counts[character] = counts.get(character, 0) + count
        for run, count in part.runs.items():
            runs[run] = runs.get(run, 0) + count
    return TextCharacters(counts, runs)
