"""The vocabulary and the encoder of a BPE model: pieces, ids, text to tokens and back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import compress, pairwise
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, overload

from piecework._core import CoreModelError, Encoder, Vocabulary
from piecework.common.terms import MOST_THREADS, PieceType
from piecework.errors import InputError, ModelError
from piecework.tokenizer.id_arrays import IdArrays, encode_flat
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
from piecework.tokenizer.schema import NORMAL, TYPE_NAMES, model_type
from piecework.tokenizer.tokens import Column, Token, Tokens

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

__all__ = ["BaseTokenizer"]


class BaseTokenizer:
    """The vocabulary and the encoder of a BPE model; `Tokenizer` adds loading, saving and resizing."""

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
        if texts is not None:
            self._texts = texts
        if model_bytes is not None:
            self.model_bytes = model_bytes

    @cached_property
    def _texts(self) -> list[str]:
        return self._vocabulary.texts

    @property
    def _scores(self) -> list[float]:
        return self._vocabulary.scores

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
        """Free the encoder's memory; the next text makes it again."""
        self.__dict__.pop("_encoder", None)

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

    @cached_property
    def pieces(self) -> list[Piece]:
        """The vocabulary in the order of ids."""
        return make_pieces(self._texts, self._scores, self._types)

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

    def groups(self) -> list[VocabularyGroup]:
        """The vocabulary by group, as in the paper's table."""
        import numpy as np

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

    def piece_to_id(self, piece: str) -> int | None:
        """The id of a piece, or None if the vocabulary has no such piece."""
        return self._ids.get(piece)

    def id_to_piece(self, piece_id: int) -> str:
        """The text of the piece with this id."""
        self._check_ids([piece_id])
        return self._texts[piece_id]

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {text: number for number, text in enumerate(self._texts)}

    @property
    def unk_id(self) -> int:
        """The id of the unknown piece."""
        return next(iter(self.unknown_ids))

    @property
    def bos_id(self) -> int | None:
        """The id of the piece that starts a text, or None."""
        return self._special_id(self._specs.trainer_spec.bos_piece)

    @property
    def eos_id(self) -> int | None:
        """The id of the piece that ends a text, or None."""
        return self._special_id(self._specs.trainer_spec.eos_piece)

    @property
    def pad_id(self) -> int | None:
        """The id of the padding piece, or None."""
        return self._special_id(self._specs.trainer_spec.pad_piece)

    def _special_id(self, text: str) -> int | None:
        return next((piece.id for piece in self._meta_pieces if piece.type == "control" and piece.text == text), None)

    @overload
    def encode(self, text: str | bytes, *, add_bos: bool = False, add_eos: bool = False) -> list[int]: ...

    @overload
    def encode(self, text: list[str], *, add_bos: bool = False, add_eos: bool = False) -> list[list[int]]: ...

    def encode(
        self, text: str | bytes | list[str], *, add_bos: bool = False, add_eos: bool = False
    ) -> list[int] | list[list[int]]:
        """The ids of `text`, or of each text in a list, with the ids of the start and the end if asked for."""
        if not isinstance(text, str | bytes):
            return self.encode_batch(text, add_bos=add_bos, add_eos=add_eos)
        ids = self._encoder.encode(text)
        if add_bos or add_eos:
            before, after = self._around(add_bos=add_bos, add_eos=add_eos)
            return [*before, *ids, *after]
        return ids

    def _around(self, *, add_bos: bool, add_eos: bool) -> tuple[list[int], list[int]]:
        """The ids to put before and after a text."""
        for is_wanted, number, name in ((add_bos, self.bos_id, "bos"), (add_eos, self.eos_id, "eos")):
            if is_wanted and number is None:
                raise InputError(f"add_{name}: the vocabulary has no {name} piece; train with {name}_id of 0 or more")
        before = [self.bos_id] if add_bos and self.bos_id is not None else []
        after = [self.eos_id] if add_eos and self.eos_id is not None else []
        return before, after

    def encode_pieces(self, text: str | bytes) -> list[str]:
        """The pieces of `text`."""
        return [piece for _, piece, _, _ in self._encoder.encode_spans(text)]

    @overload
    def encode_batch(
        self,
        texts: Iterable[str | bytes],
        *,
        threads: int = 1,
        add_bos: bool = False,
        add_eos: bool = False,
        output: Literal["list"] = "list",
    ) -> list[list[int]]: ...

    @overload
    def encode_batch(
        self,
        texts: Iterable[str | bytes],
        *,
        threads: int = 1,
        add_bos: bool = False,
        add_eos: bool = False,
        output: Literal["numpy"],
    ) -> list[npt.NDArray[np.int32]]: ...

    @overload
    def encode_batch(
        self,
        texts: Iterable[str | bytes],
        *,
        threads: int = 1,
        add_bos: bool = False,
        add_eos: bool = False,
        output: Literal["arrow"],
    ) -> pa.ListArray[Any]: ...

    @overload
    def encode_batch(
        self,
        texts: Iterable[str | bytes],
        *,
        threads: int = 1,
        add_bos: bool = False,
        add_eos: bool = False,
        as_arrays: Literal[True],
    ) -> IdArrays: ...

    def encode_batch(
        self,
        texts: Iterable[str | bytes],
        *,
        threads: int = 1,
        add_bos: bool = False,
        add_eos: bool = False,
        output: Literal["list", "numpy", "arrow"] = "list",
        as_arrays: bool = False,
    ) -> list[list[int]] | list[npt.NDArray[np.int32]] | pa.ListArray[Any] | IdArrays:
        """The ids of each text; the same for any number of threads.

        `output` is "list" for lists of int, "numpy" for arrays of int32, or "arrow" for one array of lists of int32.
        With `as_arrays` they are one flat array with offsets. `texts` may be an Arrow array of strings.

        >>> import piecework as pw
        >>> tokenizer = pw.train(["ha hade"], vocab_size=9)
        >>> tokenizer.encode_batch(["ha", "hade"], output="arrow").to_pylist() == tokenizer.encode(["ha", "hade"])
        True
        """
        if isinstance(texts, str | bytes):
            raise InputError("encode_batch takes an iterable of texts; use encode for a single text")
        if not 1 <= threads <= MOST_THREADS:
            raise InputError(f"threads must be 1 to {MOST_THREADS}, not {threads}")
        before, after = self._around(add_bos=add_bos, add_eos=add_eos)
        is_arrow = hasattr(texts, "__arrow_c_array__")
        if as_arrays or output != "list":
            given = texts if is_arrow or isinstance(texts, Sequence) else list(texts)
            flat = encode_flat(self._encoder, given, threads=threads, before=before, after=after)
            if as_arrays:
                return flat
            if output == "numpy":
                return [flat.ids[start:end].copy() for start, end in pairwise(flat.offsets.tolist())]
            import pyarrow as pa

            array: pa.ListArray[Any] = flat.to_arrow().cast(pa.list_(pa.int32()))  # type: ignore[assignment]
            return array
        if is_arrow:
            texts = texts.to_pylist()  # type: ignore[attr-defined]
        batch = self._encoder.encode_batch(texts if isinstance(texts, Sequence) else list(texts), threads)
        return [[*before, *ids, *after] for ids in batch] if before or after else batch

    def tokens(self, text: str) -> list[Token]:
        """The tokens of `text` with their offsets in characters."""
        return [Token(*span) for span in self._encoder.encode_spans(text)]

    def token_columns(self, text: str) -> Tokens:
        """The same as `tokens`, in columns and in much less time.

        >>> import piecework as pw
        >>> tokenizer = pw.train(pw.count_words(["ha ha"]), pw.Recipe(vocab_size=8))
        >>> tokens = tokenizer.token_columns("ha hah")
        >>> [tokenizer.pieces[i].text for i in tokens.ids], tokens.ends.tolist()
        (['▁ha', '▁ha', 'h'], [2, 5, 6])
        """
        return Tokens(*self._encoder.encode_columns([text])[:3])

    def tokens_batch(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text in columns; here each byte of a character covers the character."""
        ids, starts, ends, text_ends = self._encoder.encode_columns(texts)
        ends += (starts == ends) & ~self._is_space_run[ids]
        spans = pairwise([0, *text_ends.tolist()])
        return [Tokens(ids[start:end], starts[start:end], ends[start:end]) for start, end in spans]

    @cached_property
    def _is_space_run(self) -> Column:
        """For each id, whether the piece is ▁ alone."""
        import numpy as np

        return np.array([not text.strip(SPACE) for text in self._texts], bool)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of these ids."""
        numbers = ids if isinstance(ids, list) else ids.tolist() if hasattr(ids, "tolist") else list(ids)
        try:
            return self._encoder.decode(numbers)
        except (IndexError, TypeError):
            self._check_ids(numbers)
            raise

    def decode_batch(self, batch: Iterable[Iterable[int]]) -> list[str]:
        """The text of each list of ids."""
        return [self.decode(ids) for ids in batch]

    def _check_ids(self, ids: Iterable[object]) -> None:
        for number in ids:
            if not isinstance(number, SupportsIndex) or not 0 <= int(number) < self.vocab_size:
                raise InputError(f"id {number!r} is not in the vocabulary of {self.vocab_size:,} pieces")
