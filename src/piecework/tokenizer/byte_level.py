"""One byte-level tokenizer: load, save, encode, decode, and resize."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self, overload

from piecework._core import ByteLevelEncoder, CoreModelError
from piecework.common.mistakes import did_you_mean, listed
from piecework.common.pre_tokenizer import PreTokenizer
from piecework.common.recorded_files import update_recorded, write_recorded
from piecework.common.terms import MOST_THREADS, PieceType
from piecework.errors import InputError, ModelError
from piecework.tokenizer.any_tokenizer import BYTE_PIECES, readable
from piecework.tokenizer.byte_level_files import load_model, ranks_bytes
from piecework.tokenizer.byte_level_json import config_bytes, json_bytes
from piecework.tokenizer.byte_level_model import ByteLevelModel, Merge
from piecework.tokenizer.id_arrays import IdArrays, encode_flat, flat_ids
from piecework.tokenizer.pieces import Piece, make_pieces
from piecework.tokenizer.tokens import Column, Token, Tokens

__all__ = ["SAVED_FILES", "ByteLevelTokenizer"]

SAVED_FILES = ("tokenizer.json", "tokenizer_config.json")

AllowedSpecial = Collection[str] | Literal["all"]


class ByteLevelTokenizer:
    """A byte-level BPE tokenizer, ours or any other, with the ids that `tokenizers` and tiktoken give.

    >>> import piecework as pw
    >>> counts = pw.count_pre_tokens(["a rose is a rose is a rosé"], pre_tokenizer="gpt2")
    >>> tokenizer = pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=262))
    >>> tokenizer.encode_pieces("a rosé")
    ['a', '▁ros', '<0xC3>', '<0xA9>']
    >>> tokenizer.decode(tokenizer.encode("a rosé"))
    'a rosé'
    """

    kind = "byte-level BPE"
    unknown_ids: frozenset[int] = frozenset()
    extended_from: int | None = None
    """The size of the tokenizer that this one extends, if known: smaller sizes go down to it."""

    def __init__(
        self, model: ByteLevelModel, *, frequencies: Sequence[int] | None = None, source: str = "the tokenizer"
    ) -> None:
        """Use `load` or `piecework.train` instead."""
        self.model = model
        """Its tokens, merges and pre-tokenizer."""
        self.frequencies = frequencies
        """How often each merge's pair occurred when training merged it; None if loaded from a file."""
        self._source = source
        self._encoder  # noqa: B018  # refuses a damaged vocabulary here, not at the first text

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self.model, self.frequencies, self._source, self.extended_from)

    @property
    def pre_tokenizer(self) -> PreTokenizer:
        """Splits a text into pre-tokens; merges stay inside them."""
        return self.model.pre_tokenizer

    @property
    def note(self) -> str:
        """Assumptions that were made to load it; empty if none."""
        return self.model.note

    @cached_property
    def _encoder(self) -> ByteLevelEncoder:
        try:
            return ByteLevelEncoder(
                list(self.model.tokens),
                merges=self.model.merges,
                whole_pre_tokens=self.model.whole_pre_tokens,
                pre_tokenizer=self.pre_tokenizer._native if self.pre_tokenizer.is_native else None,
            )
        except CoreModelError as error:
            raise ModelError(f"{self._source}: {error}") from error

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        pre_tokenizer: str | PreTokenizer | None = None,
        special_tokens: Mapping[str, int] | None = None,
    ) -> Self:
        """The tokenizer in a `tokenizer.json`, `.tiktoken` or `tekken.json` file, or in a folder that has one.

        Also `vocab.json` with `merges.txt`, and GPT-2's `encoder.json` with `vocab.bpe`. A `.tiktoken` file has neither
        a pattern nor special tokens; they can be given.
        """
        model = load_model(Path(path), pre_tokenizer=pre_tokenizer, special_tokens=special_tokens)
        return cls(model, source=str(path))

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write `tokenizer.json` and `tokenizer_config.json` into `folder`; gives the path of the first.

        Ranks of a `.tiktoken` file become the merges that follow from them, which takes seconds; the ids are the same.
        """
        folder = Path(folder)
        contents = dict(zip(SAVED_FILES, (self.json_bytes, config_bytes(self.model)), strict=True))
        write_recorded(folder, contents, force=force)
        return folder / SAVED_FILES[0]

    def save_tiktoken(self, path: str | Path) -> None:
        """Write a `.tiktoken` file: tokens in base64 with their ranks, which are their ids."""
        update_recorded({Path(path): ranks_bytes(self.model)})

    @cached_property
    def json_bytes(self) -> bytes:
        """The `tokenizer.json`, as `tokenizers` would save it."""
        return json_bytes(self.model)

    @property
    def vocab_size(self) -> int:
        """The number of ids, special ones and gaps included."""
        return len(self.model.tokens)

    def __len__(self) -> int:
        return self.vocab_size

    def __repr__(self) -> str:
        return f"ByteLevelTokenizer({self.vocab_size:,} pieces, {self.pre_tokenizer.name})"

    @cached_property
    def _texts_of_ids(self) -> list[bytes]:
        """What each id decodes to."""
        tokens = list(self.model.tokens)
        for added in (self.model.special_tokens, self.model.added_tokens):
            for text, number in added.items():
                tokens[number] = tokens[number] or text.encode()  # bytes that are merged to the id come first
        return tokens

    @cached_property
    def _lengths(self) -> Column:
        import numpy as np

        return np.array([len(token) for token in self._texts_of_ids], np.int64)

    @cached_property
    def piece_texts(self) -> list[str]:
        """The vocabulary in the order of ids, for a person to read: ▁ for a space, <0xNN> for parts of characters."""
        texts = [readable(token) for token in self._texts_of_ids]
        for added in (self.model.special_tokens, self.model.added_tokens):
            for text, number in added.items():
                texts[number] = text
        return texts

    @cached_property
    def byte_ids(self) -> frozenset[int]:
        """The pieces that are not whole characters."""
        special = {*self.model.special_tokens.values(), *self.model.added_tokens.values()}
        return frozenset(
            number
            for number, text in enumerate(self.piece_texts)
            if number not in special and BYTE_PIECES.fullmatch(text)
        )

    @cached_property
    def learned_texts(self) -> frozenset[bytes]:
        """All tokens except special tokens and single bytes that are only part of a character."""
        return frozenset(token for token in self.model.tokens if len(token) > 1 or (token and token.isascii()))

    @cached_property
    def pieces(self) -> list[Piece]:
        """The vocabulary in the order of ids."""
        return make_pieces(self.piece_texts, self._scores, self._types)

    @property
    def _scores(self) -> list[float]:
        return [-float(number) for number in range(self.vocab_size)]

    @cached_property
    def _types(self) -> list[PieceType]:
        special = {*self.model.special_tokens.values()}
        added = {*self.model.added_tokens.values()}

        def kind(number: int) -> PieceType:
            if number in special:
                return "control"
            if number in added:
                return "user_defined"
            if number in self.byte_ids and len(self.model.tokens[number]) == 1:
                return "byte"
            return "normal" if self.model.tokens[number] else "unused"

        return list(map(kind, range(self.vocab_size)))

    def encode(self, text: str | bytes, *, allowed_special: AllowedSpecial = ()) -> list[int]:
        """The ids of `text`. The text of a special token is plain text unless `allowed_special` has it."""
        return self.encode_batch([text], allowed_special=allowed_special)[0]

    def encode_pieces(self, text: str | bytes, *, allowed_special: AllowedSpecial = ()) -> list[str]:
        """The pieces of `text`."""
        return [self.piece_texts[number] for number in self.encode(text, allowed_special=allowed_special)]

    @overload
    def encode_batch(
        self,
        texts: Iterable[str | bytes],
        *,
        threads: int = 1,
        allowed_special: AllowedSpecial = (),
        as_arrays: Literal[False] = False,
    ) -> list[list[int]]: ...

    @overload
    def encode_batch(
        self,
        texts: Iterable[str | bytes],
        *,
        threads: int = 1,
        allowed_special: AllowedSpecial = (),
        as_arrays: Literal[True],
    ) -> IdArrays: ...

    def encode_batch(
        self,
        texts: Iterable[str | bytes],
        *,
        threads: int = 1,
        allowed_special: AllowedSpecial = (),
        as_arrays: bool = False,
    ) -> list[list[int]] | IdArrays:
        """The ids of each text, or with `as_arrays` one flat array with offsets; the same for any number of threads."""
        if isinstance(texts, str | bytes):
            raise InputError("encode_batch takes an iterable of texts; use encode for a single text")
        if not 1 <= threads <= MOST_THREADS:
            raise InputError(f"threads must be 1 to {MOST_THREADS}, not {threads}")
        texts = texts if isinstance(texts, Sequence) else list(texts)
        cut = self._cut_out(allowed_special)
        if cut is None and self.pre_tokenizer.is_native:
            if as_arrays:
                return encode_flat(self._encoder, texts, threads=threads)
            return self._encoder.encode_batch(texts, threads)
        ids = [self._encode_parts(_as_str(text), cut) for text in texts]
        return flat_ids(ids) if as_arrays else ids

    def _cut_out(self, allowed_special: AllowedSpecial) -> tuple[re.Pattern[str], dict[str, int]] | None:
        """A pattern that finds the allowed special tokens, longer ones first, and their ids."""
        special = self.model.special_tokens
        if isinstance(allowed_special, str) and allowed_special != "all":
            raise InputError(f'allowed_special is "all" or a list of tokens, such as [{allowed_special!r}]')
        allowed = special.keys() if allowed_special == "all" else allowed_special
        unknown = [token for token in allowed if token not in special]
        if unknown:
            hint = did_you_mean(unknown[0], special) or f"; it has {listed(special) or 'none'}"
            raise InputError(f"{unknown[0]!r} is not a special token of this tokenizer{hint}")
        ids = {**self.model.added_tokens, **{token: special[token] for token in allowed}}
        if not ids:
            return None
        longest_first = sorted(ids, key=len, reverse=True)
        return re.compile("(" + "|".join(map(re.escape, longest_first)) + ")"), ids

    def _encode_parts(self, text: str, cut: tuple[re.Pattern[str], dict[str, int]] | None) -> list[int]:
        pattern, added = cut or (None, {})
        ids: list[int] = []
        for at, part in enumerate(pattern.split(text) if pattern else [text]):
            if at % 2:
                ids.append(added[part])
            elif self.pre_tokenizer.is_native:
                ids += self._encoder.encode_batch([part], 1)[0]
            else:
                for found in self._encoder.encode_batch(self.pre_tokenizer.split(part), 1):
                    ids += found
        return ids

    def pre_tokens(self, text: str) -> list[tuple[str, int | None]]:
        """The parts of a text that are encoded on their own, in order.

        A part is a pre-token, or a token that is cut out before, with its id.

        >>> import piecework as pw
        >>> counts = pw.count_pre_tokens(["a rose"], pre_tokenizer="gpt2")
        >>> tokenizer = pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=258))
        >>> tokenizer.pre_tokens("a rose!")
        [('a', None), (' rose', None), ('!', None)]
        """
        cut = self._cut_out(())
        parts: list[tuple[str, int | None]] = []
        for at, part in enumerate(cut[0].split(text) if cut else [text]):
            if cut and at % 2:
                parts.append((part, cut[1][part]))
            else:
                parts += [(pre_token, None) for pre_token in self.pre_tokenizer.split(part)]
        return parts

    def tokens(self, text: str, *, allowed_special: AllowedSpecial = ()) -> list[Token]:
        """The tokens of `text` with their offsets in characters. A part of a character covers the whole character."""
        found = self.token_columns(text, allowed_special=allowed_special)
        columns = (found.ids.tolist(), found.starts.tolist(), found.ends.tolist())
        return [
            Token(number, self.piece_texts[number], start, end) for number, start, end in zip(*columns, strict=True)
        ]

    def token_columns(self, text: str, *, allowed_special: AllowedSpecial = ()) -> Tokens:
        """The same as `tokens`, in columns."""
        import numpy as np

        ids = np.array(self.encode(text, allowed_special=allowed_special), np.int64)
        lengths = self._lengths[ids]
        ends = np.cumsum(lengths)
        starts = ends - lengths
        if not text.isascii() and len(ids):
            try:
                data = np.frombuffer(text.encode(), np.uint8)
            except UnicodeEncodeError as error:
                raise InputError("a text with a lone surrogate has no offsets") from error
            character = np.cumsum((data & 0xC0) != 0x80) - 1
            starts, ends = character[starts], character[ends - 1] + 1
        return Tokens(ids, starts, ends)

    def tokens_batch(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text in columns."""
        return [self.token_columns(text) for text in texts]

    def decode_bytes(self, ids: Iterable[int], *, skip_special_tokens: bool = False) -> bytes:
        """The bytes that the ids stand for."""
        ids = list(ids)
        if skip_special_tokens:
            special = {*self.model.special_tokens.values()}
            ids = [number for number in ids if number not in special]
        texts = self._texts_of_ids
        try:
            if ids and min(ids) < 0:
                raise IndexError
            return b"".join([texts[number] for number in ids])
        except (IndexError, TypeError) as error:
            unknown = next((i for i in ids if not isinstance(i, int) or not 0 <= i < self.vocab_size), None)
            raise InputError(f"id {unknown!r} is not in the vocabulary of {self.vocab_size:,} pieces") from error

    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = False) -> str:
        """The text that the ids stand for; bytes that are no characters become U+FFFD."""
        return self.decode_bytes(ids, skip_special_tokens=skip_special_tokens).decode("utf-8", "replace")

    @cached_property
    def merge_counts(self) -> list[int] | None:
        """The number of merges at each vocabulary size, from none to all; None if ids are not as training gives them.

        Training gives special tokens, bytes, then what merges make. A merge that spells a special token adds no id.
        """
        if self.model.merges is None or self.model.whole_pre_tokens:
            return None
        if self.extended_from is not None:
            return self._counts_of_extension(self.extended_from)
        fixed = [*self.model.special_tokens.values(), *self.model.added_tokens.values()]
        fixed += [number for number, token in enumerate(self.model.tokens) if len(token) == 1]
        size = len({*fixed})
        counts = [0]
        for number, (_, _, merged) in enumerate(self.model.merges, 1):
            if merged > size:
                return None
            if merged == size:
                counts.append(number)
                size += 1
        # The size is reached with the first merge that makes its last piece; the full vocabulary has all merges.
        counts[-1] = len(self.model.merges)
        return counts if size == self.vocab_size else None

    def _counts_of_extension(self, base_size: int) -> list[int] | None:
        """The same for an extended tokenizer, from the old size on: new merges make the last ids, in order."""
        merges = self.model.merges or []
        new = self.vocab_size - base_size
        last = [merged for _, _, merged in merges[len(merges) - new :]]
        if last != list(range(base_size, self.vocab_size)):
            return None
        return list(range(len(merges) - new, len(merges) + 1))

    def resize(self, vocab_size: int) -> ByteLevelTokenizer:
        """The tokenizer that training at `vocab_size` would give, without training: merges nest.

        >>> import piecework as pw
        >>> counts = pw.count_pre_tokens(["a rose is a rose is a rose"], pre_tokenizer="gpt2")
        >>> recipes = (pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=size) for size in (263, 259))
        >>> large, small = (pw.train(counts, recipe) for recipe in recipes)
        >>> large.resize(259).json_bytes == small.json_bytes
        True
        """
        tokens, merges = self.model.tokens, self.model.merges
        if self.extended_from is not None and self.extended_from <= vocab_size <= self.vocab_size:
            kept = None if merges is None else [merge for merge in merges if merge[2] < vocab_size]
            shorter = replace(self.model, tokens=tokens[:vocab_size], merges=kept)
            resized = ByteLevelTokenizer(shorter, source=self._source)
            resized.extended_from = self.extended_from
            return resized
        if vocab_size > self.vocab_size:
            raise InputError(f"cannot resize to {vocab_size:,}: the vocabulary has {self.vocab_size:,} pieces")
        last = max([*self.model.special_tokens.values(), *self.model.added_tokens.values()], default=-1)
        smallest = 1 + max(last, *(number for number, token in enumerate(tokens) if len(token) == 1))
        if vocab_size < smallest:
            raise InputError(
                f"cannot resize to {vocab_size:,}: special tokens and bytes take the ids up to {smallest - 1:,}"
            )
        kept = None
        if merges is not None:
            # Training stops at the size, even if the next merge would make a special token and add no piece.
            size, kept = smallest, []
            for merge in merges:
                if size == vocab_size:
                    break
                kept.append(merge)
                size += merge[2] >= smallest
        tokens = tokens[:vocab_size]
        model = replace(self.model, tokens=tokens if kept is None else _without_unmade(tokens, kept), merges=kept)
        frequencies = None if self.frequencies is None or kept is None else self.frequencies[: len(kept)]
        return ByteLevelTokenizer(model, frequencies=frequencies, source=self._source)


def _unpickle(
    model: ByteLevelModel, frequencies: Sequence[int] | None, source: str, extended_from: int | None = None
) -> ByteLevelTokenizer:
    tokenizer = ByteLevelTokenizer(model, frequencies=frequencies, source=source)
    tokenizer.extended_from = extended_from
    return tokenizer


def _without_unmade(tokens: Sequence[bytes], merges: Sequence[Merge]) -> list[bytes]:
    """The tokens; a special token that no kept merge makes becomes empty."""
    made = {merged for _, _, merged in merges}
    return [token if len(token) == 1 or number in made else b"" for number, token in enumerate(tokens)]


def _as_str(text: str | bytes) -> str:
    if isinstance(text, str):
        return text
    # One U+FFFD for each bad byte, as in the core.
    return re.sub("[\udc80-\udcff]", "\ufffd", text.decode("utf-8", "surrogateescape"))
