"""A piece of the vocabulary, and the groups that the paper's table sorts pieces into."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from piecework.terms import PieceType

__all__ = ["Group", "Piece", "VocabularyGroup", "group_of", "length_histogram", "pieces_of", "vocabulary_groups"]

Group = Literal["special", "user-defined", "byte", "regular", "character", "whitespace", "unused"]

SPACE = "▁"
GROUP_ORDER: tuple[Group, ...] = (
    "special",
    "user-defined",
    "byte",
    "regular",
    "character",
    "whitespace",
    "unused",
)


@dataclass(frozen=True, slots=True)
class Piece:
    """An entry of the vocabulary.

    >>> Piece(id=300, text="▁och", score=-36.0, type="normal").group
    'regular'
    """

    id: int
    text: str
    score: float
    type: PieceType

    @property
    def group(self) -> Group:
        """Which row of the paper's table the piece belongs to."""
        return group_of(self.text, self.type)


def pieces_of(texts: Sequence[str], scores: Sequence[float], types: Sequence[PieceType]) -> list[Piece]:
    """The pieces of a vocabulary, from its columns.

    A column at a time: piece by piece, as a frozen dataclass sets its fields, takes twice as long.

    >>> pieces_of(["<unk>", "a"], [0.0, -1.0], ["unknown", "normal"])[1]
    Piece(id=1, text='a', score=-1.0, type='normal')
    """
    pieces = [object.__new__(Piece) for _ in texts]
    columns = {"id": range(len(texts)), "text": texts, "score": scores, "type": types}
    for name, column in columns.items():
        deque(map(getattr(Piece, name).__set__, pieces, column), maxlen=0)
    return pieces


@dataclass(frozen=True, slots=True)
class VocabularyGroup:
    """One row of the paper's table: pieces of one kind and where their ids lie."""

    name: Group
    count: int
    ranges: tuple[tuple[int, int], ...]
    """First and last id of each unbroken stretch."""
    examples: tuple[str, ...]


def group_of(text: str, kind: PieceType) -> Group:
    """The group of a piece: special, user-defined, byte, regular, character, whitespace or unused.

    >>> group_of("▁▁", "normal"), group_of("▁", "normal"), group_of("<0x0A>", "byte")
    ('whitespace', 'character', 'byte')
    """
    match kind:
        case "normal":
            return "character" if len(text) == 1 else "regular" if text.strip(SPACE) else "whitespace"
        case "unknown" | "control":
            return "special"
        case "user_defined":
            return "user-defined"
        case "byte" | "unused":
            return kind


def vocabulary_groups(pieces: Sequence[Piece]) -> list[VocabularyGroup]:
    """The vocabulary by group, in the order of the paper's table; groups without a piece are left out."""
    by_group: dict[Group, list[Piece]] = {name: [] for name in GROUP_ORDER}
    for piece in pieces:
        by_group[piece.group].append(piece)
    return [
        VocabularyGroup(name, len(members), _ranges(p.id for p in members), tuple(p.text for p in members[:8]))
        for name, members in by_group.items()
        if members
    ]


def length_histogram(pieces: Iterable[Piece]) -> dict[int, int]:
    """How many regular, character and whitespace pieces have each length in characters, ▁ counted."""
    histogram: dict[int, int] = {}
    for piece in pieces:
        if piece.type == "normal":
            histogram[len(piece.text)] = histogram.get(len(piece.text), 0) + 1
    return dict(sorted(histogram.items()))


def _ranges(ids: Iterable[int]) -> tuple[tuple[int, int], ...]:
    ranges: list[list[int]] = []
    for number in ids:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return tuple((first, last) for first, last in ranges)
