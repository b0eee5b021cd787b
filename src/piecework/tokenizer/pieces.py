"""A piece of the vocabulary, and the groups of pieces in the paper's table."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Literal

from piecework.common.terms import PieceType
from piecework.tokenizer.tokens import Column

__all__ = ["Group", "Piece", "VocabularyGroup", "make_pieces", "piece_group", "vocabulary_groups"]

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
# Normal pieces are not here: their group depends on the text.
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
        """The piece's row in the paper's table."""
        return piece_group(self.text, self.type)


def make_pieces(texts: Sequence[str], scores: Sequence[float], types: Sequence[PieceType]) -> list[Piece]:
    """The pieces of a vocabulary, from its columns.

    Fields are set a column at a time. Calling `Piece` for each piece takes twice as long.

    >>> make_pieces(["<unk>", "a"], [0.0, -1.0], ["unknown", "normal"])[1]
    Piece(id=1, text='a', score=-1.0, type='normal')
    """
    pieces = [object.__new__(Piece) for _ in texts]
    columns = {"id": range(len(texts)), "text": texts, "score": scores, "type": types}
    for name, column in columns.items():
        deque(map(getattr(Piece, name).__set__, pieces, column), maxlen=0)
    return pieces


@dataclass(frozen=True, slots=True)
class VocabularyGroup:
    """One row of the paper's table: the pieces of a group and their ids."""

    name: Group
    count: int
    ranges: tuple[tuple[int, int], ...]
    """First and last id of each contiguous range."""
    examples: tuple[str, ...]


def piece_group(text: str, kind: PieceType) -> Group:
    """The group of a piece: special, user-defined, byte, regular, character, whitespace or unused.

    >>> piece_group("▁▁", "normal"), piece_group("▁", "normal"), piece_group("<0x0A>", "byte")
    ('whitespace', 'character', 'byte')
    """
    if kind != "normal":
        return _GROUP_OF_TYPE[kind]
    return "character" if len(text) == 1 else "regular" if text.strip(SPACE) else "whitespace"


def vocabulary_groups(texts: Sequence[str], groups: Column) -> list[VocabularyGroup]:
    """The rows of the paper's table; groups without a piece are left out.

    `groups` has the group of each piece, as an index into `GROUP_ORDER`.

    >>> import numpy as np
    >>> vocabulary_groups(["a", "<unk>", "b"], np.array([4, 0, 4]))[1]
    VocabularyGroup(name='character', count=2, ranges=((0, 0), (2, 2)), examples=('a', 'b'))
    """
    import numpy as np

    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    spans = list(
        zip(groups[starts].tolist(), starts.tolist(), [*(starts[1:] - 1).tolist(), len(groups) - 1], strict=True)
    )
    found = []
    for number, name in enumerate(GROUP_ORDER):
        ranges = tuple((first, last) for group, first, last in spans if group == number)
        if ranges:
            ids = chain.from_iterable(range(first, last + 1) for first, last in ranges)
            count = sum(last + 1 - first for first, last in ranges)
            found.append(VocabularyGroup(name, count, ranges, tuple(texts[i] for i in islice(ids, EXAMPLES))))
    return found
