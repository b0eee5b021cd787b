"""Puts a vocabulary together: meta pieces at their ids, merges, characters, whitespace runs at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from piecework._core import Vocabulary
from piecework.common.terms import PieceType, RunOrder
from piecework.errors import InputError
from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.schema import NORMAL, TYPE_NAMES, TYPE_NUMBERS

__all__ = ["WHITESPACE_RUNS", "assemble", "disassemble", "whitespace_runs"]

_T = TypeVar("_T")

WHITESPACE_RUNS = tuple(SPACE * n for n in range(2, 25))


def whitespace_runs(order: RunOrder, *, first_score: float) -> list[tuple[str, float]]:
    """The runs of 2 to 24 ▁ with their scores, all below the pieces before them.

    `paper` lists ▁▁ first, all with one score. `portable` lists the longest first with falling scores, so that runtimes
    which go by id instead of score agree with SentencePiece.

    >>> [(len(run), score) for run, score in whitespace_runs("paper", first_score=-10.0)][:2]
    [(2, -10.0), (3, -10.0)]
    >>> [(len(run), score) for run, score in whitespace_runs("portable", first_score=-10.0)][:2]
    [(24, -10.0), (23, -11.0)]
    """
    if order == "paper":
        return [(run, first_score) for run in WHITESPACE_RUNS]
    return [(run, first_score - i) for i, run in enumerate(reversed(WHITESPACE_RUNS))]


def assemble(
    model: Any,
    *,
    meta: Mapping[int, tuple[str, PieceType]],
    merges: Sequence[str],
    characters: Sequence[str],
    runs: RunOrder | None,
) -> tuple[Vocabulary, list[str]]:
    """Fills the pieces of `model` and sets its `vocab_size`. Meta pieces keep their ids; the rest fills the gaps.

    Scores are SentencePiece's: -0.0 for the first merge, then one lower each. Gives back the pieces in columns, and
    their texts, so that they need not be read from the model again.
    """
    texts = [*merges, *characters]
    scores = [-float(i) for i in range(len(texts))]
    if runs is not None:
        learnt = set(WHITESPACE_RUNS).intersection(texts)
        for run, score in whitespace_runs(runs, first_score=-float(len(texts))):
            if run not in learnt:
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
    del model.pieces[:]
    model.MergeFromString(vocabulary.to_bytes())
    model.trainer_spec.vocab_size = size
    return vocabulary, texts


def _with_meta(rest: list[_T], meta: Mapping[int, _T]) -> list[_T]:
    """A column of the vocabulary: meta pieces at their ids, the rest in the gaps and after the last."""
    gaps = max(meta) + 1 - len(meta)
    column = rest[:gaps]
    for piece_id in sorted(meta):
        column.insert(piece_id, meta[piece_id])
    return column + rest[gaps:]


def disassemble(
    texts: Sequence[str], types: bytes
) -> tuple[dict[int, tuple[str, PieceType]], list[str], list[str], RunOrder | None]:
    """The parts that `assemble` would put together to the vocabulary of these columns."""
    meta: dict[int, tuple[str, PieceType]] = {}
    merges: list[str] = []
    characters: list[str] = []
    runs: list[str] = []
    for piece_id, (text, kind) in enumerate(zip(texts, types, strict=True)):
        if kind != NORMAL:
            meta[piece_id] = (text, TYPE_NAMES[kind])
        elif len(text) == 1:
            characters.append(text)
        elif not text.strip(SPACE):
            runs.append(text)
        else:
            merges.append(text)
    order: RunOrder | None = None
    if runs:
        order = "paper" if len(runs[0]) < len(runs[-1]) else "portable"
    return meta, merges, characters, order
