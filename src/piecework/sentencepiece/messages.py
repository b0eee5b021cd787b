"""SentencePiece's messages about encoded text, declared from their field numbers and types.

They have two forms with the same bytes. `SentencePieceText` is for readers: its texts are `str`. `TextInBytes` is for
writing: SentencePiece also writes texts that are not UTF-8.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

__all__ = ["SentencePieceText", "TextInBytes", "character_offsets"]

_PIECE = (("piece", "TEXT"), ("id", "UINT32"), ("surface", "TEXT"), ("begin", "UINT32"), ("end", "UINT32"))


def _declare(text_type: str) -> type[Any]:
    proto = descriptor_pb2.FileDescriptorProto(name="piecework/text.proto", package="piecework", syntax="proto2")
    kinds = descriptor_pb2.FieldDescriptorProto
    text = proto.message_type.add(name="SentencePieceText")
    piece = text.nested_type.add(name="SentencePiece")
    for number, (name, kind) in enumerate(_PIECE, 1):
        kind = text_type if kind == "TEXT" else kind
        piece.field.add(name=name, number=number, label=kinds.LABEL_OPTIONAL, type=kinds.Type.Value(f"TYPE_{kind}"))
    text.field.add(name="text", number=1, label=kinds.LABEL_OPTIONAL, type=kinds.Type.Value(f"TYPE_{text_type}"))
    text.field.add(
        name="pieces",
        number=2,
        label=kinds.LABEL_REPEATED,
        type=kinds.TYPE_MESSAGE,
        type_name=".piecework.SentencePieceText.SentencePiece",
    )
    text.field.add(name="score", number=3, label=kinds.LABEL_OPTIONAL, type=kinds.TYPE_FLOAT)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(proto)
    cls: type[Any] = message_factory.GetMessageClass(pool.FindMessageTypeByName("piecework.SentencePieceText"))
    return cls


SentencePieceText = _declare("STRING")
TextInBytes = _declare("BYTES")


def character_offsets(text: bytes) -> list[int]:
    """The character at each offset of a text, and at its end.

    Of bytes that are not UTF-8, SentencePiece takes the length of a character from the first byte alone.

    >>> character_offsets("aå".encode()), character_offsets(b"\\xe2\\x82")
    ([0, 1, 1, 2], [0, 0, 1])
    """
    offsets: list[int] = []
    characters = 0
    while len(offsets) < len(text):
        first = text[len(offsets)]
        offsets += [characters] * (1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4)
        characters += 1
    return [*offsets[: len(text)], characters]
