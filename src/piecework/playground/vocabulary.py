"""Searching a vocabulary: by text or regular expression, group, length, and the share of languages in its use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pyarrow import compute
from pydantic import BaseModel, ConfigDict, Field

from piecework.errors import InputError
from piecework.evaluation.metrics import Array, divide
from piecework.playground.catalogue import LaneTokenizer, NativeTokenizer
from piecework.tokenizer.any_tokenizer import BYTE_PIECE
from piecework.tokenizer.pieces import SPACE

__all__ = ["Search", "VocabularyBrowser"]

LONGEST_PATTERN = 200


class Search(BaseModel):
    """The filters, the order and the page of a search."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    text: str = Field(default="", max_length=LONGEST_PATTERN)
    mode: Literal["text", "regex"] = "text"
    group: str | None = Field(default=None, max_length=20)
    shortest: int = Field(default=0, ge=0, le=10_000)
    longest: int = Field(default=10_000, ge=0, le=10_000)
    language: str | None = Field(default=None, max_length=100)
    least_share: float = Field(default=0.0, ge=0, le=1)
    """The least share of the language in the use of a piece."""
    sort: str = Field(default="id", max_length=100)
    """id, length, or a language (its use)."""
    descending: bool = False
    offset: int = Field(default=0, ge=0)
    limit: int = Field(default=100, ge=1, le=500)


class VocabularyBrowser:
    """The vocabulary of one tokenizer, with its use by language if that is known.

    >>> import piecework as pw
    >>> small = pw.train(pw.count_words(["ha hade hade"]), pw.Recipe(vocab_size=12))
    >>> browser = VocabularyBrowser(NativeTokenizer(small, name="small"))
    >>> [row["piece"] for row in browser.search(Search(text="^.?ha", mode="regex"))["rows"]]
    ['ha', '▁ha', '▁hade']
    """

    def __init__(self, tokenizer: LaneTokenizer, *, use: Array | None = None, languages: Sequence[str] = ()) -> None:
        rows = tokenizer.rows
        self._tokenizer = tokenizer
        self._texts = [text for text, _, _ in rows]
        self._arrow = pa.array(self._texts, pa.string())
        self._scores = [score for _, score, _ in rows]
        self._groups = [group for _, _, group in rows]
        self._lengths = np.array([len(BYTE_PIECE.sub("x", text)) for text in self._texts])
        self.languages = list(languages)
        """The languages with known use of the pieces."""
        self._use = use
        self._shares = None if use is None else _shares(use)
        self._find = lru_cache(maxsize=32)(self._find_uncached)

    @property
    def groups(self) -> dict[str, int]:
        """The number of pieces of each group."""
        found: dict[str, int] = {}
        for group in self._groups:
            found[group] = found.get(group, 0) + 1
        return found

    def search(self, search: Search) -> dict[str, Any]:
        """The number of matching pieces, and a page of them."""
        found = self._find(search.model_copy(update={"offset": 0, "limit": 1}))
        page = found[search.offset : search.offset + search.limit]
        return {"total": len(found), "rows": [self._row(int(i)) for i in page]}

    def _row(self, piece_id: int) -> dict[str, Any]:
        return {
            "id": piece_id,
            "piece": self._texts[piece_id],
            "score": self._scores[piece_id],
            "rank": self._rank(piece_id),
            "group": self._groups[piece_id],
            "length": int(self._lengths[piece_id]),
            "use": None if self._use is None else self._use[:, piece_id].tolist(),
            "shares": None if self._shares is None else self._shares[:, piece_id].round(4).tolist(),
        }

    def _rank(self, piece_id: int) -> int | None:
        if not isinstance(self._tokenizer, NativeTokenizer) or self._tokenizer.smallest is None:
            return None
        return self._tokenizer.sized().rank(piece_id)

    def _find_uncached(self, search: Search) -> Array:
        fits = self._matches(search)
        fits &= (self._lengths >= search.shortest) & (self._lengths <= search.longest)
        if search.group is not None:
            fits &= np.array([group == search.group for group in self._groups])
        if search.language is not None and search.least_share > 0:
            if self._shares is None:
                raise InputError("the use of pieces by language is unknown; open the folder of a study")
            fits &= self._shares[self._language(search.language)] >= search.least_share
        found = np.flatnonzero(fits)
        keys = self._keys(search.sort)[found]
        order = np.argsort(-keys if search.descending else keys, kind="stable")
        return found[order]

    def _matches(self, search: Search) -> Array:
        if not search.text:
            return np.ones(len(self._texts), bool)
        try:
            if search.mode == "regex":
                # RE2: linear time for any expression, bounded memory.
                found = compute.match_substring_regex(self._arrow, search.text)
            else:
                found = compute.match_substring(self._arrow, search.text.replace(" ", SPACE))
        except pa.ArrowInvalid as error:
            reason = str(error).removeprefix("Invalid regular expression: ")
            raise InputError(f"{search.text!r} is not a valid regular expression: {reason}") from error
        return np.array(found.to_numpy(zero_copy_only=False), bool)

    def _keys(self, sort: str) -> Array:
        if sort == "id":
            return np.arange(len(self._texts))
        if sort == "length":
            return self._lengths
        if self._use is None:
            raise InputError(f'cannot sort by "{sort}"; sort by id or length')
        use: Array = self._use[self._language(sort)]
        return use

    def _language(self, name: str) -> int:
        if name not in self.languages:
            raise InputError(f'no language "{name}"; there is {", ".join(self.languages) or "none"}')
        return self.languages.index(name)


def _shares(use: Array) -> Array:
    """The share of each language in the use of a piece, per token, so that more text does not count more."""
    rates = np.nan_to_num(divide(use, use.sum(axis=1, keepdims=True)))
    return np.nan_to_num(divide(rates, np.broadcast_to(rates.sum(axis=0), rates.shape)))
