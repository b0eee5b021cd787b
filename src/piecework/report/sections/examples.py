"""Passages in the tokens of each tokenizer, and the decoded text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from piecework.common.printable import printable
from piecework.common.terms import MULTILINGUAL
from piecework.corpus.languages import CODE
from piecework.evaluation.examples import Example
from piecework.report.blocks import Section
from piecework.report.study_data import StudyData
from piecework.tokenizer.tokens import Token

__all__ = ["Passage", "Span", "Tokens", "examples_section"]


VISIBLE = 4


@dataclass(frozen=True, slots=True)
class Span:
    """A drawn part of a text: its visible form, whether it is made of bytes, and its tooltip."""

    parts: tuple[tuple[str, bool], ...]
    """Strings, each with whether it is a mark for an invisible character."""
    is_bytes: bool
    starts_word: bool
    ends_line: bool
    tooltip: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """A passage in the tokens of one tokenizer."""

    tokenizer: str
    count: int
    spans: tuple[Span, ...]
    decoded: str
    is_same: bool


@dataclass(frozen=True, slots=True)
class Passage:
    """A text, and its tokens in each tokenizer."""

    title: str
    language: str
    is_code: bool
    direction: str
    """The direction of the text: `rtl` if most letters are, else `auto`."""
    text: str
    tokens: tuple[Tokens, ...]


@dataclass(frozen=True, slots=True)
class Passages:
    """The passages of the section: those that the page shows, and those behind a click."""

    first: tuple[Passage, ...]
    more: tuple[Passage, ...]


def examples_section(data: StudyData) -> Section | None:
    """A passage for each language, and for each category of code."""
    rows = data.rows("examples")
    if not rows:
        return None
    passages = []
    for (language, category, text), group in groupby(
        rows, key=lambda row: (row["language"], row["category"], row["text"])
    ):
        kind = "" if category == "all" else f", {category}"
        tokens = tuple(_tokens(data, row) for row in group)
        passages.append(
            Passage(f"{data.name(language)}{kind}", language, language == CODE, _direction(text), text, tokens)
        )
    lead = (
        "A passage of an evaluation document in each language. Tokens alternate between red with a solid line and blue "
        "with a dashed line. A dot is a space, ↵ is a newline, and a box is a character that falls back to bytes. "
        "Hover over a token to see its id and piece."
    )
    # One passage of each language first, so that the visible ones are of different languages.
    first = {passage.language: passage for passage in reversed(passages)}
    passages.sort(key=lambda passage: first[passage.language] is not passage)
    content = Passages(tuple(passages[:VISIBLE]), tuple(passages[VISIBLE:]))
    return Section("examples", "Examples", lead, template="examples.html.j2", content=content)


def _direction(text: str) -> str:
    """The direction of most letters. A browser takes that of the first letter, which may be in a Latin placeholder.

    >>> _direction("hej"), _direction("%(count)s ثواني من الآن")
    ('auto', 'rtl')
    """
    classes = [unicodedata.bidirectional(character) for character in text]
    return "rtl" if sum(each in ("R", "AL") for each in classes) > classes.count("L") else "auto"


def _tokens(data: StudyData, row: dict[str, Any]) -> Tokens:
    tokens = tuple(map(Token, row["ids"], row["pieces"], row["starts"], row["ends"]))
    example = Example(row["tokenizer"], "", row["text"], tokens)
    name = row["tokenizer"]
    title = "multilingual" if name == MULTILINGUAL else f"monolingual tokenizer ({data.inline_name(name)})"
    return Tokens(title, len(tokens), tuple(_spans(example)), row["decoded"], row["decoded"] == row["text"])


def _spans(example: Example) -> Iterator[Span]:
    for segment in example.segments:
        named = [f"{number} {printable(piece)}" for number, piece in zip(segment.ids, segment.pieces, strict=True)]
        is_bytes = all(piece.startswith("<0x") for piece in segment.pieces)
        # A token without text is the dummy prefix.
        parts = tuple(_visible(segment.text)) or (("▁", True),)
        yield Span(parts, is_bytes, segment.text.startswith(" "), segment.text.endswith("\n"), "id " + ", ".join(named))


MARKS = {" ": "·", "\n": "↵", "\t": "⇥", "\r": "␍", "\u00a0": "⍽"}


def _visible(text: str) -> Iterator[tuple[str, bool]]:
    """The text in parts, each with whether it consists of marks for invisible characters.

    >>> list(_visible("  hej\\n"))
    [('··', True), ('hej', False), ('↵', True)]
    """
    for is_mark, run in groupby(text, key=lambda character: character in MARKS or not character.isprintable()):
        yield "".join(MARKS.get(each, "␣" if each.isspace() else "�") if is_mark else each for each in run), is_mark
