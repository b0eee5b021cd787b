"""What a byte-level tokenizer is made of, whatever file it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from piecework.common.pre_tokenizer import PreTokenizer

__all__ = ["ByteLevelModel", "Merge"]

Merge = tuple[int, int, int]
"""The ids of two neighbours, and of the token that they become."""


@dataclass(frozen=True)
class ByteLevelModel:
    """Tokens as bytes, how they are merged, and what cuts the text before that."""

    tokens: Sequence[bytes]
    """By id; empty for an id that merging never gives."""
    pre_tokenizer: PreTokenizer
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    """Special tokens with their ids: cut out of a text only if they are allowed."""
    added_tokens: Mapping[str, int] = field(default_factory=dict)
    """Added tokens with their ids: always cut out of a text, before it is cut into pre-tokens."""
    merges: Sequence[Merge] | None = None
    """By rank. If None, a token's id is its rank, and any two neighbours that spell a token merge, as in tiktoken."""
    whole_pre_tokens: bool = False
    """Whether a pre-token that is a token becomes that token without merging."""
    note: str = ""
    """What had to be assumed to load it; empty if nothing."""
    file_parts: Mapping[str, Any] = field(default_factory=dict)
    """Parts of a `tokenizer.json` that do not change ids, such as the post-processor. They are saved as they were."""
