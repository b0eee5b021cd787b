"""Encodings of tiktoken that are on this machine. Nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from piecework.common.extras import require
from piecework.errors import InputError
from piecework.tokenizer.any_tokenizer import BYTE_PIECES, readable
from piecework.tokenizer.tokens import Tokens

__all__ = ["Tiktoken", "load_encoding"]


def load_encoding(name: str) -> Tiktoken:
    """The encoding of that name, if all its files are on this machine."""
    tiktoken = require("tiktoken", extra="hf", purpose=f"the encoding {name}")

    def refuse(_path: str) -> bytes:
        raise _NotDownloadedError

    try:
        with _replaced(require("tiktoken.load", extra="hf", purpose=name), "read_file", refuse):
            return Tiktoken(tiktoken.get_encoding(name))
    except _NotDownloadedError as error:
        raise InputError(
            f"the encoding {name} is not on this machine, and nothing is downloaded; load it once with "
            f'tiktoken.get_encoding("{name}"), or give the path of its .tiktoken file'
        ) from error
    except ValueError as error:
        names = ", ".join(tiktoken.list_encoding_names())
        raise InputError(f"tiktoken has no encoding {name!r}; it has {names}") from error


class Tiktoken:
    """An encoding of tiktoken."""

    kind = "tiktoken byte-level BPE"
    unknown_ids: frozenset[int] = frozenset()

    def __init__(self, encoding: Any, *, note: str = "") -> None:
        self._encoding = encoding
        self.note = note
        self.vocab_size: int = encoding.n_vocab
        self._lengths = np.zeros(encoding.n_vocab, np.int64)
        for token in encoding.token_byte_values():
            self._lengths[encoding.encode_single_token(token)] = len(token)

    @cached_property
    def byte_ids(self) -> frozenset[int]:
        """The pieces that are not whole characters."""
        return frozenset(number for number, text in enumerate(self.piece_texts) if BYTE_PIECES.fullmatch(text))

    def tokens_batch(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text."""
        batches = self._encoding.encode_ordinary_batch(list(texts), num_threads=1)
        return [self._with_offsets(ids, text) for ids, text in zip(batches, texts, strict=True)]

    @cached_property
    def piece_texts(self) -> list[str]:
        """The vocabulary in the order of ids: the text that the bytes spell, and special tokens by name."""
        pieces = [""] * self.vocab_size
        for token in self._encoding.token_byte_values():
            pieces[self._encoding.encode_single_token(token)] = readable(token)
        for name in self._encoding.special_tokens_set:
            pieces[self._encoding.encode_single_token(name)] = name
        return pieces

    @cached_property
    def learned_texts(self) -> frozenset[bytes]:
        """All tokens, without special ones and single bytes that are a part of a character."""
        return frozenset(token for token in self._encoding.token_byte_values() if len(token) > 1 or token.isascii())

    def _with_offsets(self, ids: list[int], text: str) -> Tokens:
        lengths = self._lengths[ids]
        ends = np.cumsum(lengths)
        starts = ends - lengths
        if not text.isascii() and ids:
            data = np.frombuffer(text.encode(), np.uint8)
            character = np.cumsum((data & 0xC0) != 0x80) - 1
            starts, ends = character[starts], character[ends - 1] + 1
        return Tokens(np.array(ids, np.int64), starts, ends)


class _NotDownloadedError(Exception):
    """A file of the encoding is not on this machine."""


@contextmanager
def _replaced(module: Any, name: str, function: Callable[..., Any]) -> Iterator[None]:
    original = getattr(module, name)
    setattr(module, name, function)
    try:
        yield
    finally:
        setattr(module, name, original)
