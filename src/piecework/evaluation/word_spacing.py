"""Which languages are written without spaces between words, detected from the characters of their text.

A whitespace word of Thai is a phrase, and one of Chinese a sentence: tokens per word say nothing there, and must not be
compared with tokens per word of other languages.
"""

from __future__ import annotations

from itertools import compress
from typing import Any

import pyarrow as pa

from piecework.evaluation.characters import TextCharacters
from piecework.tokenizer.pieces import SPACE

__all__ = ["UNSPACED_SCRIPTS", "UNSPACED_SHARE", "unspaced_share"]

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


def unspaced_share(text: TextCharacters) -> float:
    """The share of characters in unspaced scripts; 0 without characters.

    >>> unspaced_share(TextCharacters({"你": 3, "好": 3, " ": 1, "P": 6}, {}))
    0.5
    """
    from pyarrow import compute

    unspaced: Any = compute.match_substring_regex(pa.array(list(text.counts), pa.string()), _UNSPACED)
    of_scripts = sum(compress(text.counts.values(), unspaced.to_pylist()))
    all_characters = sum(text.counts.values()) - text.counts.get(" ", 0) - text.counts.get(SPACE, 0)
    return of_scripts / all_characters if all_characters else 0.0
