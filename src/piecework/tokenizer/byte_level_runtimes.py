"""The runtimes that `verify` compares for byte-level tokenizers. Special tokens are read in all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from piecework.common.extras import is_installed
from piecework.errors import InputError, ModelError
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.byte_level_export import CONFIG_FILE, JSON_FILE, RANKS_FILE, SETTINGS_FILE, byte_level_files
from piecework.tokenizer.byte_level_files import parse_ranks
from piecework.tokenizer.runtimes import LoadedRuntime, NotSupportedError, load_tokenizers, load_transformers

__all__ = ["BYTE_LEVEL_RUNTIMES", "ByteLevelRuntime", "choose_byte_level_runtimes"]

Ids = list[int]


@dataclass(frozen=True, slots=True)
class ByteLevelRuntime:
    """A runtime: the package to install, the files that it reads, and what loads them."""

    name: str
    package: str
    format: Literal["hf", "tiktoken"]
    files: tuple[str, ...]
    load: Callable[[Path], LoadedRuntime]

    @property
    def is_installed(self) -> bool:
        """Whether it can be imported."""
        return is_installed(self.package)

    @property
    def installation(self) -> str:
        """The command that installs it."""
        return f"pip install {self.package}"

    def lacks(self, tokenizer: ByteLevelTokenizer) -> str:
        """Why its files cannot express the tokenizer; empty if they can."""
        try:
            byte_level_files(tokenizer, self.format)
        except ModelError as error:
            return str(error)
        return ""


def choose_byte_level_runtimes(names: Sequence[str]) -> list[ByteLevelRuntime]:
    """The runtimes of these names, or all if none is given. `piecework` is the reference.

    >>> [runtime.name for runtime in choose_byte_level_runtimes(["tiktoken", "transformers"])]
    ['tiktoken', 'AutoTokenizer']
    """
    if not names:
        return list(BYTE_LEVEL_RUNTIMES)
    chosen = []
    for name in names:
        if name.lower() == "piecework":
            continue
        found = [each for each in BYTE_LEVEL_RUNTIMES if name.lower() in (each.name.lower(), each.package.lower())]
        if not found:
            there_are = ", ".join(runtime.name for runtime in BYTE_LEVEL_RUNTIMES)
            raise InputError(f'no runtime "{name}" for byte-level tokenizers; there are {there_are}')
        chosen += found
    return chosen


def _tiktoken(folder: Path) -> LoadedRuntime:
    import tiktoken

    settings = orjson.loads((folder / SETTINGS_FILE).read_bytes())
    encoding: Any = tiktoken.Encoding(
        "piecework",
        pat_str=settings["pat_str"],
        mergeable_ranks=parse_ranks((folder / RANKS_FILE).read_bytes(), str(folder / RANKS_FILE)),
        special_tokens={**settings["special_tokens"], **settings["added_tokens"]},
    )
    return LoadedRuntime(
        lambda texts: encoding.encode_batch(list(texts), allowed_special="all", num_threads=1), encoding.decode
    )


def _gigatoken(folder: Path) -> LoadedRuntime:
    import gigatoken

    try:
        loaded: Any = gigatoken.Tokenizer.from_json((folder / JSON_FILE).read_bytes())
    except RuntimeError as error:
        if "no fast pretokenizer" in str(error):
            raise NotSupportedError("it supports only patterns that it knows, and this is none of them") from error
        raise

    def decode(ids: Ids) -> str:
        data = loaded.decode(ids)
        return data if isinstance(data, str) else bytes(data).decode(errors="replace")

    return LoadedRuntime(lambda texts: [list(map(int, ids)) for ids in loaded.encode_batch_list(list(texts))], decode)


BYTE_LEVEL_RUNTIMES = (
    ByteLevelRuntime("tokenizers", "tokenizers", "hf", (JSON_FILE,), load_tokenizers),
    ByteLevelRuntime(
        "AutoTokenizer",
        "transformers",
        "hf",
        (JSON_FILE, CONFIG_FILE),
        lambda folder: load_transformers("AutoTokenizer", folder),
    ),
    ByteLevelRuntime("tiktoken", "tiktoken", "tiktoken", (RANKS_FILE, SETTINGS_FILE), _tiktoken),
    ByteLevelRuntime("gigatoken", "gigatoken", "hf", (JSON_FILE,), _gigatoken),
)
