"""The files that `tokenizers` and `transformers` load, with SentencePiece's ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from piecework.tokenizer.base import BaseTokenizer
from piecework.tokenizer.tokenizer_json import added_token, special_pieces, tokenizer_json

__all__ = ["hf_files", "json_bytes", "special_token_roles", "tokenizer_config"]


def hf_files(tokenizer: BaseTokenizer, *, chat_template: str | None = None) -> dict[str, bytes]:
    """The files by name; a ModelError if `tokenizer.json` cannot express the model."""
    # Not the class of any model: `LlamaTokenizer` and others build merges of their own, with other ids.
    config = tokenizer_config(tokenizer, "PreTrainedTokenizerFast")
    if chat_template is not None:
        config["chat_template"] = chat_template
    return {
        "tokenizer.json": orjson.dumps(tokenizer_json(tokenizer)),
        "tokenizer_config.json": json_bytes(config),
        "special_tokens_map.json": json_bytes(special_token_roles(tokenizer)),
    }


def tokenizer_config(tokenizer: BaseTokenizer, tokenizer_class: str) -> dict[str, Any]:
    """The content of `tokenizer_config.json`."""
    return {
        "tokenizer_class": tokenizer_class,
        **special_token_roles(tokenizer),
        "added_tokens_decoder": {str(piece.id): added_token(piece) for piece in special_pieces(tokenizer)},
        "clean_up_tokenization_spaces": False,
    }


def special_token_roles(tokenizer: BaseTokenizer) -> dict[str, Any]:
    """The special pieces by role. Control symbols of a recipe have none: they are additional special tokens."""
    spec = tokenizer._specs.trainer_spec
    texts = [piece.text for piece in special_pieces(tokenizer)]
    roles = {"bos": spec.bos_piece, "eos": spec.eos_piece, "pad": spec.pad_piece}
    named = {f"{role}_token": text for role, text in roles.items() if text in texts}
    unknown = next(piece.text for piece in tokenizer._meta_pieces if piece.type == "unknown")
    named["unk_token"] = unknown
    rest = [text for text in texts if text not in named.values()]
    return {**named, **({"additional_special_tokens": rest} if rest else {})}


def json_bytes(content: Mapping[str, Any]) -> bytes:
    """JSON for people to read: indented, with a line break at the end."""
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
