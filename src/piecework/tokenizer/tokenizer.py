"""One tokenizer: load, save, encode, decode, and resize."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any, Self
from weakref import ref

import numpy as np

from piecework._core import CoreModelError, Encoder, Vocabulary
from piecework.common.files import prepare_output, write_together
from piecework.common.terms import PieceType
from piecework.counting.words import MOST_THREADS
from piecework.errors import InputError, ModelError
from piecework.tokenizer.assembly import WHITESPACE_RUNS, VocabularyParts, assemble, disassemble
from piecework.tokenizer.pieces import (
    GROUP_ORDER,
    SPACE,
    Group,
    Piece,
    VocabularyGroup,
    make_pieces,
    piece_group,
    vocabulary_groups,
)
from piecework.tokenizer.schema import NORMAL, TYPE_NAMES, check_bpe, model_type, parse_specs
from piecework.tokenizer.tokens import Column, Token, Tokens

__all__ = ["Tokenizer"]


class Tokenizer:
    """A BPE tokenizer, ours or any SentencePiece BPE model, with the ids that SentencePiece gives.

    >>> import piecework as pw
    >>> counts = pw.count_words(["den som väntar på något gott väntar aldrig för länge"])
    >>> tokenizer = pw.train(counts, pw.Recipe(vocab_size=40))
    >>> tokenizer.encode_pieces("som väntar")
    ['▁', 's', 'om', '▁väntar']
    >>> tokenizer.decode(tokenizer.encode("som väntar"))
    'som väntar'
    """

    kind = "SentencePiece BPE"
    note = ""

    def __init__(
        self,
        vocabulary: Vocabulary,
        specs: Any,
        *,
        source: str = "the model",
        frequencies: Mapping[str, int] | None = None,
        texts: list[str] | None = None,
        model_bytes: bytes | None = None,
    ) -> None:
        """Use `load`, `from_bytes` or `piecework.train` instead.

        `texts` are the pieces' texts and `model_bytes` the whole model, where the caller has them: both can be derived.
        """
        self._vocabulary = vocabulary
        self._specs = specs
        self._source = source
        self.frequencies = frequencies
        """The frequency of each merge's pair in training, when it was merged; a model file does not have it."""
        self._resized_from: ref[Tokenizer] | None = None
        if texts is not None:
            self._texts = texts
        if model_bytes is not None:
            self.model_bytes = model_bytes

    @cached_property
    def _texts(self) -> list[str]:
        return self._vocabulary.texts

    @cached_property
    def _types(self) -> list[PieceType]:
        return [TYPE_NAMES[kind] for kind in self._vocabulary.types]

    @cached_property
    def _groups(self) -> list[Group]:
        """The group of each piece."""
        return list(map(piece_group, self._texts, self._types))

    @cached_property
    def _encoder(self) -> Encoder:
        trainer, normalizer = self._specs.trainer_spec, self._specs.normalizer_spec
        try:
            return Encoder(
                self._vocabulary,
                charsmap=normalizer.precompiled_charsmap,
                add_dummy_prefix=normalizer.add_dummy_prefix,
                remove_extra_whitespaces=normalizer.remove_extra_whitespaces,
                escape_whitespaces=normalizer.escape_whitespaces,
                treat_whitespace_as_suffix=trainer.treat_whitespace_as_suffix,
                byte_fallback=trainer.byte_fallback,
                unknown_surface=trainer.unk_surface,
            )
        except CoreModelError as error:
            raise ModelError(f"{self._source}: {error}") from error
        except (TypeError, RuntimeError) as error:  # protobuf gives bytes for text that is not UTF-8
            raise ModelError(f"{self._source}: a text in the model is not valid UTF-8") from error

    def _forget_encoder(self) -> None:
        """Free the encoder's memory; the next text makes it anew."""
        self.__dict__.pop("_encoder", None)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The tokenizer in a `.model` file, or in a folder that holds a `tokenizer.model`."""
        path = Path(path)
        if path.is_dir():
            path = path / "tokenizer.model"
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            is_json = (path.parent / "tokenizer.json").is_file()
            hint = (
                "; the folder has a tokenizer.json: ByteLevelTokenizer.load reads a byte-level one" if is_json else ""
            )
            raise InputError(f"{path}: no such model file{hint}") from error
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror})") from error
        return cls.from_bytes(data, source=str(path))

    @classmethod
    def from_bytes(cls, data: bytes, *, source: str = "the model") -> Self:
        """The tokenizer in the bytes of a `.model` file."""
        return cls._from_specs(parse_specs(data, source=source), data, source=source)

    @classmethod
    def _from_specs(cls, specs: Any, data: bytes, *, source: str) -> Self:
        """The tokenizer in the bytes of a model whose specs are parsed."""
        check_bpe(specs, source=source)
        try:
            vocabulary = Vocabulary.read(data)
        except CoreModelError as error:
            raise ModelError(f"{source}: {error}") from error
        tokenizer = cls(vocabulary, specs, source=source, model_bytes=data)
        tokenizer._encoder  # noqa: B018  # refuses a damaged model here, not at the first text
        return tokenizer

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write `tokenizer.model` and `tokenizer.vocab` into `folder`; gives the model's path."""
        folder = Path(folder)
        contents = {"tokenizer.model": self.model_bytes, "tokenizer.vocab": self._vocabulary.vocab_text()}
        prepare_output(folder, list(contents), force=force)
        write_together({folder / name: data for name, data in contents.items()})
        return folder / "tokenizer.model"

    @cached_property
    def model_bytes(self) -> bytes:
        """The `.model` file."""
        specs: bytes = self._specs.SerializeToString(deterministic=True)
        return self._vocabulary.to_bytes() + specs

    @property
    def vocab_text(self) -> str:
        """The `.vocab` file: one line per piece, the piece and its score."""
        return self._vocabulary.vocab_text().decode()

    @property
    def vocab_size(self) -> int:
        """The number of pieces."""
        return len(self._vocabulary)

    def __len__(self) -> int:
        return self.vocab_size

    def __repr__(self) -> str:
        return f"Tokenizer({self.vocab_size:,} pieces)"

    @cached_property
    def pieces(self) -> list[Piece]:
        """The vocabulary in the order of ids."""
        return make_pieces(self._texts, self._vocabulary.scores, self._types)

    @cached_property
    def _meta_pieces(self) -> list[Piece]:
        """The few pieces that are not normal; makes no `Piece` for the others."""
        texts, scores, types = self._texts, self._vocabulary.scores, self._vocabulary.types
        ids = (found.start() for found in re.finditer(b"[^%c]" % NORMAL, types))
        return [Piece(i, texts[i], scores[i], TYPE_NAMES[types[i]]) for i in ids]

    @property
    def piece_texts(self) -> Sequence[str]:
        """The texts of the pieces in the order of ids."""
        return self._texts

    @cached_property
    def unknown_ids(self) -> frozenset[int]:
        """The id of the unknown piece."""
        return frozenset(piece.id for piece in self._meta_pieces if piece.type == "unknown")

    @cached_property
    def byte_ids(self) -> frozenset[int]:
        """The ids of the byte pieces."""
        return frozenset(piece.id for piece in self._meta_pieces if piece.type == "byte")

    @cached_property
    def learned_texts(self) -> frozenset[bytes]:
        """The normal pieces in UTF-8, with plain spaces."""
        is_normal = map(NORMAL.__eq__, self._vocabulary.types)
        return frozenset(text.replace(SPACE, " ").encode() for text in compress(self._texts, is_normal))

    @cached_property
    def _parts(self) -> VocabularyParts:
        """The parts that the vocabulary is assembled from. Resizing to several sizes reads them once."""
        return disassemble(self._vocabulary, self._texts)

    @property
    def _is_as_trained(self) -> bool:
        """Whether training can have made the vocabulary, so that it has smaller sizes."""
        try:
            self._parts  # noqa: B018
        except InputError:
            return False
        return True

    def groups(self) -> list[VocabularyGroup]:
        """The vocabulary by group, as in the paper's table."""
        return vocabulary_groups(self._texts, np.array(list(map(GROUP_ORDER.index, self._groups))))

    def length_histogram(self) -> dict[int, int]:
        """The number of regular, character and whitespace pieces of each length in characters, ▁ included."""
        is_normal = map(NORMAL.__eq__, self._vocabulary.types)
        return dict(sorted(Counter(map(len, compress(self._texts, is_normal))).items()))

    def settings(self) -> dict[str, object]:
        """The settings of training and normalisation in the model; only those that were set explicitly."""
        settings: dict[str, object] = {}
        for spec in (self._specs.trainer_spec, self._specs.normalizer_spec):
            for field, value in spec.ListFields():
                if field.name == "precompiled_charsmap":
                    value = f"{len(value)} bytes"
                elif field.name == "model_type":
                    value = model_type(self._specs)
                elif isinstance(value, float):
                    value = float(f"{value:.7g}")  # float32: 0.9999 and not 0.9998999834060669
                elif not isinstance(value, str | bytes | int):
                    value = list(value)
                settings[field.name] = value
        return settings

    def encode(self, text: str | bytes) -> list[int]:
        """The ids of `text`."""
        return self._encoder.encode(text)

    def encode_pieces(self, text: str | bytes) -> list[str]:
        """The pieces of `text`."""
        return [piece for _, piece, _, _ in self._encoder.encode_spans(text)]

    def encode_batch(self, texts: Iterable[str | bytes], *, threads: int = 1) -> list[list[int]]:
        """The ids of each text; the same for any number of threads."""
        if isinstance(texts, str | bytes):
            raise InputError("encode_batch takes an iterable of texts; use encode for a single text")
        if not 1 <= threads <= MOST_THREADS:
            raise InputError(f"threads must be 1 to {MOST_THREADS}, not {threads}")
        return self._encoder.encode_batch(texts if isinstance(texts, Sequence) else list(texts), threads)

    def tokens(self, text: str) -> list[Token]:
        """The tokens of `text` with their offsets in characters."""
        return [Token(*span) for span in self._encoder.encode_spans(text)]

    def token_columns(self, text: str) -> Tokens:
        """The same as `tokens`, in columns and in a fifth of the time.

        >>> import piecework as pw
        >>> tokenizer = pw.train(pw.count_words(["ha ha"]), pw.Recipe(vocab_size=8))
        >>> tokens = tokenizer.token_columns("ha hah")
        >>> [tokenizer.pieces[i].text for i in tokens.ids], tokens.ends.tolist()
        (['▁ha', '▁ha', 'h'], [2, 5, 6])
        """
        return Tokens(*self._encoder.encode_columns(text))

    def tokens_batch(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text in columns; here each byte of a character covers the character."""
        batch = []
        for text in texts:
            tokens = self.token_columns(text)
            is_byte = (tokens.starts == tokens.ends) & ~self._is_space_run[tokens.ids]
            batch.append(Tokens(tokens.ids, tokens.starts, tokens.ends + is_byte))
        return batch

    @cached_property
    def _is_space_run(self) -> Column:
        """For each id, whether the piece is ▁ alone."""
        return np.array([not text.strip(SPACE) for text in self._texts], bool)

    def decode(self, ids: Iterable[int]) -> str:
        """The text that the ids stand for."""
        ids = ids if isinstance(ids, list) else list(ids)
        try:
            return self._encoder.decode(ids)
        except (IndexError, TypeError) as error:
            unknown = next((i for i in ids if not isinstance(i, int) or not 0 <= i < self.vocab_size), None)
            raise InputError(f"id {unknown!r} is not in the vocabulary of {self.vocab_size:,} pieces") from error

    def resize(self, vocab_size: int) -> Tokenizer:
        """The tokenizer that training at `vocab_size` would give, without training: merges nest.

        A vocabulary that is not as training makes it, because it was edited for example, is refused.

        >>> import piecework as pw
        >>> counts = pw.count_words(["a rose is a rose is a rose"])
        >>> large, small = (pw.train(counts, pw.Recipe(vocab_size=size)) for size in (15, 12))
        >>> large.resize(12).model_bytes == small.model_bytes
        True
        """
        try:
            parts = self._parts
        except InputError as error:
            raise InputError(f"cannot resize to {vocab_size:,}: {error}") from error
        fixed = len(parts.meta) + len(parts.characters) + (len(WHITESPACE_RUNS) if parts.runs else 0)
        kept = vocab_size - fixed
        if kept > len(parts.merges):
            raise InputError(f"cannot resize to {vocab_size:,}: the vocabulary has {self.vocab_size:,} pieces")
        if kept < 0:
            raise InputError(f"cannot resize to {vocab_size:,}: special pieces and characters alone take {fixed:,}")
        merges = parts.merges[:kept]
        vocabulary, texts = assemble(replace(parts, merges=merges))
        specs = deepcopy(self._specs)
        specs.ClearField("self_test_data")  # samples of the ids of this size
        specs.trainer_spec.vocab_size = len(texts)
        known = self.frequencies
        frequencies = None if known is None else {merge: known[merge] for merge in merges if merge in known}
        resized = Tokenizer(vocabulary, specs, frequencies=frequencies, texts=texts)
        resized._resized_from = ref(self)
        return resized
