"""Which languages are written without spaces between words, detected from the characters of their text.

A whitespace word of Thai is a phrase, and one of Chinese a sentence: tokens per word say nothing there, and must not be
compared with tokens per word of other languages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import compress
from typing import Any

import pyarrow as pa

from piecework._core import CharacterCounter
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
    counters: dict[str, CharacterCounter] = {}
    for language, rows in batches:
        counters.setdefault(language, CharacterCounter()).add(rows["unit"], rows["count"].cast(pa.uint64()))
    return {language: _unspaced_share(counter.characters) for language, counter in counters.items()}


def _unspaced_share(characters: Mapping[str, int]) -> float:
    from pyarrow import compute

    unspaced: Any = compute.match_substring_regex(pa.array(list(characters), pa.string()), _UNSPACED)
    of_scripts = sum(compress(characters.values(), unspaced.to_pylist()))
    all_characters = sum(characters.values()) - characters.get(" ", 0) - characters.get(SPACE, 0)
    return of_scripts / all_characters if all_characters else 0.0
