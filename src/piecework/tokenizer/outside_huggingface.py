"""A `tokenizer.json` of Hugging Face, run by `tokenizers`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from piecework.common.extras import require
from piecework.errors import InputError
from piecework.tokenizer.outside import Encoded, OutsideTokenizer, readable
from piecework.tokenizer.pieces import SPACE

__all__ = ["HuggingFace", "load_folder", "load_json"]

_BYTE_PIECE = re.compile(r"<0x[0-9A-F]{2}>")


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
    except Exception as error:  # what the library raises is the base class
        raise InputError(f"{source}: tokenizers cannot read this file: {error}") from error
    return HuggingFace(rust, content)


def load_folder(folder: Path) -> HuggingFace:
    """The tokenizer that `transformers` makes of the files in a folder; nothing is fetched."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    transformers = require("transformers", extra="hf", purpose=f"{folder}, which has no tokenizer.json,")
    try:
        loaded = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
        text = loaded.backend_tokenizer.to_str()
    except Exception as error:  # whatever a class of theirs raises
        reason = str(error).strip().split("\n")[0]
        raise InputError(f"{folder}: transformers cannot make a tokenizer of these files: {reason}") from error
    return load_json(text.encode(), source=str(folder))


class HuggingFace(OutsideTokenizer):
    """A tokenizer of the library `tokenizers`."""

    def __init__(self, rust: Any, content: dict[str, Any]) -> None:
        rust.no_truncation()
        rust.no_padding()
        rust.encode_special_tokens = True  # as text, as it is in the others
        self._rust = rust
        self._content = content
        model = content["model"]
        is_byte_level = _mentions(content.get("pre_tokenizer"), "ByteLevel")
        self._flavour = "byte-level" if is_byte_level else ""
        kind = model.get("type", "")
        self.kind = " ".join(filter(None, ("Hugging Face", self._flavour, kind)))
        self.vocab_size = rust.get_vocab_size(with_added_tokens=True)
        unknown = rust.token_to_id(model["unk_token"]) if model.get("unk_token") else model.get("unk_id")
        self.unknown_ids = frozenset() if unknown is None else frozenset({unknown})

    def encode_batch(self, texts: Sequence[str]) -> list[Encoded]:
        """The tokens of each text."""
        encodings = self._rust.encode_batch(list(texts), add_special_tokens=False)
        found = []
        for encoding in encodings:
            starts, ends = zip(*encoding.offsets, strict=True) if encoding.ids else ((), ())
            found.append(Encoded(encoding.ids, starts, ends))
        return found

    def pieces(self) -> list[str]:
        """The vocabulary; of a byte-level one what its bytes spell."""
        tokens = [self._rust.id_to_token(number) or "" for number in range(self.vocab_size)]
        if self._flavour != "byte-level":
            return tokens
        table = _bytes_of_characters()
        added = {token["content"] for token in self._content.get("added_tokens", ())}
        return [
            token if token in added else readable(bytes(table.get(character, 0x3F) for character in token))
            for token in tokens
        ]

    def learnt(self) -> frozenset[bytes]:
        """All tokens but added ones and bytes, spelt as text."""
        added = {token["content"] for token in self._content.get("added_tokens", ())}
        tokens = [token for token in self._rust.get_vocab(with_added_tokens=False) if token not in added]
        if self._flavour == "byte-level":
            table = _bytes_of_characters()
            spelt = (bytes(table.get(character, 0x3F) for character in token) for token in tokens)
            return frozenset(text for text in spelt if len(text) > 1 or text.isascii())
        model = self._content["model"]
        if model.get("type") == "WordPiece":
            prefix = model.get("continuing_subword_prefix", "##")
            return frozenset(
                (token.removeprefix(prefix) if token.startswith(prefix) else f" {token}").encode() for token in tokens
            )
        return frozenset(
            token.replace(SPACE, " ").encode("utf-8", "replace") for token in tokens if not _BYTE_PIECE.fullmatch(token)
        )


def _mentions(part: Any, kind: str) -> bool:
    """Whether a part of the file, or one inside it, is of that type."""
    if isinstance(part, dict):
        return part.get("type") == kind or any(_mentions(each, kind) for each in part.values())
    return isinstance(part, list) and any(_mentions(each, kind) for each in part)


def _bytes_of_characters() -> dict[str, int]:
    """The byte that each character of a byte-level vocabulary stands for.

    Bytes that are printable in Latin-1 are written as that character; the others, in order, from U+0100 on.

    >>> _bytes_of_characters()["Ġ"], _bytes_of_characters()["a"]
    (32, 97)
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + number): byte for number, byte in enumerate(others)}
