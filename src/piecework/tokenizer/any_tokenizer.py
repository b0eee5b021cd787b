"""The interface that every tokenizer has here, ours or not: what comparing and showing tokenizers needs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.tokens import Tokens

__all__ = ["BYTE_PIECE", "BYTE_PIECES", "AnyTokenizer", "readable"]

BYTE_PIECE = re.compile(r"<0x[0-9A-F]{2}>")
BYTE_PIECES = re.compile(rf"(?:{BYTE_PIECE.pattern})+")


class AnyTokenizer(Protocol):
    """A tokenizer. `Tokenizer` is one, and so are those that run in another library."""

    @property
    def kind(self) -> str:
        """The library and the algorithm, as in "SentencePiece unigram"."""

    @property
    def note(self) -> str:
        """What had to be assumed to load it; empty if nothing."""

    @property
    def vocab_size(self) -> int:
        """The number of pieces."""

    @property
    def piece_texts(self) -> Sequence[str]:
        """The vocabulary in the order of ids, for a person to read: ▁ for a space, <0xNN> for a part of a character."""

    @property
    def unknown_ids(self) -> frozenset[int]:
        """The ids that stand for unknown text."""

    @property
    def byte_ids(self) -> frozenset[int]:
        """The ids that stand for bytes, not for whole characters."""

    @property
    def learned_texts(self) -> frozenset[bytes]:
        """The pieces that training learned, in UTF-8 with plain spaces: no special pieces and no lone bytes."""

    def tokens_batch(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text. A special token that is written out in a text is plain text.

        A token that is a part of a character covers the whole character. A prefix that is not in the text is empty.
        """


def readable(token: bytes) -> str:
    """The bytes of a token as text for a person.

    >>> readable(" hej".encode()), readable(b"\\xf0\\x9f")
    ('▁hej', '<0xF0><0x9F>')
    """
    try:
        return token.decode().replace(" ", SPACE)
    except UnicodeDecodeError:
        return "".join(f"<0x{byte:02X}>" for byte in token)
