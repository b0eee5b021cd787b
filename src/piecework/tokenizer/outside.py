"""Tokenizers of any kind behind one interface, so that they can be compared: text to ids with their places."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from piecework.common.terms import TIKTOKEN
from piecework.errors import InputError
from piecework.tokenizer.pieces import SPACE

__all__ = ["Encoded", "OutsideTokenizer", "find_files", "load_outside", "readable"]

_IN_FOLDERS = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "tokenizer.json")
# Of a folder without one of these, `transformers` makes a tokenizer out of several files.
_PARTS = ("vocab.json", "vocab.txt", "merges.txt", "tokenizer_config.json", "special_tokens_map.json")


@dataclass(frozen=True, slots=True)
class Encoded:
    """The tokens of a text: token i stands for the characters `text[starts[i]:ends[i]]`, at least in part.

    A token that is some bytes of a character has all of it as its place. A prefix that is not in the text has an empty
    place.
    """

    ids: Sequence[int]
    starts: Sequence[int]
    ends: Sequence[int]


class OutsideTokenizer(ABC):
    """A tokenizer, whoever made it."""

    kind: str
    """What it is, as in "SentencePiece unigram"."""
    vocab_size: int
    unknown_ids: frozenset[int]
    note: str = ""
    """What had to be assumed to load it."""

    @abstractmethod
    def encode_batch(self, texts: Sequence[str]) -> list[Encoded]:
        """The tokens of each text. Special tokens that are written out in it are text."""

    @abstractmethod
    def pieces(self) -> list[str]:
        """The vocabulary in the order of ids, as a person reads it: ▁ for a space, <0xNN> for bytes of a character."""

    @abstractmethod
    def learnt(self) -> frozenset[bytes]:
        """The tokens that training learnt, as UTF-8 with plain spaces: neither special ones, nor bytes alone."""


def readable(token: bytes) -> str:
    """A token of bytes as a person reads it.

    >>> readable(" hej".encode()), readable(b"\\xf0\\x9f")
    ('▁hej', '<0xF0><0x9F>')
    """
    try:
        return token.decode().replace(" ", SPACE)
    except UnicodeDecodeError:
        return "".join(f"<0x{byte:02X}>" for byte in token)


def load_outside(source: str | os.PathLike[str]) -> OutsideTokenizer:
    """The tokenizer in a file or folder, or the encoding of tiktoken that is named.

    A file is a SentencePiece `.model`, BPE or not, a `tokenizer.json`, or a `.tiktoken`; what it is, its content tells.
    A folder is searched for the first of these, or loaded by `transformers` if it has their older files. BPE models of
    SentencePiece need nothing else; the others need the packages of the extra `hf`.
    """
    name = os.fspath(source)
    if name.startswith(TIKTOKEN):
        from piecework.tokenizer.outside_tiktoken import load_encoding

        return load_encoding(name.removeprefix(TIKTOKEN))
    path, *parts = find_files(name)
    if parts:
        from piecework.tokenizer.outside_huggingface import load_folder

        return load_folder(path.parent)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    return _load(path, data)


def find_files(source: str | os.PathLike[str]) -> list[Path]:
    """The file that a path stands for: itself, or the tokenizer in that folder; several if it takes several."""
    path = Path(source)
    if path.is_dir():
        return _in_folder(path)
    if not path.exists():
        raise InputError(f"{path}: no such file or folder; an encoding of tiktoken is written {TIKTOKEN}cl100k_base")
    return [path]


def _load(path: Path, data: bytes) -> OutsideTokenizer:
    if not data:
        raise InputError(f"{path}: the file is empty")
    # A protobuf message starts with the number of a field: 0x0A, a newline, and then a length.
    if path.suffix == ".json" or data[:1] in (b"{", b"["):
        from piecework.tokenizer.outside_huggingface import load_json

        return load_json(data, source=str(path))
    if path.suffix == ".tiktoken" or _looks_like_tiktoken(data):
        from piecework.tokenizer.outside_tiktoken import load_ranks

        return load_ranks(data, source=str(path))
    from piecework.tokenizer.outside_sentencepiece import load_model

    return load_model(data, source=str(path))


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
    """Lines of base64 and a number. Such files also go by the name tokenizer.model."""
    first = data[:4096].split(b"\n", 1)[0].split()
    return (
        len(first) == 2 and first[1].isdigit() and first[0].rstrip(b"=").replace(b"+", b"").replace(b"/", b"").isalnum()
    )
