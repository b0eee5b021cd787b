"""A piece of the vocabulary, and the groups that the paper's table sorts pieces into."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from piecework.common.terms import PieceType

__all__ = ["Group", "Piece", "VocabularyGroup", "group_of", "pieces_of", "vocabulary_groups"]

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
# Of the types other than normal, whose groups the text tells.
_GROUP_OF_TYPE: dict[PieceType, Group] = {
    "unknown": "special",
    "control": "special",
    "user_defined": "user-defined",
    "byte": "byte",
    "unused": "unused",
}
EXAMPLES = 8


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
    if kind != "normal":
        return _GROUP_OF_TYPE[kind]
    return "character" if len(text) == 1 else "regular" if text.strip(SPACE) else "whitespace"


def vocabulary_groups(texts: Sequence[str], groups: Sequence[Group]) -> list[VocabularyGroup]:
    """The vocabulary by group, in the order of the paper's table; groups without a piece are left out.

    >>> vocabulary_groups(["a", "<unk>", "b"], ["character", "special", "character"])[1]
    VocabularyGroup(name='character', count=2, ranges=((0, 0), (2, 2)), examples=('a', 'b'))
    """
    ranges: dict[Group, list[tuple[int, int]]] = {name: [] for name in GROUP_ORDER}
    end = 0
    for name, stretch in groupby(groups):
        first, end = end, end + len(list(stretch))
        ranges[name].append((first, end - 1))
    found = []
    for name, of in ranges.items():
        ids = [number for first, last in of for number in range(first, last + 1)]
        if ids:
            found.append(VocabularyGroup(name, len(ids), tuple(of), tuple(texts[number] for number in ids[:EXAMPLES])))
    return found
