"""Tokens of several tokenizers, one below the other: in two colours, or every second one underlined."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from piecework.common.percent import format_percent
from piecework.common.printable import printable
from piecework.tokenizer.tokens import Token

if TYPE_CHECKING:
    from piecework.playground.catalogue import LaneTokenizer

__all__ = ["TokenLane", "different_words", "json_lanes", "show_lanes"]

WORD = re.compile(r"\S+")
LISTED_WORDS = 12
RED, BLUE, UNDERLINED, BOLD, DIM, PLAIN = "\x1b[31m", "\x1b[34m", "\x1b[4m", "\x1b[1m", "\x1b[2m", "\x1b[0m"


@dataclass(frozen=True)
class TokenLane:
    """A text in the tokens of one tokenizer."""

    name: str
    text: str
    tokens: tuple[Token, ...]
    vocab_size: int

    @classmethod
    def from_text(cls, name: str, tokenizer: LaneTokenizer, text: str) -> TokenLane:
        """Encode the text."""
        found = tokenizer.tokens(text)
        columns = zip(found.ids.tolist(), found.starts.tolist(), found.ends.tolist(), strict=True)
        tokens = tuple(Token(number, tokenizer.pieces[number], start, end) for number, start, end in columns)
        return cls(name, text, tokens, tokenizer.vocab_size)

    @cached_property
    def drawn_parts(self) -> list[tuple[int, int, int]]:
        """Start, end and number of tokens of each part that is drawn as one: a token, or the bytes of a character."""
        found: list[tuple[int, int, int]] = []
        is_open = False
        for token in self.tokens:
            start, end = token.start, token.end
            if found and (is_open or (start < end and start < found[-1][1])):
                found[-1] = (found[-1][0], max(end, found[-1][1]), found[-1][2] + 1)
            else:
                found.append((start, end, 1))
            is_open = start == end and token.piece.startswith("<0x")
        return found

    @cached_property
    def words(self) -> list[tuple[str, tuple[int, ...], int]]:
        """Each whitespace word with the offsets at which it is split, and its number of tokens."""
        found = []
        first = 0
        for match in WORD.finditer(self.text):
            while first < len(self.drawn_parts) and self.drawn_parts[first][1] <= match.start():
                first += 1
            offsets, tokens = [], 0
            for start, _, count in self.drawn_parts[first:]:
                if start >= match.end():
                    break
                tokens += count
                if start > match.start():
                    offsets.append(start - match.start())
            found.append((match[0], tuple(offsets), tokens))
        return found

    def summary(self, first: TokenLane) -> str:
        """Tokens, tokens per word and so on, and the difference from the first lane."""
        tokens, words = len(self.tokens), len(self.words)
        parts = [f"{tokens:,} token{'' if tokens == 1 else 's'}"]
        if words:
            continued = sum(count > 1 for _, _, count in self.words)
            parts += [
                f"{tokens / words:.2f} per word",
                f"{format_percent(continued / words, decimals=1)} of words continued",
            ]
        if tokens:
            parts.append(f"{len(self.text.encode('utf-8', 'replace')) / tokens:.2f} bytes per token")
        if first is not self and first.tokens:
            parts.append(f"{format_percent(tokens / len(first.tokens) - 1, decimals=1, sign='+')} against the first")
        return ", ".join(parts)


def show_lanes(lanes: list[TokenLane], *, view: str) -> str:
    """Draw the lanes: coloured on a terminal, underlined there if NO_COLOR is set, and with bars in a file or pipe."""
    is_terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    has_colours = is_terminal and not os.environ.get("NO_COLOR")
    blocks = []
    for lane in lanes:
        name = f"{BOLD}{_visible(lane.name)}{PLAIN}" if is_terminal else _visible(lane.name)
        items = list(_items(lane, view))
        if not is_terminal:
            body = "|".join(items) if view == "text" else " ".join(items)
        else:
            styles = (RED + UNDERLINED, BLUE + UNDERLINED) if has_colours else (UNDERLINED, "")
            # A style ends before each line break; otherwise the rest of the line would be underlined.
            drawn = (
                "\n".join(f"{styles[i % 2]}{line}{PLAIN}" if line else "" for line in item.split("\n"))
                for i, item in enumerate(items)
            )
            body = ("" if view == "text" else " ").join(drawn)
        blocks.append(f"{name}  {lane.summary(lanes[0])}\n{body}\n")
    words = different_words(lanes)
    if len(lanes) > 1:
        lines = [
            f"{count}×  {'   '.join(_split(word, offsets) for offsets in splits)}"
            for (word, splits), count in words.most_common(LISTED_WORDS)
        ]
        more = [f"and {len(words) - LISTED_WORDS} more"] if len(words) > LISTED_WORDS else []
        blocks.append("\n".join(["split differently:" if words else "all words are split alike", *lines, *more]) + "\n")
    return "\n".join(blocks)


def different_words(lanes: list[TokenLane]) -> Counter[tuple[str, tuple[tuple[int, ...], ...]]]:
    """Count the words that the lanes split differently, each with its offsets in every lane."""
    found: Counter[tuple[str, tuple[tuple[int, ...], ...]]] = Counter()
    for occurrence in zip(*(lane.words for lane in lanes), strict=True):
        splits = tuple(offsets for _, offsets, _ in occurrence)
        if len({(offsets, tokens) for _, offsets, tokens in occurrence}) > 1:
            found[occurrence[0][0], splits] += 1
    return found


def json_lanes(lanes: list[TokenLane]) -> list[Mapping[str, Any]]:
    """Return the lanes as lists and dictionaries, for JSON."""
    return [
        {
            "tokenizer": lane.name,
            "vocab_size": lane.vocab_size,
            "ids": [token.id for token in lane.tokens],
            "pieces": [token.piece for token in lane.tokens],
            "offsets": [(token.start, token.end) for token in lane.tokens],
        }
        for lane in lanes
    ]


def _items(lane: TokenLane, view: str) -> Iterator[str]:
    if view == "ids":
        yield from (str(token.id) for token in lane.tokens)
    elif view == "pieces":
        yield from (_visible(token.piece) for token in lane.tokens)
    else:
        for start, end, _ in lane.drawn_parts:
            yield _visible(lane.text[start:end]) if end > start else "▁"


def _split(word: str, offsets: tuple[int, ...]) -> str:
    edges = (0, *offsets, len(word))
    return "|".join(_visible(word[start:end]) for start, end in pairwise(edges))


def _visible(text: str) -> str:
    """Write control characters as escapes; a line break is marked and kept.

    >>> _visible("a\\x1b[2J\\n")
    'a\\\\x1b[2J⏎\\n'
    """
    return "⏎\n".join(map(printable, text.split("\n")))
