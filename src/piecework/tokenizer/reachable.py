"""Which pieces are reachable: tokens of some text.

Suppose a piece is a token of some text. No merge crossed its borders. So the merges inside it are those that its
characters undergo, in the same order, between borders that nothing crosses. Hence a piece is reachable if and only if
its characters encode to it between two characters that are in no piece.

Encoding the decoded piece is not enough: decoding drops the leading ▁ and encoding adds one, so every piece from inside
a word would seem unreachable.
"""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.schema import TYPE_NUMBERS
from piecework.tokenizer.tokenizer import Tokenizer
from piecework.tokenizer.trained import TrainedTokenizer

__all__ = ["border_character", "byte_samples", "reachable_pieces"]

_PRIVATE = range(0x10FF00, 0x10FFFE)
_FROM_TEXT = (TYPE_NUMBERS["normal"], TYPE_NUMBERS["user_defined"])


def reachable_pieces(tokenizer: TrainedTokenizer) -> npt.NDArray[np.bool_]:
    """For each id, whether some text has it as a token; False for unknown, control and unused pieces.

    >>> import piecework as pw
    >>> tokenizer = pw.train(pw.count_words(["ab abc abcd"] * 3), pw.Recipe(vocab_size=12))
    >>> [tokenizer.pieces[i].text for i in np.flatnonzero(~reachable_pieces(tokenizer))]
    ['<unk>', '<s>', '</s>']
    """
    if tokenizer not in _REACHABLE:
        found = _reachable_bytes(tokenizer) if isinstance(tokenizer, ByteLevelTokenizer) else _reachable(tokenizer)
        found.flags.writeable = False
        _REACHABLE[tokenizer] = found
    return _REACHABLE[tokenizer]


# Kept: a study asks several times.
_REACHABLE: WeakKeyDictionary[TrainedTokenizer, npt.NDArray[np.bool_]] = WeakKeyDictionary()


def _reachable(tokenizer: Tokenizer) -> npt.NDArray[np.bool_]:
    border = border_character(tokenizer)
    before = tokenizer.encode(border)
    right = len(border.encode()) if tokenizer._specs.trainer_spec.byte_fallback else 1
    after = before[len(before) - right :]
    whole = tokenizer._encoder.whole_pieces(
        before=border, after=border, ids_before=before, ids_after=after, plain_spaces=True
    )
    types = np.asarray(tokenizer._vocabulary.types)
    reachable = np.frombuffer(whole, np.bool_) & np.isin(types, _FROM_TEXT)
    _mark_bytes(tokenizer, types, reachable)
    return reachable


def _reachable_bytes(tokenizer: ByteLevelTokenizer) -> npt.NDArray[np.bool_]:
    """The same for byte-level pieces: merging the bytes of a piece gives it, and UTF-8 has these bytes."""
    model = tokenizer.model
    reachable = tokenizer._encoder.whole_tokens(list(model.tokens))
    unused = frozenset((0xC0, 0xC1, *range(0xF5, 0x100)))
    for number, token in enumerate(model.tokens):
        if len(token) == 1 and token[0] in unused:
            reachable[number] = False
    reachable[[*model.special_tokens.values()]] = False
    reachable[[*model.added_tokens.values()]] = True
    return reachable


def border_character(tokenizer: Tokenizer) -> str:
    """A character that is in no piece, so that no merge crosses it."""
    together = "".join(tokenizer._texts)
    return next(chr(code) for code in _PRIVATE if chr(code) not in together)


def _mark_bytes(tokenizer: Tokenizer, types: npt.NDArray[np.uint8], reachable: npt.NDArray[np.bool_]) -> None:
    """A byte is reachable if a character that has it is no piece. UTF-8 does not use C0, C1 and F5 to FF."""
    byte_ids = np.flatnonzero(types == TYPE_NUMBERS["byte"])
    if len(byte_ids):
        seen = {number for ids in tokenizer.encode_batch(list(byte_samples())) for number in ids}
        reachable[byte_ids] = np.isin(byte_ids, list(seen))


def byte_samples() -> Iterator[str]:
    """All characters of one and two bytes, and 64 of three or four bytes for each first byte."""
    yield from map(chr, range(0x800))
    for first in (*(max(lead << 12, 0x800) for lead in range(16)), *(max(lead << 18, 0x10000) for lead in range(5))):
        yield from (chr(first + n) for n in range(64))
