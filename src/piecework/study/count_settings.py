"""How a recipe needs documents to be counted: as words of SentencePiece, or as pre-tokens of a byte-level recipe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from piecework.common.pre_tokenizer import PreTokenizer
from piecework.common.terms import CleanUp, Split
from piecework.study.normalization import Normalization

__all__ = ["CountSettings"]


@dataclass(frozen=True, slots=True)
class CountSettings:
    """How documents are counted; `Recipe.count_settings` and `ByteLevelRecipe.count_settings` make one.

    >>> CountSettings(pre_tokenizer=PreTokenizer("llama3", digits="right")).described()
    {'max_sentence_length': None, 'pre_tokenizer': {'name': 'llama3', 'digits': 'right'}}
    """

    normalization: Normalization | None = None
    """Of training documents; tokenizers normalise evaluation documents."""
    max_sentence_length: int | None = None
    """Longer training lines are left out."""
    split: Split = "words"
    clean_up: CleanUp | None = None
    """Of all documents, when they are read."""
    pre_tokenizer: PreTokenizer | None = None
    """With it pre-tokens are counted, and the settings above but `clean_up` do not apply."""

    def described(self) -> dict[str, Any]:
        """The settings for counts.json. Usual values are left out, so that older counts stay valid."""
        described: dict[str, Any] = {"max_sentence_length": self.max_sentence_length}
        if self.clean_up:
            described["clean_up"] = self.clean_up
        if self.normalization and (normalization := self.normalization.settings()):
            described["normalization"] = normalization
        if self.split != "words":
            described["split"] = self.split
        if self.pre_tokenizer:
            described["pre_tokenizer"] = self.pre_tokenizer.settings()
        return described
