"""A dataset of token ids on disk: what `tokenize` returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from piecework.common.storage import Location

__all__ = ["TokenizedDataset"]


@dataclass(frozen=True, slots=True)
class TokenizedDataset:
    """A folder with training shards, and the content of its tokenized.json."""

    folder: Location
    description: Mapping[str, Any]

    @property
    def tokens(self) -> int:
        """The number of tokens, of the first vocabulary size if there are several."""
        tokens: int = self.description["datasets"][0]["tokens"]
        return tokens

    @property
    def documents(self) -> int:
        """The number of documents, copies included."""
        return sum(row["documents"] for row in self.subset_rows)

    @property
    def subset_rows(self) -> list[dict[str, Any]]:
        """Documents, text and tokens of each subset."""
        rows: list[dict[str, Any]] = self.description["subsets"]
        return rows

    def shares(self, by: Literal["language", "category"]) -> dict[str, float]:
        """The share of each language or category in the tokens, the largest first."""
        tokens: Counter[str] = Counter()
        for row in self.subset_rows:
            tokens[row[by]] += row["tokens"][0]
        return {name: count / (tokens.total() or 1) for name, count in tokens.most_common()}
