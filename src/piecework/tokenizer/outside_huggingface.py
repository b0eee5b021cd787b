"""A `tokenizer.json`, run by the library `tokenizers` of Hugging Face."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from piecework.common.extras import require
from piecework.errors import InputError
from piecework.tokenizer.any_tokenizer import BYTE_PIECE, BYTE_PIECES, readable
from piecework.tokenizer.byte_characters import byte_by_character
from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.tokens import Tokens

__all__ = ["HuggingFace", "load_folder", "load_json"]


def load_json(data: bytes, *, source: str) -> HuggingFace:
    """The tokenizer in the bytes of a `tokenizer.json`."""
    try:
        content = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{source}: not valid JSON: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        raise InputError(f'{source}: not a tokenizer.json: it has no "model"')
    tokenizers = require("tokenizers", extra="hf", purpose=source)
    try:
        rust = tokenizers.Tokenizer.from_str(data.decode())
    except Exception as error:  # the library raises the base class
        raise InputError(f"{source}: tokenizers cannot read this file: {error}") from error
    return HuggingFace(rust, content)


def load_folder(folder: Path) -> HuggingFace:
    """The tokenizer that `transformers` loads from the files in a folder; nothing is downloaded."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    transformers = require("transformers", extra="hf", purpose=f"{folder}, which has no tokenizer.json,")
    try:
        loaded = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
        text = loaded.backend_tokenizer.to_str()
    except Exception as error:  # the classes of transformers raise anything
        reason = str(error).strip().split("\n")[0]
        raise InputError(f"{folder}: transformers cannot load a tokenizer from these files: {reason}") from error
    return load_json(text.encode(), source=str(folder))


class HuggingFace:
    """A tokenizer of the library `tokenizers`."""

    note = ""

    def __init__(self, rust: Any, content: dict[str, Any]) -> None:
        rust.no_truncation()
        rust.no_padding()
        rust.encode_special_tokens = True  # written out in a text they are plain text, as in the other runtimes
        self._rust = rust
        self._model: dict[str, Any] = content["model"]
        self._added = frozenset(token["content"] for token in content.get("added_tokens", ()))
        self._is_byte_level = _mentions(content.get("pre_tokenizer"), "ByteLevel")
        parts = ("Hugging Face", "byte-level" if self._is_byte_level else "", self._model.get("type", ""))
        self.kind = " ".join(filter(None, parts))
        self.vocab_size: int = rust.get_vocab_size(with_added_tokens=True)

    @cached_property
    def unknown_ids(self) -> frozenset[int]:
        """The unknown piece, if the model has one."""
        name = self._model.get("unk_token")
        unknown = self._rust.token_to_id(name) if name else self._model.get("unk_id")
        return frozenset() if unknown is None else frozenset({unknown})

    @cached_property
    def byte_ids(self) -> frozenset[int]:
        """The pieces that are not whole characters."""
        return frozenset(number for number, text in enumerate(self.piece_texts) if BYTE_PIECES.fullmatch(text))

    def tokens_batch(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text."""
        encodings = self._rust.encode_batch(list(texts), add_special_tokens=False)
        found = []
        for encoding in encodings:
            offsets = np.array(encoding.offsets, np.int64).reshape(-1, 2)
            found.append(Tokens(np.array(encoding.ids, np.int64), offsets[:, 0], offsets[:, 1]))
        return found

    @cached_property
    def piece_texts(self) -> list[str]:
        """The vocabulary in the order of ids; for a byte-level one the text that the bytes spell."""
        tokens = [self._rust.id_to_token(number) or "" for number in range(self.vocab_size)]
        if not self._is_byte_level:
            return tokens
        return [token if token in self._added else readable(_spell(token)) for token in tokens]

    @cached_property
    def learned_texts(self) -> frozenset[bytes]:
        """All pieces as text, without added tokens and byte pieces."""
        tokens = [token for token in self._rust.get_vocab(with_added_tokens=False) if token not in self._added]
        if self._is_byte_level:
            return frozenset(text for text in map(_spell, tokens) if len(text) > 1 or text.isascii())
        if self._model.get("type") == "WordPiece":
            prefix = self._model.get("continuing_subword_prefix", "##")
            return frozenset(
                (token.removeprefix(prefix) if token.startswith(prefix) else f" {token}").encode() for token in tokens
            )
        return frozenset(
            token.replace(SPACE, " ").encode("utf-8", "replace") for token in tokens if not BYTE_PIECE.fullmatch(token)
        )


def _mentions(part: Any, kind: str) -> bool:
    """Whether a part of the file, or a part inside it, has that type."""
    if isinstance(part, dict):
        return part.get("type") == kind or any(_mentions(each, kind) for each in part.values())
    return isinstance(part, list) and any(_mentions(each, kind) for each in part)


def _spell(token: str) -> bytes:
    """The bytes that a token of a byte-level vocabulary stands for."""
    table = byte_by_character()
    return bytes(table.get(character, 0x3F) for character in token)
