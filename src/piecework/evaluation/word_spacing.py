"""Which languages are written without spaces between words, detected from the characters of their text.

A whitespace word of Thai is a phrase, and one of Chinese a sentence: tokens per word say nothing there, and must not be
compared with tokens per word of other languages.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from piecework.tokenizer.pieces import SPACE

__all__ = ["UNSPACED_SCRIPTS", "UNSPACED_SHARE", "unspaced_shares"]

UNSPACED_SCRIPTS = (
    "Balinese", "Han", "Hiragana", "Javanese", "Katakana", "Khmer", "Lao", "Myanmar", "New_Tai_Lue", "Tai_Le",
    "Tai_Tham", "Thai", "Tibetan",
)  # fmt: skip
"""The Unicode scripts that are written without spaces between words."""

UNSPACED_SHARE = 1 / 3
"""A language is written without spaces if more than this share of its characters, spaces aside, is of such scripts.

Measured on translations of software, which have many English names and placeholders: Chinese 0.54, Thai 0.64,
Japanese 0.70; eight other languages, Korean among them, below 0.0001.
"""

_UNSPACED = "[" + "".join(rf"\p{{{script}}}" for script in UNSPACED_SCRIPTS) + "]"


def unspaced_shares(batches: Iterable[tuple[str, pa.RecordBatch]]) -> dict[str, float]:
    """The share of characters in unspaced scripts by language, from rows of unit and count; 0 without characters.

    >>> import pyarrow as pa
    >>> rows = pa.record_batch({"unit": pa.array(["你好", " Python"], pa.large_string()), "count": [3, 1]})
    >>> unspaced_shares([("zh", rows)])
    {'zh': 0.5}
    """
    characters: dict[str, float] = {}
    unspaced: dict[str, float] = {}
    for language, rows in batches:
        all_characters, of_scripts = _count(rows)
        characters[language] = characters.get(language, 0.0) + all_characters
        unspaced[language] = unspaced.get(language, 0.0) + of_scripts
    return {language: unspaced[language] / count if count else 0.0 for language, count in characters.items()}


def _count(rows: pa.RecordBatch) -> tuple[float, float]:
    """The characters of all units without spaces, and those of unspaced scripts, each as often as it was counted."""
    from pyarrow import compute

    units: Any = rows["unit"]
    counts = np.from_dlpack(rows["count"].cast(pa.float64()))
    lengths = compute.subtract(compute.utf8_length(units), compute.count_substring(units, " ").cast(pa.int64()))
    # A regular expression for every unit takes twice as long as all else that is done with the units: ASCII needs none.
    other = np.flatnonzero(~np.asarray(compute.string_is_ascii(units)))
    matches: Any = compute.count_substring_regex(units.take(other), _UNSPACED)
    marks: Any = compute.count_substring(units.take(other), SPACE)
    characters = np.asarray(lengths) @ counts - np.asarray(marks) @ counts[other]
    return float(characters), float(np.asarray(matches) @ counts[other])
