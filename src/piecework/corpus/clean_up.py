"""The clean-up that `GPTSw3Tokenizer` applies before encoding, so that training sees the same text."""

from __future__ import annotations

import unicodedata
from typing import Any

__all__ = ["clean_documents", "clean_up", "clean_up_bytes"]

# Control characters but tab and newline, the no-break space, the soft hyphen and the zero-width space.
_DELETED = (*range(9), *range(11, 32), *range(127, 161), 0xAD, 0x200B)
_SPACES = (0x2002, 0x2003, 0x2005, 0x2008, 0x2009, 0x200A, 0x202F, 0x3000, 0xFFFC)
_TABLE: dict[int, str | None] = {**dict.fromkeys(_DELETED), **dict.fromkeys(_SPACES, " ")}


def clean_up(text: str) -> str:
    """The text without control characters, with plain spaces, in the normal form NFC.

    A tab and a newline stay. A no-break space is deleted, and not replaced by a space, as in `GPTSw3Tokenizer`.

    >>> clean_up("en\\u2003ros\\r\\n10\\u00a0kr, cafe\\u0301")
    'en ros\\n10kr, café'
    """
    return unicodedata.normalize("NFC", text.translate(_TABLE))


def clean_up_bytes(document: bytes) -> bytes:
    """The same for UTF-8. Invalid bytes stay as they are, so that they are counted later.

    >>> clean_up_bytes("café\\u3000".encode()), clean_up_bytes(b"a\\xff\\x00")
    (b'caf\\xc3\\xa9 ', b'a\\xff')
    """
    if document.isascii():
        return document.translate(None, _ASCII_DELETED)
    return clean_up(document.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def clean_documents(documents: Any) -> list[str | bytes]:
    """The same for the documents of a reader: strings, bytes, or an Arrow array of strings."""
    texts = documents if isinstance(documents, list) else documents.to_pylist()
    return [clean_up_bytes(text) if isinstance(text, bytes) else clean_up(text) for text in texts]


_ASCII_DELETED = bytes(code for code in _DELETED if code < 128)
