"""The files of an extended tokenizer, in the format of the old one, and `extension.json` for a model's new rows."""

from __future__ import annotations

import base64
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from piecework.common.recorded_files import write_recorded
from piecework.errors import ModelError
from piecework.tokenizer.byte_characters import characters_of_bytes
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.byte_level_export import RANKS_FILE, SETTINGS_FILE
from piecework.tokenizer.byte_level_files import ranks_bytes, ranks_settings
from piecework.tokenizer.byte_level_json import config_bytes, json_bytes
from piecework.tokenizer.hf_files import hf_files
from piecework.tokenizer.tokenizer import Tokenizer
from piecework.tokenizer.trained import EXTENSION_FILE
from piecework.training.new_piece import Extended

__all__ = ["EXTENSION_FILE", "extended_files", "extension_record", "save_extended"]


def save_extended(
    extended: Extended[Any], folder: Path, *, original: bytes | None = None, force: bool = False
) -> list[Path]:
    """Write the tokenizer and `extension.json` into `folder`; `original` is the file of the old tokenizer, if any."""
    contents = extended_files(extended, original=original)
    contents[EXTENSION_FILE] = orjson.dumps(extension_record(extended), option=orjson.OPT_APPEND_NEWLINE)
    write_recorded(folder, contents, force=force)
    return [folder / name for name in contents]


def extended_files(extended: Extended[Any], *, original: bytes | None = None) -> dict[str, bytes]:
    """The files of the tokenizer. In a `tokenizer.json` all but the vocabulary and the merges stays as it is."""
    tokenizer = extended.tokenizer
    if isinstance(tokenizer, Tokenizer):
        contents = {"tokenizer.model": tokenizer.model_bytes, "tokenizer.vocab": tokenizer.vocab_text.encode()}
        with suppress(ModelError):  # a model that transformers cannot express is saved for SentencePiece alone
            contents |= hf_files(tokenizer, chat_template=None)
        return contents
    content = _json_object(original)
    if content is not None and isinstance(content.get("model"), dict):
        data = original if not extended.added and original else _extended_json(extended, content)
        return {"tokenizer.json": data, "tokenizer_config.json": config_bytes(tokenizer.model)}
    if content is not None and "config" in content and "vocab" in content:
        data = original if not extended.added and original else _extended_tekken(extended, content)
        return {"tekken.json": data}
    if tokenizer.model.merges is not None:
        return {"tokenizer.json": json_bytes(tokenizer.model), "tokenizer_config.json": config_bytes(tokenizer.model)}
    is_same = original is not None and not original.startswith(b"{") and not extended.added
    data = original if is_same and original is not None else ranks_bytes(tokenizer.model)
    return {RANKS_FILE: data, SETTINGS_FILE: ranks_settings(tokenizer.model)}


def extension_record(extended: Extended[Any]) -> dict[str, Any]:
    """What changed, for programs: the id and the old tokens of each new piece, with the weights of their mean.

    >>> import piecework as pw
    >>> old = pw.train(["ha hade"], vocab_size=9)
    >>> record = extension_record(pw.extend(old, ["haha haha"], add=1))
    >>> record["new_pieces"]
    [{'id': 9, 'piece': '▁ha', 'old_ids': [6, 3], 'weights': [0.5, 0.5], 'frequency': 2}]
    """
    return {
        "old_size": extended.base.vocab_size,
        "new_size": extended.tokenizer.vocab_size,
        "new_pieces": [
            {
                "id": piece.id,
                "piece": piece.text,
                "old_ids": list(piece.old_ids),
                "weights": [1 / len(piece.old_ids)] * len(piece.old_ids),
                "frequency": piece.frequency,
            }
            for piece in extended.added
        ],
        "dropped": [{"id": piece.id, "piece": piece.text} for piece in extended.dropped],
        "new_ids": list(extended.mapping),
    }


def _json_object(data: bytes | None) -> dict[str, Any] | None:
    if data is None or not data.startswith(b"{"):
        return None
    content = orjson.loads(data)
    return content if isinstance(content, dict) else None


def _extended_json(extended: Extended[ByteLevelTokenizer], content: dict[str, Any]) -> bytes:
    model, tokens = content["model"], extended.tokenizer.model.tokens
    gone = {piece.id for piece in extended.dropped}
    spelled = {text: number for text, number in model["vocab"].items() if number not in gone}
    as_text = bool(model["merges"]) and isinstance(model["merges"][0], str)
    kept = []
    for merge in model["merges"]:
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        if left + right in spelled:
            kept.append(merge)
    for piece in extended.added:
        left, right = (characters_of_bytes(tokens[number]) for number in piece.parts)
        spelled[left + right] = piece.id
        kept.append(f"{left} {right}" if as_text else [left, right])
    if extended.added:
        # tokenizers numbers added tokens after the vocabulary, unless the vocabulary has their ids.
        for token in content.get("added_tokens") or ():
            spelled.setdefault(token["content"], token["id"])
    model["vocab"], model["merges"] = spelled, kept
    return orjson.dumps(content, option=orjson.OPT_INDENT_2)


def _extended_tekken(extended: Extended[ByteLevelTokenizer], content: dict[str, Any]) -> bytes:
    special = int(content["config"]["default_num_special_tokens"])
    vocabulary = content["vocab"][: extended.base.vocab_size - special]
    for piece in extended.added:
        token = extended.tokenizer.model.tokens[piece.id]
        try:
            text = token.decode()
        except UnicodeDecodeError:
            text = None
        encoded = base64.b64encode(token).decode()
        vocabulary.append({"rank": piece.id - special, "token_bytes": encoded, "token_str": text})
    content["vocab"] = vocabulary
    content["config"]["default_vocab_size"] = extended.tokenizer.vocab_size
    if "num_vocab_tokens" in content["config"]:
        content["config"]["num_vocab_tokens"] = len(vocabulary)
    return orjson.dumps(content, option=orjson.OPT_INDENT_2)
