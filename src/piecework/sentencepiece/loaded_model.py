"""A loaded model: SentencePiece's methods that load it and that ask about its vocabulary."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Generator, Iterable, Sequence, Set, ValuesView
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import numpy as np

from piecework.common.recorded_files import read_recorded
from piecework.errors import DamagedError, ModelError
from piecework.tokenizer.schema import TYPE_NUMBERS
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["LoadedModel", "as_text", "int_list"]

Result = TypeVar("Result")


class LoadedModel:
    """What a processor knows about its model. Without one it has no pieces and no ids, and cannot encode."""

    _loaded: Tokenizer | None = None

    @classmethod
    def from_file(cls, model_file: str, **arguments: Any) -> Self:
        """The processor of a model file."""
        if {"model_file", "model_proto"} & set(arguments):
            raise ValueError("give the model as the first argument only")
        processor = cls(**arguments)
        processor.load_from_file(model_file)
        return processor

    @classmethod
    def from_proto(cls, model_proto: Any, **arguments: Any) -> Self:
        """The processor of a model in memory."""
        if {"model_file", "model_proto"} & set(arguments):
            raise ValueError("give the model as the first argument only")
        processor = cls(**arguments)
        processor.load_from_serialized_proto(model_proto)
        return processor

    def load(self, model_file: str | None = None, model_proto: Any = None) -> bool:
        """Load a model from a file or from its bytes."""
        if model_file and model_proto:
            raise ValueError("give either model_file or model_proto")
        if model_proto:
            return self.load_from_serialized_proto(model_proto)
        if model_file:
            return self.load_from_file(model_file)
        raise ValueError("give model_file or model_proto")

    def load_from_file(self, filename: str | bytes) -> bool:
        """Load the model in a file."""
        if not isinstance(filename, str | bytes):
            raise TypeError(f"a file name is str or bytes, not {type(filename).__name__}")
        path = Path(os.fsdecode(filename))
        try:
            data = read_recorded(path)
        except DamagedError as error:
            raise RuntimeError(str(error)) from error
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            raise RuntimeError(f'"{path}": {getattr(error, "strerror", error)}') from error
        return self._set_model(data, source=str(path))

    def load_from_serialized_proto(self, serialized: Any) -> bool:
        """Load the model in these bytes, or in a message of protobuf."""
        data = serialized.SerializeToString() if hasattr(serialized, "SerializeToString") else serialized
        if not isinstance(data, bytes):
            raise TypeError(f"a model is bytes, not {type(data).__name__}")
        return self._set_model(data, source="the model")

    def _set_model(self, data: bytes, *, source: str) -> bool:
        try:
            self._loaded = Tokenizer.from_bytes(data, source=source)
        except ModelError as error:
            raise RuntimeError(str(error)) from error
        self.__dict__.pop("_ids", None)
        return True

    @property
    def _tokenizer(self) -> Tokenizer:
        if self._loaded is None:
            raise RuntimeError("no model is loaded; call load")
        return self._loaded

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {text: number for number, text in enumerate(self._tokenizer._texts)}

    def get_piece_size(self) -> int:
        """The number of pieces."""
        return 0 if self._loaded is None else self._loaded.vocab_size

    def piece_to_id(self, piece: Any) -> Any:
        """The id of a piece, or of each piece in a sequence; the unknown id if there is no such piece."""
        if isinstance(piece, str | bytes | bytearray):
            return 0 if self._loaded is None else self._ids.get(as_text(piece), self.unk_id())
        if not isinstance(piece, Sequence | np.ndarray):
            raise TypeError(f"a piece is str or bytes, not {type(piece).__name__}")
        pieces = list(piece)
        if not all(isinstance(each, str | bytes | bytearray) for each in pieces):
            raise TypeError("pieces are str or bytes, all of them")
        return [self.piece_to_id(each) for each in pieces]

    def id_to_piece(self, id: Any) -> Any:  # noqa: A002
        """The piece of an id, or of each id in a sequence."""
        return self._each(id, lambda number: self._tokenizer._texts[number])

    def get_score(self, id: Any) -> Any:  # noqa: A002
        """The score of an id, or of each id in a sequence."""
        return self._each(id, lambda number: self._tokenizer._vocabulary.scores[number])

    def is_unknown(self, id: Any) -> Any:  # noqa: A002
        """Whether an id is the unknown piece."""
        return self._each(id, self._has_type("unknown"))

    def is_control(self, id: Any) -> Any:  # noqa: A002
        """Whether an id is a control piece."""
        return self._each(id, self._has_type("control"))

    def is_unused(self, id: Any) -> Any:  # noqa: A002
        """Whether an id is an unused piece."""
        return self._each(id, self._has_type("unused"))

    def is_byte(self, id: Any) -> Any:  # noqa: A002
        """Whether an id is a byte piece."""
        return self._each(id, self._has_type("byte"))

    def unk_id(self) -> int:
        """The id of the unknown piece."""
        pieces = [] if self._loaded is None else self._loaded._meta_pieces
        return next((piece.id for piece in pieces if piece.type == "unknown"), -1)

    def bos_id(self) -> int:
        """The id of the piece that starts a sentence, or -1."""
        return self._control_id("bos_piece")

    def eos_id(self) -> int:
        """The id of the piece that ends a sentence, or -1."""
        return self._control_id("eos_piece")

    def pad_id(self) -> int:
        """The id of the padding piece, or -1."""
        return self._control_id("pad_piece")

    def serialized_model_proto(self) -> bytes:
        """The bytes of the model."""
        return b"" if self._loaded is None else self._loaded.model_bytes

    def _control_id(self, field: str) -> int:
        if self._loaded is None:
            return -1
        text = getattr(self._loaded._specs.trainer_spec, field)
        pieces = self._loaded._meta_pieces
        return next((piece.id for piece in pieces if piece.type == "control" and piece.text == text), -1)

    def _has_type(self, kind: Literal["unknown", "control", "unused", "byte"]) -> Callable[[int], bool]:
        number = TYPE_NUMBERS[kind]
        return lambda piece_id: self._tokenizer._vocabulary.types[piece_id] == number

    def _each(self, ids: Any, function: Callable[[int], Result]) -> Result | list[Result]:
        is_one = isinstance(ids, int | np.integer)
        numbers = int_list([ids] if is_one else ids)
        self._check(numbers)
        results = [function(number) for number in numbers]
        return results[0] if is_one else results

    def _check(self, ids: Iterable[int]) -> None:
        size = self.get_piece_size()
        for number in ids:
            if not 0 <= number < size:
                raise IndexError(f"id {number} is not in the vocabulary of {size:,} pieces")

    def __len__(self) -> int:
        return self.get_piece_size()

    def __getitem__(self, piece: Any) -> Any:
        return self.piece_to_id(piece)

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name not in ("_ids", "_byte_texts", "_loaded")}
        return state | {"model_proto": self.serialized_model_proto()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        self.load_from_serialized_proto(state.pop("model_proto"))
        self.__dict__.update(state)

    # SentencePiece has each method under two names.
    Load, LoadFromFile, LoadFromSerializedProto = load, load_from_file, load_from_serialized_proto
    GetPieceSize = piece_size = vocab_size = get_piece_size
    PieceToId, IdToPiece, GetScore = piece_to_id, id_to_piece, get_score
    IsUnknown, IsControl, IsUnused, IsByte = is_unknown, is_control, is_unused, is_byte


def as_text(text: str | bytes | bytearray) -> str:
    """A text or a piece as str."""
    return text if isinstance(text, str) else text.decode("utf-8", "replace")


def int_list(ids: Any) -> list[int]:
    """Ids as a list; TypeError if they are no integers of 32 bits."""
    is_array = isinstance(ids, np.ndarray) and np.issubdtype(ids.dtype, np.integer)
    is_sequence = isinstance(ids, Sequence | Set | ValuesView | Generator | array) and not isinstance(ids, str | bytes)
    numbers: list[Any] = list(ids) if is_array or is_sequence else [None]
    if not all(isinstance(number, int | np.integer) for number in numbers):
        raise TypeError("ids are integers, in a list, a tuple, a set or an array")
    for number in numbers:
        if not -(1 << 31) <= number < 1 << 31:
            raise TypeError(f"id {number} does not fit into 32 bits")
    return [int(number) for number in numbers]
