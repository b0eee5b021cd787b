"""The result of extending a tokenizer: its new pieces, and what each was cut into before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.pieces import Piece
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["Extendable", "Extended", "NewPiece", "expand"]

Extendable = Tokenizer | ByteLevelTokenizer
_T = TypeVar("_T", Tokenizer, ByteLevelTokenizer)


@dataclass(frozen=True, slots=True)
class NewPiece:
    """A piece that extending added."""

    id: int
    text: str
    """As in `piece_texts` of the tokenizer."""
    old_ids: tuple[int, ...]
    """The tokens that the old tokenizer cuts the piece into."""
    parts: tuple[int, ...]
    """The ids in the new tokenizer of the two tokens that merge to it; empty for a character."""
    frequency: int
    """How often the two were neighbours when they were merged; for a character, its count."""


@dataclass(frozen=True, slots=True)
class Extended(Generic[_T]):
    """An extended tokenizer, and what is new in it."""

    tokenizer: _T
    base: _T
    """The tokenizer before extending."""
    added: tuple[NewPiece, ...]
    """The new pieces in the order in which they were learned. The first k are those of extending by k."""
    dropped: tuple[Piece, ...] = ()
    """Old pieces whose ids new pieces have taken; only with `replace`."""

    @property
    def mapping(self) -> tuple[int | None, ...]:
        """The new id of each old id: the same id, or None for a dropped piece."""
        gone = {piece.id for piece in self.dropped}
        return tuple(None if number in gone else number for number in range(self.base.vocab_size))


def expand(old_size: int, first: Sequence[tuple[int, ...]], merges: Sequence[tuple[int, int]]) -> list[tuple[int, ...]]:
    """The old ids of each new symbol: `first` has those of new characters, and `merges` joins two symbols each.

    >>> expand(10, [(3, 4)], [(10, 7), (11, 11)])
    [(3, 4), (3, 4, 7), (3, 4, 7, 3, 4, 7)]
    """
    found = list(first)
    for pair in merges:
        left, right = ((number,) if number < old_size else found[number - old_size] for number in pair)
        found.append(left + right)
    return found
