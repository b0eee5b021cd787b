"""Passages split into tokens, for display: each stretch of text with its tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from piecework.evaluation.evaluate import Tokenizers, named_tokenizers
from piecework.tokenizer.tokens import Token

__all__ = ["Example", "Segment", "examples"]


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the text, `text[start:end]`, with its token, or with the byte tokens of one character."""

    text: str
    start: int
    end: int
    ids: tuple[int, ...]
    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """A passage in the tokens of one tokenizer."""

    tokenizer: str
    title: str
    text: str
    tokens: tuple[Token, ...]

    @property
    def ids(self) -> list[int]:
        """The ids of the tokens."""
        return [token.id for token in self.tokens]

    @property
    def pieces(self) -> list[str]:
        """The pieces of the tokens."""
        return [token.piece for token in self.tokens]

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """The start and end of each token in the text, in characters."""
        return [(token.start, token.end) for token in self.tokens]

    @property
    def segments(self) -> list[Segment]:
        """Consecutive stretches of the text; joined, they are the text.

        >>> import piecework as pw
        >>> tokenizer = pw.train(pw.count_words(["hej hej"]), pw.Recipe(vocab_size=268, byte_fallback=True))
        >>> [(segment.text, segment.pieces) for segment in examples(tokenizer, ["hej é"])[0].segments]
        [('hej', ('▁hej',)), (' ', ('▁',)), ('é', ('<0xC3>', '<0xA9>'))]
        """
        segments: list[Segment] = []
        waiting: list[Token] = []
        for token in self.tokens:
            waiting.append(token)
            # All byte tokens of a character but the last have an empty stretch: they join the last one. A dummy prefix
            # is empty too, but is a segment of its own.
            if token.start == token.end and token.piece.startswith("<0x"):
                continue
            segments.append(_segment(self.text, waiting))
            waiting = []
        if waiting:
            segments.append(_segment(self.text, waiting))
        return segments

    def to_dict(self) -> dict[str, Any]:
        """The example as lists and dictionaries, for JSON."""
        return {
            "tokenizer": self.tokenizer,
            "title": self.title,
            "text": self.text,
            "ids": self.ids,
            "pieces": self.pieces,
            "offsets": self.offsets,
            "segments": [
                {"text": each.text, "start": each.start, "end": each.end, "ids": each.ids, "pieces": each.pieces}
                for each in self.segments
            ],
        }


def examples(tokenizers: Tokenizers, passages: Mapping[str, str] | Sequence[str]) -> list[Example]:
    """Splits each passage with each tokenizer. Passages without titles are numbered.

    >>> import piecework as pw
    >>> tokenizer = pw.train(pw.count_words(["hej hej"]), pw.Recipe(vocab_size=10, hard_vocab_limit=False))
    >>> found = examples({"small": tokenizer}, {"greeting": "hej du"})[0]
    >>> found.pieces, found.offsets
    (['▁hej', '▁', 'du'], [(0, 3), (3, 4), (4, 6)])
    """
    if not isinstance(passages, Mapping):
        passages = {str(number): text for number, text in enumerate(passages, 1)}
    return [
        Example(name, title, text, tuple(tokenizer.tokens(text)))
        for title, text in passages.items()
        for name, tokenizer in named_tokenizers(tokenizers).items()
    ]


def _segment(text: str, tokens: Sequence[Token]) -> Segment:
    start, end = tokens[0].start, tokens[-1].end
    ids, pieces = tuple(token.id for token in tokens), tuple(token.piece for token in tokens)
    return Segment(text[start:end], start, end, ids, pieces)
