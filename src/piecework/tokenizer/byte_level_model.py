"""What a byte-level tokenizer is made of, whatever file it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from piecework.common.pre_tokenizer import PreTokenizer
from piecework.errors import ModelError

__all__ = ["ByteLevelModel", "Merge", "checked_size"]

_MOST_IDS = 1 << 24
"""Memory is needed for every id, used or not. Known tokenizers have less than 300,000."""

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


def checked_size(ids: Iterable[object], *, source: str) -> int:
    """The number of ids that a file has, with gaps; a ModelError for an id that is none, or too large.

    >>> checked_size([0, 5], source="tokenizer.json")
    6
    """
    ids = list(ids)
    if not {*map(type, ids)} <= {int}:
        wrong = next(number for number in ids if type(number) is not int)
        raise ModelError(f"{source}: the id {wrong!r} is not a whole number")
    numbers = cast(list[int], ids)
    if numbers and (min(numbers) < 0 or max(numbers) >= _MOST_IDS):
        wrong = min(numbers) if min(numbers) < 0 else max(numbers)
        raise ModelError(f"{source}: the id {wrong} is not in the range that is supported, 0 to {_MOST_IDS - 1:,}")
    return 1 + max(numbers, default=-1)
