"""Edits a vocabulary so that the model still works. An edit that would break the model is refused, with the reason.

SentencePiece has no list of merges: two neighbours merge if together they spell a piece. So if a piece is dropped, the
pieces that are merged from it can become unreachable. The file does not show this. Therefore each edit computes which
pieces some text still encodes to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import count
from typing import Any, overload

from piecework._core import Vocabulary
from piecework.common.mistakes import listed
from piecework.common.terms import PieceType, RunOrder
from piecework.errors import InputError
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.edit_byte_level import edit_byte_level
from piecework.tokenizer.edited import Edited, WhenUnreachable
from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.reachable import reachable_pieces
from piecework.tokenizer.schema import TYPE_NUMBERS
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["Edited", "WhenUnreachable", "edit"]

_LISTED = 8


@dataclass(slots=True)  # not frozen: making one for each piece would take three times as long
class _Entry:
    """A piece during the edit. `old` is the id that its slot had before the edit; None for a new slot."""

    text: str
    score: float
    type: PieceType
    old: int | None = None
    is_new: bool = True
    is_space_run: bool = False
    """A whitespace run that was added after training; one that training learned is a merge."""

    @property
    def is_merge(self) -> bool:
        return self.type == "normal" and len(self.text) > 1 and not self.is_space_run


@overload
def edit(
    tokenizer: Tokenizer,
    *,
    drop: Iterable[str] = ...,
    truncate: int | None = ...,
    whitespace_runs: tuple[int, int] | None = ...,
    run_order: RunOrder = ...,
    add_symbols: Sequence[str] = ...,
    add_special: Sequence[str] = ...,
    reserve: int = ...,
    pad_to_multiple: int | None = ...,
    keep_ids: bool = ...,
    unreachable: WhenUnreachable = ...,
) -> Edited[Tokenizer]: ...


@overload
def edit(
    tokenizer: ByteLevelTokenizer,
    *,
    drop: Iterable[str] = ...,
    truncate: int | None = ...,
    add_symbols: Sequence[str] = ...,
    add_special: Sequence[str] = ...,
    reserve: int = ...,
    pad_to_multiple: int | None = ...,
    keep_ids: bool = ...,
    unreachable: WhenUnreachable = ...,
) -> Edited[ByteLevelTokenizer]: ...


def edit(
    tokenizer: Any,
    *,
    drop: Iterable[str] = (),
    truncate: int | None = None,
    whitespace_runs: tuple[int, int] | None = None,
    run_order: RunOrder = "portable",
    add_symbols: Sequence[str] = (),
    add_special: Sequence[str] = (),
    reserve: int = 0,
    pad_to_multiple: int | None = None,
    keep_ids: bool = False,
    unreachable: WhenUnreachable = "refuse",
) -> Edited[Tokenizer] | Edited[ByteLevelTokenizer]:
    """The tokenizer after these edits, which are made in this order.

    `drop` removes pieces. `truncate` removes the last merges until that many pieces are left. With `keep_ids`, a
    removed piece leaves a reserved slot. `whitespace_runs` adds the runs of these lengths that are missing.
    `add_symbols` adds user-defined symbols, and `add_special` special pieces, in reserved slots while there are any.
    SentencePiece never finds a special piece in a text, and `transformers` treats it as a special token. `reserve` adds
    reserved slots, and `pad_to_multiple` adds them up to a multiple.

    `unreachable` says what to do with pieces that the edit makes unreachable.

    A byte-level tokenizer has no whitespace runs to add: it learns them. Its reserved slots are special tokens.

    >>> import piecework as pw
    >>> tokenizer = pw.train(pw.count_words(["abc abc ab"]), pw.Recipe(vocab_size=10))
    >>> [piece.text for piece in tokenizer.pieces[3:]]
    ['ab', '▁ab', '▁abc', 'a', 'b', '▁', 'c']
    >>> edited = edit(tokenizer, drop=["▁abc"], add_symbols=["<|sv|>"])
    >>> edited.mapping
    (0, 1, 2, 3, 4, None, 5, 6, 7, 8)
    >>> edit(tokenizer, drop=["▁ab"])
    Traceback (most recent call last):
    piecework.errors.InputError: without '▁ab' the piece '▁abc' is unreachable; drop it too, or keep it as it is \
(unreachable = "drop" or "keep")
    """
    if isinstance(tokenizer, ByteLevelTokenizer):
        if whitespace_runs is not None:
            raise InputError(
                "whitespace_runs is for SentencePiece models; a byte-level tokenizer learns runs of spaces"
            )
        return edit_byte_level(
            tokenizer,
            drop=drop,
            truncate=truncate,
            add_symbols=add_symbols,
            add_special=add_special,
            reserve=reserve,
            pad_to_multiple=pad_to_multiple,
            keep_ids=keep_ids,
            unreachable=unreachable,
        )
    entries = _entries(tokenizer)
    order: Sequence[_Entry] = entries
    gone = _find(tokenizer, drop)
    if truncate is not None:
        merges = _last_merges(entries, gone, truncate)
        if not gone and not keep_ids:
            order = _training_order(tokenizer, entries, truncate)
        gone |= merges
    while True:
        kept = _without(order, gone, keep_ids=keep_ids)
        kept += _runs(kept, whitespace_runs, run_order) if whitespace_runs else []
        kept = _with_symbols(kept, add_symbols, "user_defined")
        kept = _with_symbols(kept, add_special, "control")
        kept += _reserved(kept, reserve)
        if pad_to_multiple is not None:
            kept += _reserved(kept, -len(kept) % pad_to_multiple)
        edited = _make_tokenizer(tokenizer, kept, _scores(entries, kept))
        lost = _lost(tokenizer, edited, kept, gone)
        if not lost or unreachable == "keep":
            break
        if unreachable == "refuse":
            raise InputError(_refusal([entries[number].text for number in sorted(gone)], add_symbols, lost))
        gone |= {entry.old for _, entry in lost if entry.old is not None}
    new_ids = {entry.old: number for number, entry in enumerate(kept) if entry.old is not None}
    return Edited(
        edited,
        mapping=tuple(map(new_ids.get, range(tokenizer.vocab_size))),
        added=tuple(edited.pieces[number] for number, entry in enumerate(kept) if entry.is_new),
        dropped=tuple(tokenizer.pieces[number] for number in sorted(gone)),
        unreachable=tuple(edited.pieces[number] for number, _ in lost),
    )


def _entries(tokenizer: Tokenizer) -> list[_Entry]:
    """The pieces. A piece of ▁ alone is a merge only if training learned it, which shows in its id and score."""
    learned: frozenset[str] = frozenset()
    if tokenizer._is_as_trained:
        learned = frozenset(tokenizer._parts.merges)
    columns = zip(tokenizer._texts, tokenizer._vocabulary.scores, tokenizer._types, tokenizer._groups, strict=True)
    return [
        _Entry(text, score, kind, number, False, group == "whitespace" and text not in learned)
        for number, (text, score, kind, group) in enumerate(columns)
    ]


def _find(tokenizer: Tokenizer, texts: Iterable[str]) -> set[int]:
    """The ids of the pieces to drop; a piece that every model needs is refused."""
    found, problems = set(), []
    special = {"unknown": "the unknown piece", "control": "a special piece", "byte": "one of the 256 bytes"}
    for text in texts:
        number = tokenizer.piece_to_id(text)
        if number is None:
            number = tokenizer.piece_to_id(text.replace(" ", SPACE))
        if number is None:
            problems.append(f"no piece {text!r} in the vocabulary")
            continue
        piece = tokenizer.pieces[number]
        if piece.type in special and piece.text not in tokenizer._specs.trainer_spec.control_symbols:
            problems.append(f"{text!r} (id {piece.id}) cannot be dropped: it is {special[piece.type]}")
        else:
            found.add(piece.id)
    if problems:
        more = [f"and {len(problems) - _LISTED:,} more"] if len(problems) > _LISTED else []
        raise InputError("\n".join([*problems[:_LISTED], *more]))
    return found


def _last_merges(entries: Sequence[_Entry], gone: set[int], size: int) -> set[int]:
    """The merges with the lowest scores, as many as have to go to leave `size` pieces."""
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


def _training_order(tokenizer: Tokenizer, entries: Sequence[_Entry], size: int) -> Sequence[_Entry]:
    """The pieces in the order that training at that size gives them, then the others.

    Special pieces have fixed ids, so with fewer merges they can be between other pieces than before. A vocabulary that
    training cannot have made stays in its order.
    """
    if not tokenizer._is_as_trained:
        return entries
    by_text = {entry.text: entry for entry in entries}
    kept = dict.fromkeys(tokenizer.resize(size)._texts)
    return [*(by_text[text] for text in kept), *(entry for entry in entries if entry.text not in kept)]


def _without(entries: Sequence[_Entry], gone: set[int], *, keep_ids: bool) -> list[_Entry]:
    if not keep_ids:
        return [entry for entry in entries if entry.old not in gone]
    names = _free_names(entries)
    return [_Entry(next(names), 0.0, "unused") if entry.old in gone else entry for entry in entries]


def _runs(entries: Sequence[_Entry], lengths: tuple[int, int], order: RunOrder) -> list[_Entry]:
    """The missing runs, with scores below all others; `whitespace_runs` in assembly.py explains the two orders."""
    first, last = lengths
    if not 2 <= first <= last <= 512:
        raise InputError(f"whitespace runs of {first} to {last} ▁: give lengths of at least 2, the shorter first")
    texts = {entry.text for entry in entries if entry.type == "normal"}
    if SPACE not in texts:
        raise InputError("whitespace runs are merged from the piece ▁, and the vocabulary has none")
    below = min(entry.score for entry in entries if entry.type == "normal") - 1
    missing = [SPACE * length for length in range(first, last + 1) if SPACE * length not in texts]
    if order == "paper":
        return [_Entry(run, below, "normal", is_space_run=True) for run in missing]
    runs = enumerate(reversed(missing))
    return [_Entry(run, below - number, "normal", is_space_run=True) for number, run in runs]


def _with_symbols(entries: Sequence[_Entry], symbols: Sequence[str], kind: PieceType) -> list[_Entry]:
    """The symbols in the first reserved slots, then at the end."""
    if not symbols:
        return list(entries)
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
    # A slot that is reserved under the symbol's own name comes first.
    slots = sorted(
        (number for number, entry in enumerate(entries) if entry.type == "unused"),
        key=lambda number: entries[number].text not in texts,
    )
    named = {entries[number].text: number for number in slots}
    for text in texts:
        number = named.get(text, slots[0] if slots else None)
        if number is None:
            placed.append(_Entry(text, 0.0, kind))
        else:
            slots.remove(number)
            placed[number] = _Entry(text, 0.0, kind, entries[number].old)
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


def _make_tokenizer(tokenizer: Tokenizer, entries: Sequence[_Entry], scores: list[float]) -> Tokenizer:
    """The tokenizer with these pieces, and with a trainer_spec that agrees with them."""
    texts = [entry.text for entry in entries]
    types = [TYPE_NUMBERS[entry.type] for entry in entries]
    vocabulary = Vocabulary(texts, scores, types)
    specs = deepcopy(tokenizer._specs)
    specs.ClearField("self_test_data")  # samples of the ids before the edit
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
        added = {entry.text for entry in entries if entry.is_new}
        new = [text for text in present if (kind == "user_defined" or text in added) and text not in kept]
        del symbols[:]
        symbols.extend([*kept, *new])
    return Tokenizer(vocabulary, specs, texts=texts)


def _scores(before: Sequence[_Entry], entries: Sequence[_Entry]) -> list[float]:
    """Scores that fall by one, as training gives them, if the model had such scores; otherwise unchanged ones.

    Then a truncated model is, to the byte, the model that training at that size gives.
    """
    learned = [entry.score for entry in before if _is_learned(entry)]
    if learned != [-float(number) for number in range(len(learned))]:
        return [entry.score for entry in entries]
    shift = len(learned) - sum(map(_is_learned, entries))
    ranks = count()
    return [
        -float(next(ranks)) if _is_learned(entry) else entry.score + shift if entry.is_space_run else entry.score
        for entry in entries
    ]


def _is_learned(entry: _Entry) -> bool:
    return entry.type == "normal" and not entry.is_space_run


def _lost(
    tokenizer: Tokenizer, edited: Tokenizer, entries: Sequence[_Entry], gone: set[int]
) -> list[tuple[int, _Entry]]:
    """Kept pieces that were reachable before the edit and are not now, with their new ids."""
    before, after = reachable_pieces(tokenizer), reachable_pieces(edited)
    # SentencePiece still merges a character that is no piece itself; other runtimes cannot.
    characters = {tokenizer.pieces[number].text for number in gone if len(tokenizer.pieces[number].text) == 1}
    lost = []
    for number, entry in enumerate(entries):
        was_reachable = entry.old is None or before[entry.old]
        if entry.type == "normal" and was_reachable and (not after[number] or not characters.isdisjoint(entry.text)):
            lost.append((number, entry))
    return lost


def _refusal(gone: list[str], symbols: Sequence[str], lost: list[tuple[int, _Entry]]) -> str:
    texts = [entry.text for _, entry in lost]
    causes = [f"without {_list(gone)}"] if gone else []
    causes += [f"with the symbol {_list(symbols)}"] if symbols else []
    cause = " and ".join(causes) or "in this vocabulary"
    if len(texts) == 1:
        fix = 'drop it too, or keep it as it is (unreachable = "drop" or "keep")'
        return f"{cause} the piece {texts[0]!r} is unreachable; {fix}"
    return (
        f"{cause} the pieces {_list(texts)} are unreachable; drop them too, or keep them as they are"
        ' (unreachable = "drop" or "keep")'
    )


def _list(texts: Sequence[str]) -> str:
    return listed(map(repr, texts), most=_LISTED)
