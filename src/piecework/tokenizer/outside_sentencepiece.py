"""Models of SentencePiece: BPE by our own encoder, all other kinds by SentencePiece itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from google.protobuf.message import DecodeError

from piecework.common.extras import require
from piecework.errors import ModelError
from piecework.tokenizer.outside import Encoded, OutsideTokenizer
from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.schema import new_model
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["SentencePieceBpe", "SentencePieceOther", "load_model"]

_KINDS = {1: "unigram", 2: "BPE", 3: "word", 4: "character"}


def load_model(data: bytes, *, source: str) -> OutsideTokenizer:
    """The tokenizer in the bytes of a `.model` file."""
    message = new_model()
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise ModelError(f"{source}: neither a SentencePiece model, a tokenizer.json nor a .tiktoken file") from error
    kind = _KINDS.get(message.trainer_spec.model_type, "")
    if kind == "BPE" or not message.pieces or not message.HasField("trainer_spec"):
        return SentencePieceBpe(Tokenizer.from_bytes(data, source=source))
    return SentencePieceOther(data, kind=kind, source=source)


class SentencePieceBpe(OutsideTokenizer):
    """A BPE model, ours or another's."""

    kind = "SentencePiece BPE"

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.vocab_size = tokenizer.vocab_size
        self.unknown_ids = frozenset(piece.id for piece in tokenizer.pieces if piece.type == "unknown")

    def encode_batch(self, texts: Sequence[str]) -> list[Encoded]:
        """The tokens of each text."""
        encode = self.tokenizer._encoder.encode_spans
        return [_encoded(encode(text)) for text in texts]

    def pieces(self) -> list[str]:
        """The vocabulary."""
        return [piece.text for piece in self.tokenizer.pieces]

    def learnt(self) -> frozenset[bytes]:
        """The normal pieces."""
        return frozenset(_plain(piece.text) for piece in self.tokenizer.pieces if piece.type == "normal")


class SentencePieceOther(OutsideTokenizer):
    """A unigram, word or character model."""

    def __init__(self, data: bytes, *, kind: str, source: str) -> None:
        sentencepiece = require("sentencepiece", extra="hf", purpose=f"{source}, a {kind} model,")
        try:
            self._processor: Any = sentencepiece.SentencePieceProcessor(model_proto=data)
        except RuntimeError as error:
            raise ModelError(f"{source}: SentencePiece cannot read this model: {error}") from error
        self.kind = f"SentencePiece {kind}"
        self.vocab_size = self._processor.get_piece_size()
        self.unknown_ids = frozenset({self._processor.unk_id()})

    def encode_batch(self, texts: Sequence[str]) -> list[Encoded]:
        """The tokens of each text."""
        found = self._processor.encode(list(texts), return_type="offset_mapping") if texts else []
        return [
            _encoded(
                (number, piece, start, end)
                for number, piece, (start, end) in zip(each["ids"], each["pieces"], each["offsets"], strict=True)
            )
            for each in found
        ]

    def pieces(self) -> list[str]:
        """The vocabulary."""
        return [self._processor.id_to_piece(number) for number in range(self.vocab_size)]

    def learnt(self) -> frozenset[bytes]:
        """The normal pieces, and the user-defined ones, which SentencePiece does not tell apart."""
        model = self._processor
        others = (model.is_unknown, model.is_control, model.is_unused, model.is_byte)
        ids = (number for number in range(self.vocab_size) if not any(is_other(number) for is_other in others))
        return frozenset(_plain(model.id_to_piece(number)) for number in ids)


def _encoded(spans: Iterable[tuple[int, str, int, int]]) -> Encoded:
    """The spans with a place for every token: of several that make up one character, all but the last have none."""
    ids, starts, ends = [], [], []
    for number, piece, start, end in spans:
        ids.append(number)
        starts.append(start)
        ends.append(end if end > start or not piece.strip(SPACE) else start + 1)
    return Encoded(ids, starts, ends)


def _plain(piece: str) -> bytes:
    return piece.replace(SPACE, " ").encode()
