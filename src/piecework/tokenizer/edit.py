"""Changes to a vocabulary that leave a model which works: what cannot be done safely is refused, with the reason.

SentencePiece has no list of merges: a piece comes about when two neighbours happen to spell it. So taking one piece
away can put others out of reach, those that were put together from it, and nothing in the file would tell. Every edit
is therefore followed by a look at which pieces some text can still bring forth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Literal

from piecework._core import Vocabulary
from piecework.common.terms import PieceType, RunOrder
from piecework.errors import InputError
from piecework.tokenizer.pieces import SPACE, Piece
from piecework.tokenizer.reachable import reachable_pieces
from piecework.tokenizer.schema import TYPE_NUMBERS
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["Edited", "WhenUnreachable", "edit"]

WhenUnreachable = Literal["refuse", "keep", "drop"]

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Edited:
    """An edited tokenizer, and what became of each piece."""

    tokenizer: Tokenizer
    mapping: tuple[int | None, ...]
    """The new id of each old one; None for a piece that is gone."""
    added: tuple[Piece, ...]
    dropped: tuple[Piece, ...]
    """The pieces that are gone, with their old ids."""
    unreachable: tuple[Piece, ...]
    """Pieces that no text leads to any more, with their new ids; only where they were to be kept."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A piece on its way: `old` is the id before the edit of what stood in its place, none at a new place."""

    text: str
    score: float
    type: PieceType
    old: int | None = None
    is_new: bool = True

    @property
    def is_merge(self) -> bool:
        return self.type == "normal" and len(self.text) > 1 and self.text.strip(SPACE) != ""


def edit(
    tokenizer: Tokenizer,
    *,
    drop: Iterable[str] = (),
    truncate: int | None = None,
    whitespace_runs: tuple[int, int] | None = None,
    run_order: RunOrder = "portable",
    add_symbols: Sequence[str] = (),
    reserve: int = 0,
    pad_to_multiple: int | None = None,
    keep_ids: bool = False,
    unreachable: WhenUnreachable = "refuse",
) -> Edited:
    """The tokenizer after these edits, made in this order.

    `drop` takes pieces away, and `truncate` the last merges until so many pieces are left; with `keep_ids` a reserved
    place is left where a piece was. `whitespace_runs` adds the runs of so many ▁ that are missing. `add_symbols` adds
    user-defined symbols, in reserved places as long as there are some. `reserve` adds unused places,
    `pad_to_multiple` as many as it takes.

    `unreachable` says what to do if other pieces depend on those that are dropped.

    >>> import piecework as pw
    >>> tokenizer = pw.train(pw.count_words(["abc abc ab"]), pw.Recipe(vocab_size=10))
    >>> [piece.text for piece in tokenizer.pieces[3:]]
    ['ab', '▁ab', '▁abc', 'a', 'b', '▁', 'c']
    >>> edited = edit(tokenizer, drop=["▁abc"], add_symbols=["<|sv|>"])
    >>> edited.mapping
    (0, 1, 2, 3, 4, None, 5, 6, 7, 8)
    >>> edit(tokenizer, drop=["▁ab"])
    Traceback (most recent call last):
    piecework.errors.InputError: without '▁ab' no text leads to '▁abc' any more; drop it too, or keep it as it is \
(unreachable = "drop" or "keep")
    """
    entries = [_Entry(piece.text, piece.score, piece.type, piece.id, is_new=False) for piece in tokenizer.pieces]
    gone = _find(tokenizer, drop)
    if truncate is not None:
        gone |= _last_merges(entries, gone, truncate)
    while True:
        kept = _without(entries, gone, keep_ids=keep_ids)
        kept += _runs(kept, whitespace_runs, run_order) if whitespace_runs else []
        kept = _with_symbols(kept, add_symbols)
        kept += _reserved(kept, reserve)
        if pad_to_multiple is not None:
            kept += _reserved(kept, -len(kept) % pad_to_multiple)
        edited = _make_tokenizer(tokenizer, kept)
        lost = _lost(tokenizer, edited, kept, gone)
        if not lost or unreachable == "keep":
            break
        if unreachable == "refuse":
            raise InputError(_refusal([entries[number].text for number in sorted(gone)], add_symbols, lost))
        gone |= {entry.old for _, entry in lost if entry.old is not None}
    new_ids = {entry.old: number for number, entry in enumerate(kept) if entry.old is not None}
    return Edited(
        edited,
        mapping=tuple(new_ids.get(piece.id) for piece in tokenizer.pieces),
        added=tuple(piece for piece, entry in zip(edited.pieces, kept, strict=True) if entry.is_new),
        dropped=tuple(tokenizer.pieces[number] for number in sorted(gone)),
        unreachable=tuple(edited.pieces[number] for number, _ in lost),
    )


def _find(tokenizer: Tokenizer, texts: Iterable[str]) -> set[int]:
    """The ids of the pieces to drop; what no model can do without is refused."""
    ids = {piece.text: piece for piece in tokenizer.pieces}
    found, problems = set(), []
    special = {"unknown": "the unknown piece", "control": "a special piece", "byte": "one of the 256 bytes"}
    for text in texts:
        piece = ids.get(text) or ids.get(text.replace(" ", SPACE))
        if piece is None:
            problems.append(f"no piece {text!r} in the vocabulary")
        elif piece.type in special and piece.text not in tokenizer._specs.trainer_spec.control_symbols:
            problems.append(f"{text!r} (id {piece.id}) cannot be dropped: it is {special[piece.type]}")
        else:
            found.add(piece.id)
    if problems:
        more = [f"and {len(problems) - _SHOWN:,} more"] if len(problems) > _SHOWN else []
        raise InputError("\n".join([*problems[:_SHOWN], *more]))
    return found


def _last_merges(entries: Sequence[_Entry], gone: set[int], size: int) -> set[int]:
    """The merges of lowest score, so many that `size` pieces are left."""
    left = [number for number in range(len(entries)) if number not in gone]
    merges = sorted((number for number in left if entries[number].is_merge), key=lambda number: entries[number].score)
    surplus = len(left) - size
    if surplus < 0:
        raise InputError(f"cannot truncate to {size:,}: only {len(left):,} pieces are left")
    if surplus > len(merges):
        raise InputError(
            f"cannot truncate to {size:,}: special pieces, symbols, bytes, characters and whitespace runs alone take"
            f" {len(left) - len(merges):,}"
        )
    return set(merges[:surplus])


def _without(entries: Sequence[_Entry], gone: set[int], *, keep_ids: bool) -> list[_Entry]:
    if not keep_ids:
        return [entry for number, entry in enumerate(entries) if number not in gone]
    names = _free_names(entries)
    return [_Entry(next(names), 0.0, "unused") if number in gone else entry for number, entry in enumerate(entries)]


def _runs(entries: Sequence[_Entry], lengths: tuple[int, int], order: RunOrder) -> list[_Entry]:
    """The runs that are missing, below all others; see `whitespace_runs` in assembly.py for the two orders."""
    first, last = lengths
    if not 2 <= first <= last <= 512:
        raise InputError(f"whitespace runs of {first} to {last} ▁: give lengths of at least 2, the shorter first")
    texts = {entry.text for entry in entries if entry.type == "normal"}
    if SPACE not in texts:
        raise InputError("whitespace runs need the piece ▁ to grow from, and the vocabulary has none")
    below = min(entry.score for entry in entries if entry.type == "normal") - 1
    missing = [SPACE * length for length in range(first, last + 1) if SPACE * length not in texts]
    if order == "paper":
        return [_Entry(run, below, "normal") for run in missing]
    return [_Entry(run, below - number, "normal") for number, run in enumerate(reversed(missing))]


def _with_symbols(entries: Sequence[_Entry], symbols: Sequence[str]) -> list[_Entry]:
    """The symbols in the first reserved places, and after the end."""
    texts = [symbol.replace(" ", SPACE) for symbol in symbols]
    taken = {entry.text: number for number, entry in enumerate(entries) if entry.type != "unused"}
    for text in texts:
        if not text or "\0" in text:
            raise InputError(f"the symbol {text!r} is empty or has a NUL, which a model cannot hold")
        if text in taken:
            raise InputError(f"{text!r} is a piece already, with id {taken[text]}; drop it first")
    if len(set(texts)) < len(texts):
        raise InputError(f"the symbol {max(texts, key=texts.count)!r} is given twice")
    placed = list(entries)
    # A place that is reserved under the very name is the one that is meant.
    places = sorted(
        (number for number, entry in enumerate(entries) if entry.type == "unused"),
        key=lambda number: entries[number].text not in texts,
    )
    named = {entries[number].text: number for number in places}
    for text in texts:
        number = named.get(text, places[0] if places else None)
        if number is None:
            placed.append(_Entry(text, 0.0, "user_defined"))
        else:
            places.remove(number)
            placed[number] = _Entry(text, 0.0, "user_defined", entries[number].old)
    return placed


def _reserved(entries: Sequence[_Entry], count: int) -> list[_Entry]:
    names = _free_names(entries)
    return [_Entry(next(names), 0.0, "unused") for _ in range(count)]


def _free_names(entries: Sequence[_Entry]) -> Iterator[str]:
    taken = {entry.text for entry in entries}
    number = 0
    while True:
        if (name := f"<|reserved_{number}|>") not in taken:
            yield name
        number += 1


def _make_tokenizer(tokenizer: Tokenizer, entries: Sequence[_Entry]) -> Tokenizer:
    """The tokenizer with these pieces, and with a trainer_spec that agrees with them."""
    texts = [entry.text for entry in entries]
    types = [TYPE_NUMBERS[entry.type] for entry in entries]
    vocabulary = Vocabulary(texts, _scores(tokenizer, entries), types)
    specs = deepcopy(tokenizer._specs)
    trainer = specs.trainer_spec
    trainer.vocab_size = len(entries)
    ids = {text: number for number, text in enumerate(texts)}
    for name in ("unk", "bos", "eos", "pad"):
        piece_text = getattr(trainer, f"{name}_piece")
        if trainer.HasField(f"{name}_id") and getattr(trainer, f"{name}_id") >= 0 and piece_text in ids:
            setattr(trainer, f"{name}_id", ids[piece_text])
    for kind, symbols in (("control", trainer.control_symbols), ("user_defined", trainer.user_defined_symbols)):
        present = [entry.text for entry in entries if entry.type == kind]
        kept = [text for text in symbols if text in present]
        new = [text for text in present if kind == "user_defined" and text not in kept]
        del symbols[:]
        symbols.extend([*kept, *new])
    return Tokenizer(vocabulary, specs, texts=texts)


def _scores(tokenizer: Tokenizer, entries: Sequence[_Entry]) -> list[float]:
    """SentencePiece's own scores, one lower each, where the model has them and only lost pieces; else as they were.

    So that a truncated model is to the byte the one that training at that size would give.
    """
    learnt = [piece.score for piece in tokenizer.pieces if piece.group in ("regular", "character")]
    if learnt != [-float(number) for number in range(len(learnt))]:
        return [entry.score for entry in entries]
    scores: list[float] = []
    count = sum(entry.type == "normal" and (len(entry.text) == 1 or entry.is_merge) for entry in entries)
    lowered = len(learnt) - count
    place = 0
    for entry in entries:
        if entry.type != "normal":
            scores.append(entry.score)
        elif len(entry.text) == 1 or entry.is_merge:
            scores.append(-float(place))
            place += 1
        else:
            scores.append(entry.score + lowered)
    return scores


def _lost(
    tokenizer: Tokenizer, edited: Tokenizer, entries: Sequence[_Entry], gone: set[int]
) -> list[tuple[int, _Entry]]:
    """Kept pieces that could be reached before and cannot be now, by their new ids."""
    before, after = reachable_pieces(tokenizer), reachable_pieces(edited)
    # SentencePiece would still merge over a character that is no piece of its own; other runtimes cannot.
    characters = {tokenizer.pieces[number].text for number in gone if len(tokenizer.pieces[number].text) == 1}
    lost = []
    for number, entry in enumerate(entries):
        could = entry.old is None or before[entry.old]
        if entry.type == "normal" and could and (not after[number] or characters & set(entry.text)):
            lost.append((number, entry))
    return lost


def _refusal(gone: list[str], symbols: Sequence[str], lost: list[tuple[int, _Entry]]) -> str:
    texts = [entry.text for _, entry in lost]
    causes = [f"without {_list(gone)}"] if gone else []
    causes += [f"with the symbol {_list(symbols)}"] if symbols else []
    cause = " and ".join(causes) or "in this vocabulary"
    many = len(texts) > 1
    return (
        f"{cause} no text leads to {_list(texts)} any more; drop {'them' if many else 'it'} too, or keep"
        f' {"them as they are" if many else "it as it is"} (unreachable = "drop" or "keep")'
    )


def _list(texts: Sequence[str]) -> str:
    shown = ", ".join(map(repr, texts[:_SHOWN]))
    return shown + (f" and {len(texts) - _SHOWN:,} more" if len(texts) > _SHOWN else "")
