"""Assembles a vocabulary from its parts: meta pieces at their ids, then merges, characters and whitespace runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, zip_longest
from operator import neg
from typing import TypeVar

from piecework._core import Vocabulary
from piecework.common.terms import PieceType, RunOrder
from piecework.errors import InputError
from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.schema import NORMAL, TYPE_NAMES, TYPE_NUMBERS

__all__ = ["WHITESPACE_RUNS", "VocabularyParts", "assemble", "disassemble", "whitespace_runs"]

_T = TypeVar("_T")

WHITESPACE_RUNS = tuple(SPACE * n for n in range(2, 25))


def whitespace_runs(order: RunOrder, *, first_score: float) -> list[tuple[str, float]]:
    """The whitespace runs of 2 to 24 ▁ with their scores, which start at `first_score`.

    `paper` lists ▁▁ first, and all runs have one score. `portable` lists the longest first, with falling scores: then
    runtimes that merge by id and not by score agree with SentencePiece.

    >>> [(len(run), score) for run, score in whitespace_runs("paper", first_score=-10.0)][:2]
    [(2, -10.0), (3, -10.0)]
    >>> [(len(run), score) for run, score in whitespace_runs("portable", first_score=-10.0)][:2]
    [(24, -10.0), (23, -11.0)]
    """
    if order == "paper":
        return [(run, first_score) for run in WHITESPACE_RUNS]
    return [(run, first_score - i) for i, run in enumerate(reversed(WHITESPACE_RUNS))]


@dataclass(frozen=True, slots=True)
class VocabularyParts:
    """The parts of a vocabulary, in the order in which their pieces get free ids."""

    meta: Mapping[int, tuple[str, PieceType]]
    """Special pieces, symbols and bytes by id."""
    merges: Sequence[str]
    characters: Sequence[str]
    runs: RunOrder | None
    """The order of the whitespace runs at the end; None for a vocabulary without them."""


def assemble(parts: VocabularyParts) -> tuple[Vocabulary, list[str]]:
    """The vocabulary, and the texts of its pieces. Meta pieces keep their ids, the rest fills the gaps.

    Scores are SentencePiece's: -0.0 for the first merge, then one lower each.
    """
    meta = parts.meta
    texts = [*parts.merges, *parts.characters]
    scores = list(map(neg, map(float, range(len(texts)))))
    if parts.runs is not None:
        learned = set(WHITESPACE_RUNS).intersection(texts)
        for run, score in whitespace_runs(parts.runs, first_score=-float(len(texts))):
            if run not in learned:
                texts.append(run)
                scores.append(score)
    size = len(meta) + len(texts)
    if (last := max(meta)) >= size:
        raise InputError(f"the id {last} of {meta[last][0]!r} lies outside a vocabulary of {size:,} pieces")
    texts = _with_meta(texts, {piece_id: text for piece_id, (text, _) in meta.items()})
    vocabulary = Vocabulary(
        texts,
        _with_meta(scores, dict.fromkeys(meta, 0.0)),
        _with_meta([NORMAL] * len(scores), {piece_id: TYPE_NUMBERS[kind] for piece_id, (_, kind) in meta.items()}),
    )
    return vocabulary, texts


def _with_meta(rest: list[_T], meta: Mapping[int, _T]) -> list[_T]:
    """A column of the vocabulary: meta pieces at their ids, the rest in the gaps and after the last."""
    gaps = max(meta) + 1 - len(meta)
    column = rest[:gaps]
    for piece_id in sorted(meta):
        column.insert(piece_id, meta[piece_id])
    return column + rest[gaps:]


def disassemble(vocabulary: Vocabulary, texts: Sequence[str]) -> VocabularyParts:
    """The parts from which `assemble` makes exactly this vocabulary; an InputError if there are none.

    Training makes such a vocabulary: merges, then characters, with scores that fall by one. Every merge joins two
    earlier pieces. A smaller size therefore keeps the first merges. A piece of only ▁ is a merge if it stands among the
    merges, and a whitespace run of the recipe if it follows the characters.
    """
    types = vocabulary.types
    learned = list(compress(texts, map(NORMAL.__eq__, types)))
    meta = {number: (texts[number], TYPE_NAMES[kind]) for number, kind in enumerate(types) if kind != NORMAL}
    is_character = [len(text) == 1 for text in learned]
    first = is_character.index(True) if any(is_character) else len(learned)
    last = len(learned) - is_character[::-1].index(True) if any(is_character) else len(learned)
    merges, characters, runs = learned[:first], learned[first:last], learned[last:]
    order: RunOrder | None = None
    if runs:
        order = "paper" if len(runs[0]) < len(runs[-1]) else "portable"
    parts = VocabularyParts(meta, merges, characters, order)
    if unused := [text for text, piece_type in meta.values() if piece_type == "unused"]:
        raise InputError(f"{unused[0]!r} is an unused piece, and training makes none")
    _check_parts(parts, vocabulary, texts)
    return parts


def _check_parts(parts: VocabularyParts, vocabulary: Vocabulary, texts: Sequence[str]) -> None:
    """Raise an InputError if these parts do not make the vocabulary, or a merge does not join two earlier pieces."""
    again, again_texts = assemble(parts)
    if list(texts) != again_texts or vocabulary.scores != again.scores:
        given = list(zip(texts, vocabulary.scores, strict=True))
        expected = list(zip(again_texts, again.scores, strict=True))
        pairs = enumerate(zip_longest(given, expected))
        number, piece, other = next((number, *pair) for number, pair in pairs if pair[0] != pair[1])
        found, trained = (f"{each[0]!r} with score {each[1]:g}" if each else "no piece" for each in (piece, other))
        raise InputError(f"id {number:,} has {found}, where training gives {trained}")
    unjoined = vocabulary.first_unjoined(merges=len(parts.merges), characters=len(parts.characters))
    if unjoined is not None:
        raise InputError(f"the piece {texts[unjoined]!r} does not join two earlier pieces, as every trained merge does")
