"""Tokens with their offsets: one token, and all tokens of a text in columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Column", "Token", "Tokens"]

Column: TypeAlias = "npt.NDArray[Any]"


@dataclass(frozen=True, slots=True)
class Token:
    """An occurrence of a piece. It covers the characters `text[start:end]`.

    Where several byte pieces spell one character, the last one covers it and the others are empty, as in SentencePiece.
    """

    id: int
    piece: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """The tokens of a text in columns: token i is piece `ids[i]` and covers the characters `text[starts[i]:ends[i]]`.

    The columns are arrays of integers, all of one length.
    """

    ids: Column
    starts: Column
    ends: Column

    def __len__(self) -> int:
        return len(self.ids)
