"""What runtimes are known to do otherwise than SentencePiece, as a model that predicts their ids.

A difference counts as explained only if the prediction is right: knowing a cause that could apply is not enough.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from piecework.common.terms import PieceType
from piecework.corpus.clean_up import clean_up
from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.schema import TYPE_NUMBERS
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["CAUSES", "Behaviour", "Cause", "Prediction"]

Cause = Literal[
    "special tokens",
    "clean-up",
    "symbols unknown",
    "symbols cut out",
    "leading space",
    "unknown characters",
    "order of runs",
]

CAUSES: dict[Cause, str] = {
    "special tokens": "the text has a special token written out; SentencePiece reads its characters, this runtime the"
    " token, and starts anew after it",
    "clean-up": "this runtime deletes control characters and no-break spaces, makes other spaces plain and composes"
    " accents (NFC) before it encodes; train with the recipe's clean_up to see the same text",
    "symbols unknown": "this runtime does not know user-defined symbols; load the folder with AutoTokenizer",
    "symbols cut out": "this runtime cuts user-defined symbols out like special tokens: no ▁ before a text that starts"
    " with one, and another ▁ after it",
    "leading space": "this runtime puts no ▁ before a text that starts with a space; load the folder with"
    " AutoTokenizer",
    "unknown characters": "characters that are no pieces: SentencePiece makes one <unk> of neighbours, this runtime one"
    " of each, or none; train with byte_fallback = true",
    "order of runs": "this runtime goes by ids and not by scores, and whitespace runs in the order of the paper share"
    ' one score; train with whitespace_runs = "portable"',
}


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a runtime departs from SentencePiece."""

    special: tuple[PieceType, ...] = ()
    """Of which types special tokens that are written out cut the text into segments, encoded one by one."""
    cleans_up: bool = False
    symbols: Literal["known", "text", "segments"] = "known"
    """Whether user-defined symbols are found as in SentencePiece, are text, or cut the text into segments."""
    keeps_leading_space: bool = False
    """The prefix is put before the text alone, and not if the text starts with a space."""
    unknown: Literal["joined", "each", "dropped"] = "joined"
    by_id: bool = False
    """Merges the pair of the lowest id, not of the highest score."""


class Prediction:
    """The ids that a runtime of this behaviour is expected to give.

    >>> import piecework as pw
    >>> tokenizer = pw.train(pw.count_words(["en ros"]), pw.Recipe(vocab_size=20, hard_vocab_limit=False))
    >>> prediction = Prediction(tokenizer, Behaviour(special=("control",)))
    >>> prediction.encode("en<s>ros") == [*tokenizer.encode("en"), 1, *tokenizer.encode("ros")]
    True
    >>> prediction.cause("en<s>ros"), prediction.cause("en ros")
    ('special tokens', None)
    """

    def __init__(self, tokenizer: Tokenizer, behaviour: Behaviour) -> None:
        self._tokenizer = tokenizer
        self._behaviour = behaviour
        pieces = tokenizer.pieces
        self._special = [piece.text for piece in pieces if piece.type in behaviour.special]
        self._symbols = [piece.text for piece in pieces if piece.type == "user_defined"]
        cut_out = [*self._special, *(self._symbols if behaviour.symbols == "segments" else ())]
        longest_first = sorted(cut_out, key=len, reverse=True)
        self._cut = re.compile(f"({'|'.join(map(re.escape, longest_first))})") if cut_out else None
        self._ids = {piece.text: piece.id for piece in pieces}

    def cause(self, text: str) -> Cause | None:
        """Why the runtime may differ on this text, if any cause is known."""
        does = self._behaviour
        if any(special in text for special in self._special):
            return "special tokens"
        if does.cleans_up and clean_up(text) != text:
            return "clean-up"
        if does.symbols != "known" and any(symbol in text for symbol in self._symbols):
            return "symbols unknown" if does.symbols == "text" else "symbols cut out"
        if does.keeps_leading_space and text.startswith((" ", SPACE)):
            return "leading space"
        if does.unknown != "joined" and not self._byte_fallback and not self._known.issuperset(text):
            return "unknown characters"
        return "order of runs" if does.by_id and self._shares_scores else None

    def encode(self, text: str) -> list[int]:
        """The ids that are expected."""
        parts = self._cut.split(text) if self._cut else [text]
        ids: list[int] = []
        for number, part in enumerate(parts):
            if number % 2:
                ids.append(self._ids[part])
            elif part:
                ids += self._encode_part(part, is_start=number == 0)
        return ids

    def _encode_part(self, text: str, *, is_start: bool) -> list[int]:
        if self._behaviour.cleans_up:
            text = clean_up(text)
        if self._behaviour.keeps_leading_space:
            has_prefix = is_start and not text.startswith((" ", SPACE))
            text = SPACE + text if has_prefix else text
            if self._behaviour.unknown == "dropped" and not self._byte_fallback:
                text = "".join(character for character in text if character in self._known)
            return self._without_prefix.encode(text)
        if self._behaviour.unknown == "each" and not self._byte_fallback:
            unknown = self._tokenizer._model.trainer_spec.unk_id
            tokens = self._with_prefix.tokens(text)
            return [token.id for token in tokens for _ in range(token.end - token.start if token.id == unknown else 1)]
        return self._with_prefix.encode(text)

    @property
    def _byte_fallback(self) -> bool:
        return bool(self._tokenizer._model.trainer_spec.byte_fallback)

    @cached_property
    def _known(self) -> set[str]:
        texts = (piece.text for piece in self._tokenizer.pieces if piece.type in ("normal", "user_defined"))
        return {" ", *(character for text in texts for character in text)}

    @cached_property
    def _shares_scores(self) -> bool:
        runs = [piece.score for piece in self._tokenizer.pieces if piece.group == "whitespace"]
        return len(set(runs)) < len(runs)

    @cached_property
    def _with_prefix(self) -> Tokenizer:
        return self._variant(with_prefix=True)

    @cached_property
    def _without_prefix(self) -> Tokenizer:
        return self._variant(with_prefix=False)

    def _variant(self, *, with_prefix: bool) -> Tokenizer:
        """The same ids, with the scores, the symbols and the prefix that the runtime goes by."""
        does = self._behaviour
        if with_prefix and does.symbols != "text" and not does.by_id:
            return self._tokenizer
        model = type(self._tokenizer._model)()
        model.CopyFrom(self._tokenizer._model)
        for number, piece in enumerate(model.pieces):
            if does.symbols == "text" and piece.type == TYPE_NUMBERS["user_defined"]:
                piece.type = TYPE_NUMBERS["control"]  # has an id, and is never found in a text
            if does.by_id:
                piece.score = -float(number)
        if not with_prefix:
            model.normalizer_spec.add_dummy_prefix = False
        return Tokenizer(model)
