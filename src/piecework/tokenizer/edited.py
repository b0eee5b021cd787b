"""The result of editing a tokenizer: the new tokenizer, and the new id of each old piece."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.pieces import Piece
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["Edited", "WhenUnreachable"]

WhenUnreachable = Literal["refuse", "keep", "drop"]

_T = TypeVar("_T", Tokenizer, ByteLevelTokenizer)


@dataclass(frozen=True, slots=True)
class Edited(Generic[_T]):
    """An edited tokenizer, and the new id of each piece."""

    tokenizer: _T
    mapping: tuple[int | None, ...]
    """The new id of each old id; None for a dropped piece."""
    added: tuple[Piece, ...]
    dropped: tuple[Piece, ...]
    """The dropped pieces, with their old ids."""
    unreachable: tuple[Piece, ...]
    """Unreachable pieces, with their new ids; only with `unreachable = "keep"`."""
