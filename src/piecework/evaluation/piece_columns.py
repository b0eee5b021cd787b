"""A vocabulary as columns: texts, groups and lengths of all pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from piecework.evaluation.metrics import Array
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.pieces import GROUP_ORDER, SPACE, Group, piece_group
from piecework.tokenizer.schema import NORMAL, TYPE_NAMES
from piecework.tokenizer.trained import TrainedTokenizer

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


def piece_columns(tokenizer: TrainedTokenizer) -> PieceColumns:
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
_COLUMNS: WeakKeyDictionary[TrainedTokenizer, PieceColumns] = WeakKeyDictionary()


def _byte_level_columns(tokenizer: ByteLevelTokenizer) -> PieceColumns:
    """The same for byte-level pieces: single bytes are in every vocabulary; pieces that merges make are regular.

    A part of a character counts as a character.
    """
    model = tokenizer.model
    special, added = {*model.special_tokens.values()}, {*model.added_tokens.values()}

    def group(number: int, token: bytes) -> Group:
        if number in special:
            return "special"
        if number in added:
            return "user-defined"
        return "regular" if len(token) > 1 else "byte" if token else "unused"

    texts = tokenizer.piece_texts
    groups = [GROUP_ORDER.index(group(number, token)) for number, token in enumerate(model.tokens)]
    lengths = [
        len(token.decode("utf-8", "replace")) or len(text) for token, text in zip(model.tokens, texts, strict=True)
    ]
    spaces = [token.count(b" ") for token in model.tokens]
    return PieceColumns(pa.array(texts, pa.string()), np.array(groups, np.uint8), np.array(lengths), np.array(spaces))


def _columns(tokenizer: TrainedTokenizer) -> PieceColumns:
    if isinstance(tokenizer, ByteLevelTokenizer):
        return _byte_level_columns(tokenizer)
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
