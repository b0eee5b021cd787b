"""The characters that stand for bytes in byte-level vocabularies."""

from __future__ import annotations

import codecs
from functools import cache
from typing import Any

__all__ = ["byte_by_character", "bytes_of_characters", "characters_of_bytes"]


@cache
def byte_by_character() -> dict[str, int]:
    """The byte that each character of a byte-level vocabulary stands for.

    A byte that is printable in Latin-1 is written as that character; the others are written as U+0100 and up, in order.

    >>> byte_by_character()["Ġ"], byte_by_character()["a"]
    (32, 97)
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + number): byte for number, byte in enumerate(others)}


@cache
def _character_by_byte() -> str:
    by_byte = {byte: character for character, byte in byte_by_character().items()}
    return "".join(by_byte[byte] for byte in range(256))


@cache
def _encoding() -> Any:
    return codecs.charmap_build(_character_by_byte())


def bytes_of_characters(token: str) -> bytes:
    """The bytes that a token is written for; raises KeyError for a character that stands for none.

    >>> bytes_of_characters("Ġpå".replace("å", "Ã¥")).decode()
    ' på'
    """
    try:
        return codecs.charmap_encode(token, "strict", _encoding())[0]
    except UnicodeEncodeError as error:
        raise KeyError(token[error.start]) from None


def characters_of_bytes(token: bytes) -> str:
    """The token as it is written in a vocabulary.

    >>> characters_of_bytes(" på".encode())
    'ĠpÃ¥'
    """
    return codecs.charmap_decode(token, "strict", _character_by_byte())[0]
