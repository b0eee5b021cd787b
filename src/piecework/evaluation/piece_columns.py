"""A vocabulary as columns: texts, groups and lengths of all pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from piecework.evaluation.metrics import Array
from piecework.tokenizer.pieces import GROUP_ORDER, SPACE, Group, piece_group
from piecework.tokenizer.schema import NORMAL, TYPE_NAMES
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["PieceColumns", "piece_columns"]


@dataclass(frozen=True, slots=True, eq=False)
class PieceColumns:
    """A value for each id."""

    texts: pa.Array[Any]
    groups: Array
    """The index of the group in `GROUP_ORDER`."""
    characters: Array
    """The length in characters, ▁ counted."""
    spaces: Array
    """The number of ▁."""

    def are(self, *groups: Group) -> Array:
        """For each piece, whether it belongs to one of these groups."""
        return np.array([group in groups for group in GROUP_ORDER])[self.groups]


def piece_columns(tokenizer: Tokenizer) -> PieceColumns:
    """The columns of a vocabulary.

    >>> import piecework as pw
    >>> columns = piece_columns(pw.train(pw.count_words(["ett ett tre"]), pw.Recipe(vocab_size=11)))
    >>> columns.texts.filter(columns.are("regular")).to_pylist(), columns.characters.tolist()
    (['et', 'ett', '▁ett', 're'], [5, 3, 4, 2, 3, 4, 2, 1, 1, 1, 1])
    """
    if tokenizer not in _COLUMNS:
        _COLUMNS[tokenizer] = _columns(tokenizer)
    return _COLUMNS[tokenizer]


# Kept, since several tables need the columns, and making them takes longer than using them.
_COLUMNS: WeakKeyDictionary[Tokenizer, PieceColumns] = WeakKeyDictionary()


def _columns(tokenizer: Tokenizer) -> PieceColumns:
    from pyarrow import compute

    texts = pa.array(tokenizer._texts, pa.string())
    characters, spaces = (
        np.from_dlpack(counted).astype(np.int64)
        for counted in (compute.utf8_length(texts), compute.count_substring(texts, SPACE))
    )
    types = np.asarray(tokenizer._vocabulary.types)
    groups = _GROUP_OF_TYPE[types]
    # Normal pieces of one character, and of ▁ only, are groups of their own.
    normal = types == NORMAL
    groups[normal & (characters == spaces)] = GROUP_ORDER.index("whitespace")
    groups[normal & (characters == 1)] = GROUP_ORDER.index("character")
    return PieceColumns(texts, groups, characters, spaces)


# By type number, which starts at 1. A normal piece is "regular" here: its text decides later.
_GROUP_OF_TYPE = np.array(
    [0, *(GROUP_ORDER.index(piece_group("ab", TYPE_NAMES[n])) for n in sorted(TYPE_NAMES))], np.uint8
)
