"""Documents to packed ids, for one or several nested vocabulary sizes from one encoding."""

from __future__ import annotations

import hashlib
import pickle
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from piecework._core import IdPacker
from piecework.corpus.readers import Documents
from piecework.dataset.sizes import smaller_ids
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["AnyNative", "DocumentEncoder", "EncodedBatch", "EncodingSettings"]

AnyNative = Tokenizer | ByteLevelTokenizer
"""A tokenizer that runs in the core."""


@dataclass(frozen=True, slots=True)
class EncodingSettings:
    """What the ids depend on. It goes to the processes that encode."""

    tokenizer: bytes
    """Pickled."""
    sizes: tuple[int, ...]
    """The vocabulary sizes to encode with."""
    resized: tuple[bytes, ...]
    """The tokenizer in each size, pickled, because making it takes longer. Empty bytes stand for `tokenizer` itself."""
    widths: tuple[int, ...]
    """The bytes of an id, for each size."""
    before: tuple[int, ...]
    after: tuple[int, ...]
    """Ids around each document."""

    @property
    def digest(self) -> str:
        """A checksum of the tokenizer."""
        return hashlib.sha256(self.tokenizer).hexdigest()


@dataclass(frozen=True, slots=True)
class EncodedBatch:
    """The ids of some documents, for each size, and the length of each document in ids, as uint32."""

    ids: Sequence[tuple[bytes | memoryview, bytes]]
    text_bytes: int


class DocumentEncoder:
    """Encodes batches of documents as the settings say."""

    def __init__(self, settings: EncodingSettings) -> None:
        self._settings = settings
        self._tokenizer: AnyNative = pickle.loads(settings.tokenizer)
        self._packers: dict[tuple[int, ...], list[IdPacker]] = {}

    def encode(self, documents: Documents, *, code_token: str | None = None, threads: int = 1) -> EncodedBatch:
        """The ids of the documents. A code document starts with its code token."""
        extra: tuple[int, ...] = ()
        if code_token is not None:
            if isinstance(self._tokenizer, ByteLevelTokenizer):
                number = code_token_id(self._tokenizer, code_token)
                assert number is not None  # the plan has checked it
                extra = (number,)
            else:
                documents = _with_prefix(code_token, documents)
        if (found := self._encode_slowly(documents, extra)) is not None:
            return found
        ids, text_bytes = self._tokenizer._encoder.encode_packed(documents, self._packers_for(extra), threads)
        return EncodedBatch(ids, text_bytes)

    def _packers_for(self, extra: tuple[int, ...]) -> list[IdPacker]:
        packers = self._packers.get(extra)
        if packers is None:
            settings = self._settings
            before, after = [*settings.before, *extra], list(settings.after)
            packers = [
                IdPacker(width, before=before, after=after, smaller=smaller)
                for width, smaller in zip(settings.widths, self._smaller, strict=True)
            ]
            self._packers[extra] = packers
        return packers

    @cached_property
    def _smaller(self) -> list[Any]:
        own = self._tokenizer
        resized = self._settings.resized
        return [smaller_ids(own, pickle.loads(small)) if small else None for small in resized]

    @cached_property
    def _added(self) -> re.Pattern[str] | None:
        """The pattern of added tokens, which are cut out of a text first."""
        if not isinstance(self._tokenizer, ByteLevelTokenizer) or not self._tokenizer.model.added_tokens:
            return None
        return re.compile("|".join(map(re.escape, self._tokenizer.model.added_tokens)))

    def _encode_slowly(self, documents: Documents, extra: tuple[int, ...]) -> EncodedBatch | None:
        """Encodes the documents one by one if any has added tokens, or a custom pattern cuts them; else None."""
        if not isinstance(self._tokenizer, ByteLevelTokenizer):
            return None
        is_custom = not self._tokenizer.pre_tokenizer.is_native
        if self._added is None and not is_custom:
            return None
        texts = _as_strings(documents)
        if not is_custom and self._added is not None and not any(map(self._added.search, texts)):
            return None
        settings = self._settings
        packed = []
        own = self._tokenizer
        for resized, width in zip(settings.resized, settings.widths, strict=True):
            tokenizer: ByteLevelTokenizer = pickle.loads(resized) if resized else own
            rows = [[*settings.before, *extra, *ids, *settings.after] for ids in tokenizer.encode_batch(texts)]
            ids = array("H" if width == 2 else "I", (number for row in rows for number in row))
            packed.append((ids.tobytes(), array("I", map(len, rows)).tobytes()))
        return EncodedBatch(packed, sum(len(text.encode()) for text in texts))


def code_token_id(tokenizer: AnyNative, token: str) -> int | None:
    """The id of a code token; None if the vocabulary lacks it."""
    if isinstance(tokenizer, ByteLevelTokenizer):
        return {**tokenizer.model.special_tokens, **tokenizer.model.added_tokens}.get(token)
    number = tokenizer.piece_to_id(token)
    return number if number is not None and tokenizer.pieces[number].type == "user_defined" else None


def _as_strings(documents: Documents) -> Sequence[str]:
    values: Any = documents if isinstance(documents, list) else documents.to_pylist()  # type: ignore[union-attr]
    return [value.decode() if isinstance(value, bytes) else value for value in values]


def _with_prefix(token: str, documents: Documents) -> Documents:
    if isinstance(documents, list):
        prefix = token.encode()
        return [prefix + text if isinstance(text, bytes) else token + text for text in documents]
    from pyarrow import compute

    array: Any = documents
    joined: Documents = compute.binary_join_element_wise(token, array, "")
    return joined


@lru_cache(maxsize=2)
def cached_encoder(settings: EncodingSettings) -> DocumentEncoder:
    """The encoder of these settings, made once in each process."""
    return DocumentEncoder(settings)
