"""Pieces to text as SentencePiece decodes them, with the surface and the offsets of each piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.schema import TYPE_NUMBERS
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["DecodedPiece", "decode_pieces"]

_CONTROL, _UNKNOWN, _BYTE = TYPE_NUMBERS["control"], TYPE_NUMBERS["unknown"], TYPE_NUMBERS["byte"]


@dataclass(slots=True)
class DecodedPiece:
    """A piece and the part of the text that it stands for: `text[begin:end]`, in bytes."""

    id: int
    piece: str
    surface: bytes = b""
    begin: int = 0
    end: int = 0


def decode_pieces(tokenizer: Tokenizer, ids: Sequence[int], pieces: Sequence[str]) -> tuple[bytes, list[DecodedPiece]]:
    """The text of the pieces in UTF-8. A piece with the id of the unknown piece, but another text, gives that text.

    Bytes of a piece that are not UTF-8 are surrogates (Python's surrogateescape), and the same bytes in the text.
    """
    specs = tokenizer._specs
    strips = specs.normalizer_spec.add_dummy_prefix or specs.normalizer_spec.remove_extra_whitespaces
    types = tokenizer._vocabulary.types
    decoded = [DecodedPiece(number, piece) for number, piece in zip(ids, pieces, strict=True)]
    text = bytearray()
    byte_pieces: list[DecodedPiece] = []
    at_start, stripped = True, False
    for each in decoded:
        if types[each.id] == _BYTE:
            byte_pieces.append(each)
            continue
        _decode_bytes(byte_pieces, text)
        byte_pieces = []
        at_start = at_start and not stripped and not text
        stripped = False
        surface = each.piece
        if types[each.id] == _CONTROL:
            surface = ""
        elif types[each.id] == _UNKNOWN:
            surface = specs.trainer_spec.unk_surface if surface == tokenizer._texts[each.id] else surface
        else:
            if at_start and strips and surface.startswith(SPACE):
                surface = surface[1:]
                # Where extra whitespace is removed all leading spaces go, else only the one that encoding added.
                stripped = not specs.normalizer_spec.remove_extra_whitespaces
            surface = surface.replace(SPACE, " ")
        _append(each, surface.encode(errors="surrogateescape"), text)
    _decode_bytes(byte_pieces, text)
    return bytes(text), decoded


def _decode_bytes(pieces: Sequence[DecodedPiece], text: bytearray) -> None:
    """The last byte of a character gets the character as its surface; an invalid byte gets U+FFFD."""
    data = bytes(int(piece.piece[3:5], 16) for piece in pieces)
    start = 0
    while start < len(data):
        length = next((n for n in range(1, 5) if _is_character(data[start : start + n])), 0)
        for piece in pieces[start : start + max(length, 1) - 1]:
            _append(piece, b"", text)
        surface = data[start : start + length] if length else "\ufffd".encode()
        start += max(length, 1)
        _append(pieces[start - 1], surface, text)


def _is_character(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False


def _append(piece: DecodedPiece, surface: bytes, text: bytearray) -> None:
    piece.surface, piece.begin = surface, len(text)
    text += surface
    piece.end = len(text)
