"""The files of a byte-level tokenizer for other runtimes: Hugging Face's, and tiktoken's."""

from __future__ import annotations

from typing import Literal

from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.byte_level_files import SETTINGS_SUFFIX, ranks_bytes, ranks_settings
from piecework.tokenizer.byte_level_json import config_bytes

__all__ = ["BYTE_LEVEL_FORMATS", "CONFIG_FILE", "JSON_FILE", "RANKS_FILE", "SETTINGS_FILE", "byte_level_files"]

BYTE_LEVEL_FORMATS: tuple[Literal["hf", "tiktoken"], ...] = ("hf", "tiktoken")

JSON_FILE, CONFIG_FILE = "tokenizer.json", "tokenizer_config.json"
RANKS_FILE = "tokenizer.tiktoken"
SETTINGS_FILE = RANKS_FILE + SETTINGS_SUFFIX


def byte_level_files(tokenizer: ByteLevelTokenizer, to: Literal["hf", "tiktoken"]) -> dict[str, bytes]:
    """The files of a format by name; a ModelError says what the format cannot express.

    >>> import piecework as pw
    >>> counts = pw.count_pre_tokens(["a rose is a rose"], pre_tokenizer="gpt2")
    >>> tokenizer = pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=260))
    >>> list(byte_level_files(tokenizer, "tiktoken"))
    ['tokenizer.tiktoken', 'tokenizer.tiktoken.json']
    """
    model = tokenizer.model
    if to == "tiktoken":
        return {RANKS_FILE: ranks_bytes(model), SETTINGS_FILE: ranks_settings(model)}
    return {JSON_FILE: tokenizer.json_bytes, CONFIG_FILE: config_bytes(model)}
