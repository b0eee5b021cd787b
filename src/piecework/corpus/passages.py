"""Passages to show: the part of one evaluation document of each subset, chosen while documents are counted.

The choice depends on the documents alone: not on their order, the files that hold them, or the number of processes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from piecework.corpus.languages import CODE
from piecework.corpus.sampling import Placement

__all__ = ["Candidate", "PassageChoice", "cut_passage"]

CHARACTERS = 320
CODE_LINES = 14
CODE_CHARACTERS = 560
LONG_ENOUGH = CHARACTERS // 2


@dataclass(frozen=True, slots=True, order=True)
class Candidate:
    """A passage, ordered by preference: evaluation documents first, then long passages, then by hash."""

    is_trained_on: bool
    is_short: bool
    rank: int
    """The hash of the document."""
    text: str


class PassageChoice:
    """Keeps the best passage of the documents of one subset.

    >>> choice = PassageChoice("sv")
    >>> choice.offer(b"Kort text.", Placement(copies=0, evaluation=True, bucket=0, rank=7))
    >>> choice.best.text
    'Kort text.'
    """

    def __init__(self, language: str) -> None:
        self._language = language
        self.best: Candidate | None = None

    @property
    def standing(self) -> tuple[bool, bool, int] | None:
        """The sort key of the best passage so far: is its document for training, is it short, its hash."""
        best = self.best
        return None if best is None else (best.is_trained_on, best.is_short, best.rank)

    def offer(self, text: bytes, placement: Placement) -> None:
        """Take the document's passage if it is better than the best so far. Most are refused before they are cut."""
        best = self.best
        is_trained_on = not placement.evaluation
        if best is not None:
            if is_trained_on > best.is_trained_on:
                return
            is_better = is_trained_on < best.is_trained_on or (best.is_short and len(text) >= LONG_ENOUGH)
            if not is_better and placement.rank >= best.rank:
                return
        passage = cut_passage(text.decode("utf-8", "replace"), self._language)
        if not passage:
            return
        candidate = Candidate(is_trained_on, len(passage) < LONG_ENOUGH, placement.rank, passage)
        if best is None or candidate < best:
            self.best = candidate


def cut_passage(text: str, language: str) -> str:
    """The part of a document that is shown.

    >>> cut_passage("Kort.  \\n", "sv")
    'Kort.'
    """
    return _cut_code(text) if language == CODE else _cut_text(text)


def _cut_text(text: str) -> str:
    """The start of a text, up to the end of a sentence where there is one, else of a word."""
    text = text.strip()
    if len(text) <= CHARACTERS:
        return text
    start = text[: CHARACTERS + 1]
    sentence_ends = [match.end() for match in re.finditer(r"[.!?…:]['\"»”)]*(?=\s)|\n", start)]
    if sentence_ends and sentence_ends[-1] >= LONG_ENOUGH:
        return start[: sentence_ends[-1]].strip()
    return start.rsplit(maxsplit=1)[0][:CHARACTERS].strip()


def _cut_code(text: str) -> str:
    """Some lines from inside a file, after its licence and imports, from an empty line on."""
    lines = text.split("\n")
    starts = [0, *(number for number, line in enumerate(lines, 1) if not line.strip() and number < len(lines))]
    start = next((number for number in starts if number >= len(lines) // 3), starts[-1])
    while start < len(lines) and not lines[start].strip():
        start += 1
    passage = ""
    for line in lines[start : start + CODE_LINES]:
        if len(passage) + len(line) > CODE_CHARACTERS:
            break
        passage += line.rstrip() + "\n"
    return passage.rstrip()
