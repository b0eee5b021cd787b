"""The two halves that each piece is merged from: what a piece needs, and which pieces are steps to longer ones.

Between borders that nothing crosses, the merges of a piece are always the same. So every piece has one last merge. Its
two halves are the pieces that this merge joins.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.byte_level_reachable import MergeOrder
from piecework.tokenizer.reachable import border_character
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["piece_halves", "steps"]

Halves = npt.NDArray[np.int64]


def piece_halves(tokenizer: Tokenizer | ByteLevelTokenizer) -> Halves:
    """For each id, the ids of the two pieces that its last merge joins; -1 and -1 for pieces that no merge makes.

    >>> import piecework as pw
    >>> tokenizer = pw.train(pw.count_words(["abc abc ab"]), pw.Recipe(vocab_size=10))
    >>> texts = [piece.text for piece in tokenizer.pieces]
    >>> [texts[half] for half in piece_halves(tokenizer)[texts.index("▁abc")]]
    ['▁ab', 'c']
    """
    if isinstance(tokenizer, ByteLevelTokenizer):
        return _byte_level_halves(tokenizer)
    return tokenizer._encoder.piece_halves(border=border_character(tokenizer))


def _byte_level_halves(tokenizer: ByteLevelTokenizer) -> Halves:
    halves = np.full((tokenizer.vocab_size, 2), -1, np.int64)
    if tokenizer.model.merges is not None:
        for left, right, merged in reversed(tokenizer.model.merges):
            halves[merged] = left, right
        return halves
    merging = MergeOrder(tokenizer.model)
    for number, token in enumerate(tokenizer.model.tokens):
        last = merging.last(token)
        if last is not None and last[2] == number:
            halves[number] = last[:2]
    return halves


def steps(halves: Halves) -> npt.NDArray[np.bool_]:
    """For each id, whether it is a half of another piece: without it, that piece could not be merged.

    >>> steps(np.array([[-1, -1], [-1, -1], [0, 1]])).tolist()
    [True, True, False]
    """
    found = np.zeros(len(halves), bool)
    found[halves[halves >= 0]] = True
    return found
