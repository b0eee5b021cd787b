"""Encodings of tiktoken that are at hand, and `.tiktoken` files. Nothing is fetched."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from piecework.common.extras import require
from piecework.errors import InputError
from piecework.tokenizer.outside import Encoded, OutsideTokenizer, readable

__all__ = ["Tiktoken", "load_encoding", "load_ranks"]

DEFAULT_PATTERN = "cl100k_base"
_PATTERNS = ("r50k_base", "p50k_base", "cl100k_base", "o200k_base")


def load_encoding(name: str) -> Tiktoken:
    """The encoding of that name, if all of it is on this machine."""
    tiktoken = require("tiktoken", extra="hf", purpose=f"the encoding {name}")

    def refuse(_path: str) -> bytes:
        raise _NotAtHandError

    try:
        with _replaced(require("tiktoken.load", extra="hf", purpose=name), "read_file", refuse):
            return Tiktoken(tiktoken.get_encoding(name))
    except _NotAtHandError as error:
        raise InputError(
            f"the encoding {name} is not on this machine, and nothing is downloaded; load it once with "
            f'tiktoken.get_encoding("{name}"), or give the path of its .tiktoken file'
        ) from error
    except ValueError as error:
        names = ", ".join(tiktoken.list_encoding_names())
        raise InputError(f"tiktoken has no encoding {name!r}; it has {names}") from error


def load_ranks(data: bytes, *, source: str) -> Tiktoken:
    """The tokenizer in the bytes of a `.tiktoken` file: tokens in base64 with their ranks.

    The file does not say how text is split into words before it is encoded. That of an encoding of OpenAI whose name is
    part of the file's is taken, else that of cl100k_base.
    """
    ranks = _parse(data, source)
    tiktoken = require("tiktoken", extra="hf", purpose=source)
    stem = Path(source).name
    name = next((name for name in _PATTERNS if name in stem), DEFAULT_PATTERN)
    pattern = _pattern(name, ranks)
    encoding = tiktoken.Encoding(stem, pat_str=pattern, mergeable_ranks=dict(ranks), special_tokens={})
    note = "" if name in stem else f"the file does not say how words are split; taken is the pattern of {name}"
    return Tiktoken(encoding, note=note)


class Tiktoken(OutsideTokenizer):
    """An encoding of tiktoken."""

    kind = "tiktoken byte-level BPE"
    unknown_ids: frozenset[int] = frozenset()

    def __init__(self, encoding: Any, *, note: str = "") -> None:
        self._encoding = encoding
        self.note = note
        self.vocab_size = encoding.n_vocab
        self._lengths = np.zeros(encoding.n_vocab, np.int64)
        for token in encoding.token_byte_values():
            self._lengths[encoding.encode_single_token(token)] = len(token)

    def encode_batch(self, texts: Sequence[str]) -> list[Encoded]:
        """The tokens of each text."""
        batches = self._encoding.encode_ordinary_batch(list(texts), num_threads=1)
        return [self._placed(ids, text) for ids, text in zip(batches, texts, strict=True)]

    def pieces(self) -> list[str]:
        """The vocabulary: what its bytes spell, and special tokens as they are."""
        pieces = [""] * self.vocab_size
        for token in self._encoding.token_byte_values():
            pieces[self._encoding.encode_single_token(token)] = readable(token)
        for name in self._encoding.special_tokens_set:
            pieces[self._encoding.encode_single_token(name)] = name
        return pieces

    def learnt(self) -> frozenset[bytes]:
        """All tokens but special ones and parts of characters that are one byte."""
        return frozenset(token for token in self._encoding.token_byte_values() if len(token) > 1 or token.isascii())

    def _placed(self, ids: list[int], text: str) -> Encoded:
        ends = np.cumsum(self._lengths[ids])
        starts = ends - self._lengths[ids]
        if not text.isascii() and ids:
            data = np.frombuffer(text.encode(), np.uint8)
            character = np.cumsum((data & 0xC0) != 0x80) - 1
            starts, ends = character[starts], character[ends - 1] + 1
        return Encoded(ids, starts.tolist(), ends.tolist())


class _NotAtHandError(Exception):
    """A file that would have to be downloaded."""


def _parse(data: bytes, source: str) -> dict[bytes, int]:
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            token, rank = line.split()
            ranks[base64.b64decode(token, validate=True)] = int(rank)
        except (ValueError, binascii.Error) as error:
            shown = line[:40].decode("utf-8", "replace")
            raise InputError(f"{source}:{number}: {shown!r} is not a token in base64 and its rank") from error
    missing = [byte for byte in range(256) if bytes([byte]) not in ranks]
    if missing:
        raise InputError(f"{source}: {len(missing)} of the 256 bytes have no rank (0x{missing[0]:02X} first)")
    if len(set(ranks.values())) < len(ranks):
        raise InputError(f"{source}: two tokens have the same rank")
    return ranks


def _pattern(name: str, ranks: Mapping[bytes, int]) -> str:
    """How that encoding splits words: what its constructor says, given these ranks instead of a download."""
    public = require("tiktoken_ext.openai_public", extra="hf", purpose="a .tiktoken file")

    def given(*_arguments: object, **_options: object) -> Mapping[bytes, int]:
        return ranks

    with _replaced(public, "load_tiktoken_bpe", given):
        return str(public.ENCODING_CONSTRUCTORS[name]()["pat_str"])


@contextmanager
def _replaced(module: Any, name: str, function: Callable[..., Any]) -> Iterator[None]:
    original = getattr(module, name)
    setattr(module, name, function)
    try:
        yield
    finally:
        setattr(module, name, original)
