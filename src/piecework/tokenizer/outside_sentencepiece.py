"""SentencePiece models: BPE models load as `Tokenizer`, all others run in SentencePiece itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from piecework.common.extras import require
from piecework.errors import ModelError
from piecework.tokenizer.any_tokenizer import AnyTokenizer
from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.schema import NotAModelError, model_type, parse_specs
from piecework.tokenizer.tokenizer import Tokenizer
from piecework.tokenizer.tokens import Tokens

__all__ = ["SentencePieceOther", "load_model"]


def load_model(data: bytes, *, source: str) -> AnyTokenizer:
    """The tokenizer in the bytes of a `.model` file."""
    try:
        specs = parse_specs(data, source=source)
    except NotAModelError as error:
        raise ModelError(f"{source}: neither a SentencePiece model, a tokenizer.json nor a .tiktoken file") from error
    kind = model_type(specs)
    if kind == "bpe" or not specs.HasField("trainer_spec"):
        return Tokenizer._from_specs(specs, data, source=source)
    return SentencePieceOther(data, specs, kind="character" if kind == "char" else kind, source=source)


class SentencePieceOther:
    """A unigram, word or character model."""

    note = ""

    def __init__(self, data: bytes, specs: Any, *, kind: str, source: str) -> None:
        self.specs = specs
        """The settings of the model, as protobuf."""
        sentencepiece = require("sentencepiece", extra="hf", purpose=f"{source}, a {kind} model,")
        try:
            self._processor: Any = sentencepiece.SentencePieceProcessor(model_proto=data)
        except RuntimeError as error:
            raise ModelError(f"{source}: SentencePiece cannot read this model: {error}") from error
        self.kind = f"SentencePiece {kind}"
        self.vocab_size: int = self._processor.get_piece_size()
        self.unknown_ids = frozenset({self._processor.unk_id()})

    @cached_property
    def byte_ids(self) -> frozenset[int]:
        """The byte pieces."""
        return frozenset(filter(self._processor.is_byte, range(self.vocab_size)))

    def tokens_batch(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text."""
        found = self._processor.encode(list(texts), return_type="offset_mapping") if texts else []
        return [_covering(each["ids"], each["pieces"], each["offsets"]) for each in found]

    @cached_property
    def piece_texts(self) -> list[str]:
        """The vocabulary in the order of ids."""
        return [self._processor.id_to_piece(number) for number in range(self.vocab_size)]

    @cached_property
    def learned_texts(self) -> frozenset[bytes]:
        """The normal pieces, and the user-defined ones, which SentencePiece does not tell apart."""
        model = self._processor
        others = (model.is_unknown, model.is_control, model.is_unused, model.is_byte)
        ids = (number for number in range(self.vocab_size) if not any(is_other(number) for is_other in others))
        return frozenset(model.id_to_piece(number).replace(SPACE, " ").encode() for number in ids)


def _covering(ids: list[int], pieces: list[str], offsets: list[tuple[int, int]]) -> Tokens:
    """The tokens. Each byte token of a character covers the character; in SentencePiece only the last one does."""
    starts, ends = np.array(offsets, np.int64).reshape(-1, 2).T
    is_byte = (starts == ends) & np.array([piece.strip(SPACE) != "" for piece in pieces], bool)
    return Tokens(np.array(ids, np.int64), starts, ends + is_byte)
