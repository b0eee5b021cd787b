"""Known differences between runtimes and SentencePiece, as a model that predicts a runtime's ids.

A known cause explains a difference only if it predicts the ids that the runtime gives.
"""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from piecework._core import Vocabulary
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
    "special tokens": "a special token is written out in the text; SentencePiece reads its characters, this runtime"
    " reads the token and encodes the text after it as a new text",
    "clean-up": "this runtime deletes control characters and no-break spaces, replaces other spaces by plain ones and"
    " composes accents (NFC) before it encodes; train with the recipe's clean_up to see the same text",
    "symbols unknown": "this runtime does not know user-defined symbols; load the folder with AutoTokenizer",
    "symbols cut out": "this runtime treats user-defined symbols like special tokens: no ▁ before a text that starts"
    " with one, and one more ▁ after it",
    "leading space": "this runtime puts no ▁ before a text that starts with a space; load the folder with"
    " AutoTokenizer",
    "unknown characters": "the text has characters that are no pieces: SentencePiece gives one <unk> for neighbours,"
    " this runtime gives one for each, or none; train with byte_fallback = true",
    "order of runs": "this runtime merges by id and not by score, and whitespace runs in the order of the paper have"
    ' one score; train with whitespace_runs = "portable"',
}


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a runtime differs from SentencePiece."""

    special: tuple[PieceType, ...] = ()
    """Pieces of these types, written out in a text, cut it into segments that are encoded one by one."""
    cleans_up: bool = False
    symbols: Literal["known", "text", "segments"] = "known"
    """User-defined symbols are found as in SentencePiece, are plain text, or cut the text into segments."""
    keeps_leading_space: bool = False
    """Only the start of the text gets a prefix, and not if the text starts with a space."""
    unknown: Literal["joined", "each", "dropped"] = "joined"
    by_id: bool = False
    """Merges the pair of the lowest id, not of the highest score."""


class Prediction:
    """Predicts the ids that a runtime with this behaviour gives.

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
        """The known cause for which the runtime may differ on this text, if there is one."""
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
        """The predicted ids."""
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
            unknown = self._tokenizer._specs.trainer_spec.unk_id
            tokens = self._with_prefix.tokens(text)
            return [token.id for token in tokens for _ in range(token.end - token.start if token.id == unknown else 1)]
        return self._with_prefix.encode(text)

    @property
    def _byte_fallback(self) -> bool:
        return bool(self._tokenizer._specs.trainer_spec.byte_fallback)

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
        """The same ids, with the scores, symbols and prefix that the runtime uses."""
        does = self._behaviour
        if with_prefix and does.symbols != "text" and not does.by_id:
            return self._tokenizer
        tokenizer = self._tokenizer
        types, scores = list(tokenizer._vocabulary.types), tokenizer._vocabulary.scores
        if does.symbols == "text":  # a control piece has an id, and is never found in a text
            types = [TYPE_NUMBERS["control"] if kind == TYPE_NUMBERS["user_defined"] else kind for kind in types]
        if does.by_id:
            scores = [-float(number) for number in range(len(scores))]
        specs = deepcopy(tokenizer._specs)
        if not with_prefix:
            specs.normalizer_spec.add_dummy_prefix = False
        return Tokenizer(Vocabulary(tokenizer._texts, scores, types), specs)
