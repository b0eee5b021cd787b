"""What a byte-level tokenizer is made of, whatever file it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from piecework.common.pre_tokenizer import PreTokenizer
from piecework.errors import ModelError

__all__ = ["ByteLevelModel", "Merge", "unused_ids"]

_MOST_UNUSED = 1 << 20
"""More unused ids are a damaged file, which would fill the memory. Real files have a few thousand."""

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


def unused_ids(size: int, *, named: int, source: str) -> list[bytes]:
    """The tokens of `size` ids before they are filled in. A ModelError if only `named` of so many ids are used."""
    if size - named > _MOST_UNUSED:
        raise ModelError(f"{source}: ids go up to {size - 1:,}, and only {named:,} of them are used")
    return [b""] * size
