"""Tokens of several tokenizers under one another in a terminal: in two colours, or underlined in turns without them."""

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

if TYPE_CHECKING:
    from piecework.playground.catalogue import Shown

__all__ = ["TokenLane", "different_words", "json_lanes", "show_lanes"]

WORD = re.compile(r"\S+")
SHOWN_WORDS = 12
RED, BLUE, UNDERLINED, BOLD, DIM, PLAIN = "\x1b[31m", "\x1b[34m", "\x1b[4m", "\x1b[1m", "\x1b[2m", "\x1b[0m"


@dataclass(frozen=True)
class TokenLane:
    """One tokenizer's tokens of a text."""

    name: str
    text: str
    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    vocab_size: int

    @classmethod
    def of(cls, name: str, shown: Shown, text: str) -> TokenLane:
        """The tokens of the text."""
        found = shown.encode(text)
        ids = tuple(found.ids.tolist())
        pieces = tuple(shown.pieces[i] for i in ids)
        return cls(name, text, ids, pieces, tuple(found.starts.tolist()), tuple(found.ends.tolist()), shown.vocab_size)

    @cached_property
    def stretches(self) -> list[tuple[int, int, int]]:
        """Start, end and number of tokens of what is drawn as one: a token, or a character that several bytes form."""
        found: list[tuple[int, int, int]] = []
        is_open = False
        for start, end, piece in zip(self.starts, self.ends, self.pieces, strict=True):
            if found and (is_open or (start < end and start < found[-1][1])):
                found[-1] = (found[-1][0], max(end, found[-1][1]), found[-1][2] + 1)
            else:
                found.append((start, end, 1))
            is_open = start == end and piece.startswith("<0x")
        return found

    @cached_property
    def words(self) -> list[tuple[str, tuple[int, ...], int]]:
        """Each whitespace word with the places where it is cut, and the number of its tokens."""
        found = []
        first = 0
        for match in WORD.finditer(self.text):
            while first < len(self.stretches) and self.stretches[first][1] <= match.start():
                first += 1
            places, tokens = [], 0
            for start, _, count in self.stretches[first:]:
                if start >= match.end():
                    break
                tokens += count
                if start > match.start():
                    places.append(start - match.start())
            found.append((match[0], tuple(places), tokens))
        return found

    def figures(self, first: TokenLane) -> str:
        """What the text costs, and how that compares with the first lane."""
        tokens, words = len(self.ids), len(self.words)
        parts = [f"{tokens:,} token{'' if tokens == 1 else 's'}"]
        if words:
            continued = sum(count > 1 for _, _, count in self.words)
            parts += [f"{tokens / words:.2f} per word", f"{100 * continued / words:.1f} % of words continued"]
        if tokens:
            parts.append(f"{len(self.text.encode('utf-8', 'replace')) / tokens:.2f} bytes per token")
        if first is not self and first.ids:
            parts.append(f"{100 * (tokens / len(first.ids) - 1):+.1f} % against the first")
        return ", ".join(parts)


def show_lanes(lanes: list[TokenLane], *, view: str) -> str:
    """The lanes, ready to be printed: coloured on a terminal, there underlined under NO_COLOR, elsewhere with bars."""
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
            # A style ends before each line break, or the rest of the terminal's line would be underlined.
            drawn = (
                "\n".join(f"{styles[i % 2]}{line}{PLAIN}" if line else "" for line in item.split("\n"))
                for i, item in enumerate(items)
            )
            body = ("" if view == "text" else " ").join(drawn)
        blocks.append(f"{name}  {lane.figures(lanes[0])}\n{body}\n")
    words = different_words(lanes)
    if len(lanes) > 1:
        lines = [
            f"{count}×  {'   '.join(_cut(word, places) for places in cuts)}"
            for (word, cuts), count in words.most_common(SHOWN_WORDS)
        ]
        more = [f"and {len(words) - SHOWN_WORDS} more"] if len(words) > SHOWN_WORDS else []
        blocks.append("\n".join(["cut differently:" if words else "all words are cut alike", *lines, *more]) + "\n")
    return "\n".join(blocks)


def different_words(lanes: list[TokenLane]) -> Counter[tuple[str, tuple[tuple[int, ...], ...]]]:
    """The words that the lanes cut differently, each with its cut in every lane, and how often it occurs."""
    found: Counter[tuple[str, tuple[tuple[int, ...], ...]]] = Counter()
    for occurrence in zip(*(lane.words for lane in lanes), strict=True):
        cuts = tuple(places for _, places, _ in occurrence)
        if len({(places, tokens) for _, places, tokens in occurrence}) > 1:
            found[occurrence[0][0], cuts] += 1
    return found


def json_lanes(lanes: list[TokenLane]) -> list[Mapping[str, Any]]:
    """The lanes as lists and dictionaries."""
    return [
        {
            "tokenizer": lane.name,
            "vocab_size": lane.vocab_size,
            "ids": lane.ids,
            "pieces": lane.pieces,
            "offsets": list(zip(lane.starts, lane.ends, strict=True)),
        }
        for lane in lanes
    ]


def _items(lane: TokenLane, view: str) -> Iterator[str]:
    if view == "ids":
        yield from map(str, lane.ids)
    elif view == "pieces":
        yield from map(_visible, lane.pieces)
    else:
        for start, end, _ in lane.stretches:
            yield _visible(lane.text[start:end]) if end > start else "▁"


def _cut(word: str, places: tuple[int, ...]) -> str:
    edges = (0, *places, len(word))
    return "|".join(_visible(word[start:end]) for start, end in pairwise(edges))


def _visible(text: str) -> str:
    """The text with what would move the cursor, or do worse, as an escape; a line break also breaks the line.

    >>> _visible("a\\x1b[2J\\n")
    'a\\\\x1b[2J⏎\\n'
    """
    return "".join(
        "⏎\n"
        if character == "\n"
        else character
        if character.isprintable()
        else character.encode("unicode_escape").decode()
        for character in text
    )
