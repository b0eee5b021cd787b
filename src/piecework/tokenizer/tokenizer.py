"""One tokenizer: load, save, encode, decode, and make it smaller."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any, Self
from weakref import ref

from piecework._core import CoreModelError, Encoder, Vocabulary
from piecework.common.files import prepare_output, write_together
from piecework.common.terms import PieceType, RunOrder
from piecework.counting.words import MOST_THREADS
from piecework.errors import InputError, ModelError
from piecework.tokenizer import assembly
from piecework.tokenizer.pieces import Group, Piece, VocabularyGroup, group_of, pieces_of, vocabulary_groups
from piecework.tokenizer.schema import NORMAL, TYPE_NAMES, parse_model

__all__ = ["Token", "Tokenizer"]


@dataclass(frozen=True, slots=True)
class Token:
    """An occurrence of a piece, with the characters of the text that it stands for: `text[start:end]`.

    Of the byte pieces that make up one character, the last has its place and the others are empty, as in SentencePiece.
    """

    id: int
    piece: str
    start: int
    end: int


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

    def __init__(
        self,
        model: Any,
        *,
        source: str = "the model",
        frequencies: Mapping[str, int] | None = None,
        columns: tuple[Vocabulary, list[str]] | None = None,
    ) -> None:
        """Use `load`, `from_bytes` or `piecework.train` instead.

        `columns` are the pieces of `model` and their texts, where they are at hand: reading them takes longer.
        """
        self._model = model
        self._source = source
        self.frequencies = frequencies
        """How often training saw the pair that each merge joins, when it was merged; a model's file does not tell."""
        self._resized_from: ref[Tokenizer] | None = None
        if columns is not None:
            self._vocabulary, self._texts = columns

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary.read(self.model_bytes)

    @cached_property
    def _texts(self) -> list[str]:
        return self._vocabulary.texts

    @cached_property
    def _types(self) -> list[PieceType]:
        return [TYPE_NAMES[kind] for kind in self._vocabulary.types]

    @cached_property
    def _groups(self) -> list[Group]:
        """The group of each piece."""
        return list(map(group_of, self._texts, self._types))

    @cached_property
    def _encoder(self) -> Encoder:
        trainer, normalizer = self._model.trainer_spec, self._model.normalizer_spec
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
        except (TypeError, RuntimeError) as error:  # protobuf gives bytes for text that is no UTF-8
            raise ModelError(f"{self._source}: a text in the model is not valid UTF-8") from error

    def _forget_encoder(self) -> None:
        """Give its memory back; the next text makes it anew."""
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
            raise InputError(f"{path}: no such model file") from error
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror})") from error
        return cls.from_bytes(data, source=str(path))

    @classmethod
    def from_bytes(cls, data: bytes, *, source: str = "the model") -> Self:
        """The tokenizer in the bytes of a `.model` file."""
        tokenizer = cls(parse_model(data, source=source), source=source)
        tokenizer._encoder  # noqa: B018  # a damaged model is refused here, not at the first text
        return tokenizer

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Writes `tokenizer.model` and `tokenizer.vocab` into `folder` and gives back the model's path."""
        folder = Path(folder)
        contents = {"tokenizer.model": self.model_bytes, "tokenizer.vocab": self._vocabulary.vocab_text()}
        prepare_output(folder, list(contents), force=force)
        write_together({folder / name: data for name, data in contents.items()})
        return folder / "tokenizer.model"

    @cached_property
    def model_bytes(self) -> bytes:
        """The `.model` file."""
        data: bytes = self._model.SerializeToString(deterministic=True)
        return data

    @property
    def vocab_text(self) -> str:
        """The `.vocab` file: a piece and its score a line."""
        return self._vocabulary.vocab_text().decode()

    @property
    def vocab_size(self) -> int:
        """How many pieces there are."""
        return len(self._model.pieces)

    def __len__(self) -> int:
        return self.vocab_size

    def __repr__(self) -> str:
        return f"Tokenizer({self.vocab_size:,} pieces)"

    @cached_property
    def pieces(self) -> list[Piece]:
        """The vocabulary in the order of ids."""
        return pieces_of(self._texts, self._vocabulary.scores, self._types)

    @cached_property
    def _meta_pieces(self) -> list[Piece]:
        """The few that are not normal, without making all the others."""
        texts, scores, types = self._texts, self._vocabulary.scores, self._vocabulary.types
        ids = (found.start() for found in re.finditer(b"[^%c]" % NORMAL, types))
        return [Piece(i, texts[i], scores[i], TYPE_NAMES[types[i]]) for i in ids]

    @cached_property
    def _parts(self) -> tuple[dict[int, tuple[str, PieceType]], list[str], list[str], RunOrder | None]:
        """What the vocabulary is put together from: several sizes are made of one."""
        return assembly.disassemble(self._texts, self._vocabulary.types)

    def groups(self) -> list[VocabularyGroup]:
        """The vocabulary by group, as in the paper's table."""
        return vocabulary_groups(self._texts, self._groups)

    def length_histogram(self) -> dict[int, int]:
        """How many regular, character and whitespace pieces have each length in characters, ▁ counted."""
        is_normal = map(NORMAL.__eq__, self._vocabulary.types)
        return dict(sorted(Counter(map(len, compress(self._texts, is_normal))).items()))

    def settings(self) -> dict[str, object]:
        """What the model says of its own training and normalisation; only what was set explicitly."""
        settings: dict[str, object] = {}
        for spec in (self._model.trainer_spec, self._model.normalizer_spec):
            for field, value in spec.ListFields():
                if field.name == "precompiled_charsmap":
                    value = f"{len(value)} bytes"
                elif field.name == "model_type":
                    value = field.enum_type.values_by_number[value].name.lower()
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
        """The ids of each text, on several threads; the same for any number of them."""
        if isinstance(texts, str | bytes):
            raise InputError("encode_batch takes an iterable of texts; for a single one there is encode")
        if not 1 <= threads <= MOST_THREADS:
            raise InputError(f"threads must be 1 to {MOST_THREADS}, not {threads}")
        return self._encoder.encode_batch(texts if isinstance(texts, Sequence) else list(texts), threads)

    def tokens(self, text: str) -> list[Token]:
        """The tokens of `text` with their places in it, in characters."""
        return [Token(*span) for span in self._encoder.encode_spans(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text that the ids stand for."""
        ids = ids if isinstance(ids, list) else list(ids)
        try:
            return self._encoder.decode(ids)
        except (IndexError, TypeError) as error:
            strange = next((i for i in ids if not isinstance(i, int) or not 0 <= i < self.vocab_size), None)
            raise InputError(f"id {strange!r} is not in the vocabulary of {self.vocab_size:,} pieces") from error

    def resize(self, vocab_size: int) -> Tokenizer:
        """The tokenizer that training at `vocab_size` would give, without training: merges nest.

        >>> import piecework as pw
        >>> counts = pw.count_words(["a rose is a rose is a rose"])
        >>> large, small = (pw.train(counts, pw.Recipe(vocab_size=size)) for size in (15, 12))
        >>> large.resize(12).model_bytes == small.model_bytes
        True
        """
        meta, merges, characters, runs = self._parts
        kept = len(merges) - (self.vocab_size - vocab_size)
        if vocab_size > self.vocab_size:
            raise InputError(f"cannot resize to {vocab_size:,}: the vocabulary has {self.vocab_size:,} pieces")
        if kept < 0:
            raise InputError(
                f"cannot resize to {vocab_size:,}: special pieces and characters alone take"
                f" {self.vocab_size - len(merges):,}"
            )
        model = type(self._model)()
        model.trainer_spec.CopyFrom(self._model.trainer_spec)
        model.normalizer_spec.CopyFrom(self._model.normalizer_spec)
        merges = merges[:kept]
        columns = assembly.assemble(model, meta=meta, merges=merges, characters=characters, runs=runs)
        known = self.frequencies
        frequencies = None if known is None else {merge: known[merge] for merge in merges if merge in known}
        resized = Tokenizer(model, frequencies=frequencies, columns=columns)
        resized._resized_from = ref(self)
        return resized
