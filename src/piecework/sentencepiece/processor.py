"""SentencePiece's processor for BPE models: the same methods, arguments, results and kinds of errors."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np

from piecework.sentencepiece.decoding import decode_pieces
from piecework.sentencepiece.encode_options import EncodeOptions
from piecework.sentencepiece.loaded_model import LoadedModel, int_list
from piecework.sentencepiece.messages import SentencePieceText, TextInBytes, character_offsets

__all__ = ["SentencePieceProcessor"]

ReturnType = type[int] | type[str] | type[bytes] | Literal["proto", "serialized_proto", "numpy", "offset_mapping"]

_RETURN_TYPES = (int, str, bytes, "proto", "serialized_proto", "numpy", "offset_mapping")
_NOT_HERE = "sampling and n-best lists are not here; use the package sentencepiece"
_UNKNOWN_IN_CHUNKS = (
    "parallel_encode gives ids, and pieces of known characters: SentencePiece cuts the pieces of unknown ones where its"
    " chunks end; use encode"
)

Result = TypeVar("Result")


class SentencePieceProcessor(LoadedModel):
    """`sentencepiece.SentencePieceProcessor` for BPE models.

    >>> import piecework as pw
    >>> model = pw.train(pw.count_words(["ha hade"]), pw.Recipe(vocab_size=10)).model_bytes
    >>> processor = SentencePieceProcessor(model_proto=model)
    >>> processor.encode("hade", out_type=str, add_eos=True)
    ['▁ha', 'd', 'e', '</s>']
    >>> processor.decode(processor.encode(["ha", "hade"]))
    ['ha', 'hade']
    """

    def __init__(
        self,
        model_file: str | None = None,
        model_proto: bytes | None = None,
        out_type: ReturnType | None = None,
        add_bos: bool = False,
        add_eos: bool = False,
        reverse: bool = False,
        emit_unk_piece: bool = False,
        enable_sampling: bool = False,
        nbest_size: int = -1,
        alpha: float = 0.1,
        num_threads: int = -1,
        return_type: ReturnType | None = None,
    ) -> None:
        """Load a model, if one is given, and set the defaults of the arguments of `encode`."""
        self._return_type = self._resolve(return_type, out_type, default=int)
        self._add_bos, self._add_eos, self._reverse = add_bos, add_eos, reverse
        self._emit_unk_piece = emit_unk_piece
        self._enable_sampling = enable_sampling
        self._num_threads = num_threads
        _ = nbest_size, alpha  # they matter for sampling alone
        if model_file or model_proto:
            self.load(model_file, model_proto)

    def _resolve(
        self, return_type: ReturnType | None, out_type: ReturnType | None, *, default: ReturnType | None = None
    ) -> ReturnType:
        if out_type is not None and return_type is not None:
            raise ValueError("out_type and return_type are the same argument; give one of them")
        chosen = return_type if return_type is not None else out_type
        if chosen is None:
            chosen = default if default is not None else self._return_type
        if chosen not in _RETURN_TYPES:
            names = ", ".join(each if isinstance(each, str) else each.__name__ for each in _RETURN_TYPES)
            raise ValueError(f"return_type = {chosen!r} is none of {names}")
        return chosen

    def encode(
        self,
        input: Any,  # noqa: A002  # SentencePiece's name
        add_bos: bool | None = None,
        add_eos: bool | None = None,
        reverse: bool | None = None,
        emit_unk_piece: bool | None = None,
        enable_sampling: bool | None = None,
        nbest_size: int | None = None,
        alpha: float | None = None,
        num_threads: int | None = None,
        thread_pool: object = None,
        return_type: ReturnType | None = None,
        out_type: ReturnType | None = None,
        return_bytes: bool | None = None,
    ) -> Any:
        """The tokens of a text, or of each text in a list, as `return_type` (or `out_type`) says."""
        kind = self._resolve(return_type, out_type)
        if return_bytes is not None and kind != "offset_mapping":
            raise ValueError('return_bytes is for return_type="offset_mapping"')
        if self._enable_sampling if enable_sampling is None else enable_sampling:
            raise NotImplementedError(_NOT_HERE)
        _ = nbest_size, alpha, thread_pool
        threads = self._threads(num_threads)
        options = EncodeOptions(
            add_bos=self._add_bos if add_bos is None else add_bos,
            add_eos=self._add_eos if add_eos is None else add_eos,
            reverse=self._reverse if reverse is None else reverse,
            emit_unk_piece=self._emit_unk_piece if emit_unk_piece is None else emit_unk_piece,
        )
        if kind in ("proto", "serialized_proto", "offset_mapping") and options.any:
            raise RuntimeError(f"add_bos, add_eos, reverse and emit_unk_piece cannot be used with {kind}")
        texts = input if isinstance(input, list) else [input]
        for text in texts:
            if not isinstance(text, str | bytes):
                raise TypeError(f"a text is str or bytes, not {type(text).__name__}")
        tokenizer = self._tokenizer
        if kind is int or kind == "numpy":
            ids = [options.around(each, self) for each in tokenizer.encode_batch(texts, threads=threads)]
            results: list[Any] = [np.array(each, np.int32) for each in ids] if kind == "numpy" else ids
        elif kind is str or kind is bytes:
            pieces = [options.around_pieces(self._pieces(text), self) for text in texts]
            results = [[piece.encode() for piece in each] for each in pieces] if kind is bytes else pieces
        elif kind == "offset_mapping":
            results = [self._offset_mapping(text, as_bytes=_as_bytes(return_bytes, input)) for text in texts]
        else:
            results = [self._message(text) for text in texts]
            results = [_as_message(each, kind) for each in results]
        return results if isinstance(input, list) else results[0]

    def _threads(self, num_threads: int | None) -> int:
        chosen = self._num_threads if num_threads is None else num_threads
        if not isinstance(chosen, int):
            raise TypeError(f"num_threads is an int, not {type(chosen).__name__}")
        return 1 if chosen < 1 else min(chosen, 64)

    def _pieces(self, text: str | bytes) -> list[str]:
        return [piece for _, piece, _, _ in self._tokenizer._encoder.encode_spans(text)]

    def _offset_mapping(self, text: str | bytes, *, as_bytes: bool) -> dict[str, Any]:
        spans = self._tokenizer._encoder.encode_spans(_utf8(text) if as_bytes else text)
        offsets = [(start, end) for _, _, start, end in spans]
        if isinstance(text, bytes) and not as_bytes:
            character = character_offsets(text)
            offsets = [(character[start], character[end]) for start, end in offsets]
        return {
            "ids": [number for number, _, _, _ in spans],
            "pieces": [piece.encode() if as_bytes else piece for _, piece, _, _ in spans],
            "offsets": offsets,
        }

    def _message(self, text: str | bytes) -> Any:
        data = _utf8(text)
        message = TextInBytes(text=data)
        for number, piece, begin, end in self._tokenizer._encoder.encode_spans(data):
            added = message.pieces.add(piece=piece.encode(), id=number, begin=begin, end=end)
            if end > begin or piece not in self._byte_texts:
                added.surface = data[begin:end]
        return message

    @cached_property
    def _byte_texts(self) -> frozenset[str]:
        return frozenset(piece.text for piece in self._tokenizer._meta_pieces if piece.type == "byte")

    def encode_as_ids(self, input: Any, **arguments: Any) -> Any:  # noqa: A002
        """The ids of a text, or of each text in a list."""
        return self.encode(input, return_type=int, **arguments)

    def encode_as_pieces(self, input: Any, **arguments: Any) -> Any:  # noqa: A002
        """The pieces of a text, or of each text in a list."""
        return self.encode(input, return_type=str, **arguments)

    def encode_as_numpy(self, input: Any, **arguments: Any) -> Any:  # noqa: A002
        """The ids as an array."""
        return self.encode(input, return_type="numpy", **arguments)

    def encode_as_proto(self, input: Any, **arguments: Any) -> Any:  # noqa: A002
        """The tokens as a message with pieces, ids, surfaces and offsets in bytes."""
        return self.encode(input, return_type="proto", **arguments)

    def encode_as_offset_mapping(self, input: Any, **arguments: Any) -> Any:  # noqa: A002
        """The tokens as a dictionary of ids, pieces and offsets."""
        return self.encode(input, return_type="offset_mapping", **arguments)

    def parallel_encode(
        self,
        input: Any,  # noqa: A002
        add_bos: bool | None = None,
        add_eos: bool | None = None,
        reverse: bool | None = None,
        emit_unk_piece: bool | None = None,
        chunk_len: int | None = None,
        num_threads: int | None = None,
        thread_pool: object = None,
        return_type: ReturnType | None = None,
        out_type: ReturnType | None = None,
    ) -> Any:
        """The same as `encode`. A text is not cut into chunks here, because chunks do not change the ids."""
        kind = self._resolve(return_type, out_type)
        self._threads(num_threads)
        if not isinstance(chunk_len, int) or chunk_len <= 0:
            raise ValueError("chunk_len must be positive")
        if isinstance(input, list) and not input:
            return []
        if kind == "offset_mapping":
            raise ValueError('return_type = "offset_mapping" is not for parallel_encode')
        emits = self._emit_unk_piece if emit_unk_piece is None else emit_unk_piece
        if kind not in (int, "numpy") and not (kind in (str, bytes) and emits):
            ids = self.encode(input, add_bos=False, add_eos=False, return_type=int)
            if any(self.unk_id() in row for row in (ids if isinstance(input, list) else [ids])):
                raise NotImplementedError(_UNKNOWN_IN_CHUNKS)
        return self.encode(
            input, add_bos, add_eos, reverse, emit_unk_piece, False, thread_pool=thread_pool, return_type=kind
        )

    def parallel_encode_as_ids(self, input: Any, **arguments: Any) -> Any:  # noqa: A002
        """The ids of a text, or of each text in a list."""
        return self.parallel_encode(input, return_type=int, **arguments)

    def parallel_encode_as_pieces(self, input: Any, **arguments: Any) -> Any:  # noqa: A002
        """The pieces of a text, or of each text in a list."""
        return self.parallel_encode(input, return_type=str, **arguments)

    def parallel_encode_as_numpy(self, input: Any, **arguments: Any) -> Any:  # noqa: A002
        """The ids as an array."""
        return self.parallel_encode(input, return_type="numpy", **arguments)

    def parallel_encode_as_proto(self, input: Any, **arguments: Any) -> Any:  # noqa: A002
        """The tokens as a message with pieces, ids, surfaces and offsets in bytes."""
        return self.parallel_encode(input, return_type="proto", **arguments)

    def _not_here(self, *_arguments: object, **_options: object) -> Any:
        """Raises NotImplementedError: sampling and n-best lists are not here."""
        raise NotImplementedError(_NOT_HERE)

    def decode(
        self,
        input: Any,  # noqa: A002
        return_type: Any = None,
        out_type: Any = None,
        num_threads: int | None = None,
        thread_pool: object = None,
        return_bytes: bool | None = None,
    ) -> Any:
        """The text of ids or pieces, or of each list of them."""
        kind = self._resolve(return_type, out_type, default=str)
        if return_bytes is not None and kind != "offset_mapping":
            raise ValueError('return_bytes is for return_type="offset_mapping"')
        self._threads(num_threads)
        _ = thread_pool
        if input is None or (isinstance(input, str | bytes) and not input):
            input = []  # noqa: A001
        if not _is_sequence(input):
            input = [input]  # noqa: A001
        is_batch = input.ndim > 1 if hasattr(input, "ndim") else len(input) > 0 and _is_sequence(input[0])
        rows = list(input) if is_batch else [input]
        first = next((row[0] for row in rows if _is_sequence(row) and len(row) and not hasattr(row, "dtype")), None)
        if kind in (int, "numpy"):
            raise ValueError(f"return_type = {kind!r} is not for decode")
        # The first item of all lists decides whether all are pieces or ids. All are checked before any is decoded.
        typed = [_pieces_of(row) if isinstance(first, str | bytes) else int_list(row) for row in rows]
        in_bytes = isinstance(first, bytes)
        results = [self._decode_one(row, kind, in_bytes=in_bytes, return_bytes=return_bytes) for row in typed]
        return results if is_batch else results[0]

    def _decode_one(self, row: Any, kind: ReturnType, *, in_bytes: bool, return_bytes: bool | None) -> Any:
        """The text of one list of ids or pieces."""
        if row and isinstance(row[0], str):
            pieces = row
            ids = [self.piece_to_id(piece) for piece in pieces]
        else:
            ids = row
            self._check(ids)
            pieces = [self._tokenizer._texts[number] for number in ids]
        text, decoded = decode_pieces(self._tokenizer, ids, pieces)
        if kind is bytes:
            return text
        if kind is str:
            return text if in_bytes else text.decode()
        if kind == "offset_mapping":
            as_bytes = bool(return_bytes) or in_bytes
            offsets = [(each.begin, each.end) for each in decoded]
            return {
                "text": text if as_bytes else text.decode(),
                "ids": ids,
                "pieces": [_piece_bytes(piece) for piece in pieces] if as_bytes else pieces,
                "offsets": offsets
                if as_bytes
                else [(len(text[:a].decode()), len(text[:b].decode())) for a, b in offsets],
            }
        message = TextInBytes(text=text)
        for each in decoded:
            piece = _piece_bytes(each.piece)
            message.pieces.add(piece=piece, id=each.id, surface=each.surface, begin=each.begin, end=each.end)
        return _as_message(message, kind)

    def decode_ids_as_proto(self, input: Any, **arguments: Any) -> Any:  # noqa: A002
        """The decoded text as a message with pieces, ids, surfaces and offsets in bytes."""
        return self.decode(input, return_type="proto", **arguments)

    def normalize(self, input: Any, with_offsets: bool | None = None) -> Any:  # noqa: A002
        """The text as the model sees it; with the offset of each of its characters in the input, if asked for."""
        if isinstance(input, list):
            if any(isinstance(text, list) for text in input):
                raise TypeError("a text is str or bytes, not list")
            return [self.normalize(text, with_offsets=with_offsets) for text in input]
        if not isinstance(input, str | bytes):
            raise TypeError(f"a text is str or bytes, not {type(input).__name__}")
        data = _utf8(input)
        if self._loaded is None and not with_offsets:
            return type(input)()
        normalized, offsets = self._tokenizer._encoder.normalize(data)
        if not normalized:  # SentencePiece then has no offsets, and the offset 0 for characters
            data, offsets = b"", [0] if isinstance(input, str) else []
        if isinstance(input, bytes):
            return (normalized, offsets) if with_offsets else normalized
        text = normalized.decode()
        if not with_offsets:
            return text
        starts = np.flatnonzero((np.frombuffer(normalized, np.uint8) & 0xC0) != 0x80).tolist()
        return text, [len(data[: offsets[at]].decode()) for at in [*starts, len(normalized)]]

    # SentencePiece has each method under two names.
    Encode = Tokenize = tokenize = encode
    EncodeAsIds, EncodeAsPieces, EncodeAsNumpy = encode_as_ids, encode_as_pieces, encode_as_numpy
    EncodeAsProto, EncodeAsOffsetMapping = encode_as_proto, encode_as_offset_mapping
    Decode = Detokenize = detokenize = decode
    DecodeIds = decode_ids = DecodePieces = decode_pieces = decode
    DecodeIdsAsProto = DecodePiecesAsProto = decode_pieces_as_proto = decode_ids_as_proto
    Normalize = normalize
    NBestEncode = NBestEncodeAsIds = NBestEncodeAsNumpy = NBestEncodeAsPieces = NBestEncodeAsProto = _not_here
    nbest_encode = nbest_encode_as_ids = nbest_encode_as_numpy = nbest_encode_as_pieces = nbest_encode_as_proto = (
        _not_here
    )
    SampleEncodeAsIds = SampleEncodeAsNumpy = SampleEncodeAsPieces = SampleEncodeAsProto = _not_here
    sample_encode_as_ids = sample_encode_as_numpy = sample_encode_as_pieces = sample_encode_as_proto = _not_here
    ParallelEncode, ParallelEncodeAsIds = parallel_encode, parallel_encode_as_ids
    ParallelEncodeAsPieces, ParallelEncodeAsNumpy = parallel_encode_as_pieces, parallel_encode_as_numpy
    ParallelEncodeAsProto = parallel_encode_as_proto


def _as_bytes(return_bytes: bool | None, given: Any) -> bool:
    if return_bytes is not None:
        return return_bytes
    first = given[0] if isinstance(given, list) and given else given
    return isinstance(first, bytes)


def _utf8(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _is_sequence(value: object) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | bytes)


def _pieces_of(row: Any) -> list[str]:
    """Pieces as str. Bytes that are not UTF-8 are surrogates in it."""
    if not all(isinstance(piece, str | bytes) for piece in row):
        raise TypeError("pieces are str or bytes, all of them")
    return [piece if isinstance(piece, str) else piece.decode(errors="surrogateescape") for piece in row]


def _piece_bytes(piece: str) -> bytes:
    return piece.encode(errors="surrogateescape")


def _as_message(message: Any, kind: ReturnType) -> Any:
    data = message.SerializeToString()
    return SentencePieceText.FromString(data) if kind == "proto" else data
