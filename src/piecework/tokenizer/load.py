"""Loads a tokenizer of any kind: from a file or folder, or by the name of a well-known one or a tiktoken encoding."""

from __future__ import annotations

import os
from pathlib import Path

from piecework.common.known_tokenizers import KNOWN, known_names
from piecework.common.mistakes import did_you_mean
from piecework.common.recorded_files import read_recorded
from piecework.common.terms import TIKTOKEN
from piecework.errors import InputError
from piecework.tokenizer.any_tokenizer import AnyTokenizer
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.byte_level_files import load_model
from piecework.tokenizer.byte_level_json import UnsupportedPartsError
from piecework.tokenizer.known import load_known

__all__ = ["find_files", "load_tokenizer"]

_IN_FOLDERS = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "tokenizer.json", "tekken.json")
# A folder without any of these, but with two of the following, is loaded by `transformers`.
_PARTS = ("vocab.json", "vocab.txt", "merges.txt", "tokenizer_config.json", "special_tokens_map.json")


def load_tokenizer(source: str | os.PathLike[str]) -> AnyTokenizer:
    """The tokenizer in a file or folder, a well-known one such as "gpt-4o", or an encoding as "tiktoken:cl100k_base".

    A file is a SentencePiece `.model`, a `tokenizer.json` or a `.tiktoken` file; the type is detected from the content.
    A folder is searched for these files. If it has older files of `transformers` instead, `transformers` loads it. A
    BPE `.model` gives a `Tokenizer`, a byte-level BPE gives a `ByteLevelTokenizer`: these run in the core. The other
    kinds run in their own library, from the extra `hf`.
    """
    # The modules below import packages of the extra, which take long to import.
    name = os.fspath(source)
    if name.startswith(TIKTOKEN):
        from piecework.tokenizer.outside_tiktoken import load_encoding

        return load_encoding(name.removeprefix(TIKTOKEN))
    if (name.startswith(KNOWN) or not Path(name).exists()) and (known := load_known(name)) is not None:
        return known
    path, *parts = find_files(name)
    if parts:
        from piecework.tokenizer.outside_huggingface import load_folder

        return load_folder(path.parent)
    try:
        data = read_recorded(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    return _load_file(path, data)


def find_files(source: str | os.PathLike[str]) -> list[Path]:
    """The file itself, or the tokenizer's file in a folder; several files if the tokenizer is stored in several."""
    path = Path(source)
    if path.is_dir():
        return _in_folder(path)
    if not path.exists():
        hint = (
            did_you_mean(os.fspath(source), known_names()) or f"; well-known tokenizers are {', '.join(known_names())}"
        )
        raise InputError(f"{path}: no such file or folder{hint}")
    return [path]


def _load_file(path: Path, data: bytes) -> AnyTokenizer:
    if not data:
        raise InputError(f"{path}: the file is empty")
    # A protobuf message starts with a field's tag, here 0x0A (a newline), and never with a brace.
    if path.suffix == ".json" or data[:1] in (b"{", b"["):
        return _load_json(path, data)
    if path.suffix == ".tiktoken" or _looks_like_tiktoken(data):
        return ByteLevelTokenizer(load_model(path), source=str(path))
    from piecework.tokenizer.outside_sentencepiece import load_model as load_sentencepiece

    return load_sentencepiece(data, source=str(path))


def _load_json(path: Path, data: bytes) -> AnyTokenizer:
    """A byte-level `tokenizer.json` or `tekken.json` runs in the core; any other in `tokenizers`."""
    from piecework.tokenizer.outside_huggingface import load_json

    try:
        return ByteLevelTokenizer(load_model(path), source=str(path))
    except UnsupportedPartsError:
        return load_json(data, source=str(path))


def _in_folder(folder: Path) -> list[Path]:
    for pattern in (*_IN_FOLDERS, "*.tiktoken", "*.model"):
        if found := sorted(folder.glob(pattern)):
            return found[:1]
    parts = [folder / name for name in _PARTS if (folder / name).is_file()]
    if len(parts) > 1:
        return parts
    looked_for = ", ".join((*_IN_FOLDERS, "*.tiktoken", "*.model", "vocab.json with merges.txt"))
    raise InputError(f"{folder}: no tokenizer in this folder; looked for {looked_for}")


def _looks_like_tiktoken(data: bytes) -> bool:
    """Whether the first line is base64 and a number. Such files are also named tokenizer.model."""
    first = data[:4096].split(b"\n", 1)[0].split()
    return (
        len(first) == 2 and first[1].isdigit() and first[0].rstrip(b"=").replace(b"+", b"").replace(b"/", b"").isalnum()
    )
