"""Edits a byte-level tokenizer so that it still works in every runtime.

A token is made by its merges. If a token is dropped, its merges go, and so do the tokens that are merged from it.
No other token needs it: the merges inside the bytes of a token are those of its own parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from piecework.common.mistakes import listed
from piecework.errors import InputError
from piecework.tokenizer.byte_characters import characters_of_bytes
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.byte_level_model import ByteLevelModel, Merge
from piecework.tokenizer.edited import Edited, WhenUnreachable
from piecework.tokenizer.pieces import SPACE

__all__ = ["edit_byte_level"]

_RESERVED = re.compile(r"<\|reserved(_special_token)?_\d+\|>")
"""Special tokens that stand for nothing yet: ours, and Llama 3's."""
_LISTED = 8


@dataclass(frozen=True, slots=True)
class _Slot:
    """An id of the edited tokenizer. `old` is the id that it had before; None for a new one."""

    token: bytes = b""
    special: str = ""
    added: str = ""
    old: int | None = None
    is_new: bool = True


def edit_byte_level(
    tokenizer: ByteLevelTokenizer,
    *,
    drop: Iterable[str],
    truncate: int | None,
    add_symbols: Sequence[str],
    add_special: Sequence[str],
    reserve: int,
    pad_to_multiple: int | None,
    keep_ids: bool,
    unreachable: WhenUnreachable,
) -> Edited[ByteLevelTokenizer]:
    """The tokenizer after these edits, in this order; `edit` explains them.

    A symbol is an added token, which is always cut out of a text. A reserved slot is a special token `<|reserved_0|>`.
    """
    model = tokenizer.model
    gone = _find(tokenizer, drop)
    if truncate is not None:
        gone |= _last_tokens(tokenizer, gone, truncate)
    lost, hidden = _made_from(model, gone), _hidden(model, gone, add_symbols)
    if unreachable == "refuse" and lost | hidden:
        raise InputError(_refusal(tokenizer, gone, lost, hidden, add_symbols))
    if unreachable == "drop":
        gone, lost, hidden = gone | lost | hidden, set(), set()
    names = _free_names(model)
    if keep_ids:
        slots = [_reserved(next(names)) if slot.old in gone else slot for slot in _slots(model)]
    else:
        slots = [slot for slot in _slots(model) if slot.old not in gone]
    slots = _with_symbols(slots, add_symbols, lambda text: _Slot(added=text))
    slots = _with_symbols(slots, add_special, lambda text: _Slot(special=text))
    slots += [_reserved(next(names)) for _ in range(reserve)]
    if pad_to_multiple is not None:
        slots += [_reserved(next(names)) for _ in range(-len(slots) % pad_to_multiple)]
    new_ids = {slot.old: number for number, slot in enumerate(slots) if slot.old is not None}
    merges = None
    frequencies = None
    if model.merges is not None:
        missing = gone | lost
        kept = [at for at, merge in enumerate(model.merges) if missing.isdisjoint(merge)]
        merges = [_renumbered(model.merges[at], new_ids) for at in kept]
        frequencies = None if tokenizer.frequencies is None else [tokenizer.frequencies[at] for at in kept]
    edited = ByteLevelModel(
        [slot.token for slot in slots],
        model.pre_tokenizer,
        {slot.special: number for number, slot in enumerate(slots) if slot.special},
        {slot.added: number for number, slot in enumerate(slots) if slot.added},
        merges,
        model.whole_pre_tokens,
        model.note,
        {name: _with_new_ids(part, new_ids) for name, part in model.file_parts.items()},
    )
    result = ByteLevelTokenizer(edited, frequencies=frequencies, source=tokenizer._source)
    return Edited(
        result,
        mapping=tuple(new_ids.get(number) for number in range(len(model.tokens))),
        added=tuple(result.pieces[number] for number, slot in enumerate(slots) if slot.is_new),
        dropped=tuple(tokenizer.pieces[number] for number in sorted(gone)),
        unreachable=tuple(result.pieces[new_ids[number]] for number in sorted(lost | hidden)),
    )


def _slots(model: ByteLevelModel) -> list[_Slot]:
    special = {number: text for text, number in model.special_tokens.items()}
    added = {number: text for text, number in model.added_tokens.items()}
    return [
        _Slot(token, special.get(number, ""), added.get(number, ""), number, is_new=False)
        for number, token in enumerate(model.tokens)
    ]


def _find(tokenizer: ByteLevelTokenizer, texts: Iterable[str]) -> set[int]:
    """The ids of the tokens to drop; bytes and special tokens are refused."""
    model = tokenizer.model
    special = {*model.special_tokens.values()}
    ids: dict[str, int] = {}
    for number, text in enumerate(tokenizer.piece_texts):
        ids.setdefault(text, number)
    found, problems = set(), []
    for text in texts:
        number = model.added_tokens.get(text, ids.get(text, ids.get(text.replace(" ", SPACE), -1)))
        if number < 0:
            problems.append(f"no token {text!r} in the vocabulary")
        elif number in special and not _RESERVED.fullmatch(text):
            problems.append(f"{text!r} (id {number}) cannot be dropped: it is a special token")
        elif len(model.tokens[number]) == 1:
            problems.append(f"{text!r} (id {number}) cannot be dropped: it is one of the 256 bytes")
        elif model.merges is None and number not in model.added_tokens.values() and number not in special:
            problems.append(
                f"{text!r} cannot be dropped: the tokenizer has ranks and no merges, and another rank could take its"
                " place; drop it from its tokenizer.json (piecework export --to hf)"
            )
        else:
            found.add(number)
    if problems:
        more = [f"and {len(problems) - _LISTED:,} more"] if len(problems) > _LISTED else []
        raise InputError("\n".join([*problems[:_LISTED], *more]))
    return found


def _last_tokens(tokenizer: ByteLevelTokenizer, gone: Collection[int], size: int) -> set[int]:
    """The tokens of the last merges, as many as have to go to leave `size` ids."""
    model = tokenizer.model
    left = len(model.tokens) - len(gone)
    if size > left:
        raise InputError(f"cannot truncate to {size:,}: only {left:,} pieces are left")
    fixed = {*model.special_tokens.values(), *model.added_tokens.values(), *gone}
    made = range(len(model.tokens)) if model.merges is None else dict.fromkeys(merged for _, _, merged in model.merges)
    last = [number for number in made if number not in fixed and len(model.tokens[number]) > 1]
    surplus = left - size
    if surplus > len(last):
        raise InputError(
            f"cannot truncate to {size:,}: special tokens, symbols and bytes alone take {left - len(last):,}"
        )
    return set(last[len(last) - surplus :])


def _made_from(model: ByteLevelModel, gone: Collection[int]) -> set[int]:
    """Other tokens that no merge makes without those in `gone`."""
    if model.merges is None or not gone:
        return set()
    made_by: dict[int, list[Merge]] = {}
    for merge in model.merges:
        made_by.setdefault(merge[2], []).append(merge)
    missing = set(gone)
    for merged, merges in sorted(made_by.items(), key=lambda each: len(model.tokens[each[0]])):  # parts come first
        if all(left in missing or right in missing for left, right, _ in merges):
            missing.add(merged)
    return missing.difference(gone)


def _hidden(model: ByteLevelModel, gone: Collection[int], symbols: Iterable[str]) -> set[int]:
    """Other tokens that have a new symbol inside: it is cut out of every text first."""
    cut_out = [text.encode() for text in symbols]
    special = {*model.special_tokens.values(), *model.added_tokens.values(), *gone}
    return {
        number
        for number, token in enumerate(model.tokens)
        if number not in special and any(text and text in token for text in cut_out)
    }


def _refusal(
    tokenizer: ByteLevelTokenizer,
    gone: Iterable[int],
    lost: Iterable[int],
    hidden: Iterable[int],
    symbols: Iterable[str],
) -> str:
    def names(numbers: Iterable[int]) -> str:
        return listed((repr(tokenizer.piece_texts[number]) for number in sorted(numbers)), most=_LISTED)

    causes = [f"without {names(gone)} no merge makes {names(lost)}"] if lost else []
    if hidden:
        causes.append(f"with the symbol {listed(map(repr, symbols), most=_LISTED)} no text encodes to {names(hidden)}")
    return f'{", and ".join(causes)}; drop them too, or keep them as they are (unreachable = "drop" or "keep")'


def _free_names(model: ByteLevelModel) -> Iterator[str]:
    taken = {*model.special_tokens, *model.added_tokens}
    number = 0
    while True:
        if (name := f"<|reserved_{number}|>") not in taken:
            yield name
        number += 1


def _reserved(name: str) -> _Slot:
    return _Slot(special=name)


def _with_symbols(slots: Sequence[_Slot], texts: Sequence[str], make: Callable[[str], _Slot]) -> list[_Slot]:
    """The symbols in the first reserved slots, then at the end."""
    placed = list(slots)
    free = [number for number, slot in enumerate(slots) if _RESERVED.fullmatch(slot.special)]
    taken = {text: number for number, slot in enumerate(slots) for text in (slot.special, slot.added) if text}
    # A tokenizer.json writes a token's bytes as characters, and cannot have a text twice.
    spelled = {characters_of_bytes(slot.token): slot.token for slot in slots if slot.token}
    for text in texts:
        if not text:
            raise InputError("a symbol is empty")
        if text in spelled:
            raise InputError(f"{text!r} cannot be a symbol: a tokenizer.json writes the token {spelled[text]!r} so")
        if text in taken and taken[text] not in free:
            raise InputError(f"{text!r} is a piece already, with id {taken[text]}; drop it first")
        number = taken[text] if text in taken else next(iter(free), len(placed))
        taken[text] = number
        if number == len(placed):
            placed.append(make(text))
        else:
            free.remove(number)
            placed[number] = replace(make(text), old=placed[number].old)
    return placed


def _renumbered(merge: Merge, new_ids: Mapping[int, int]) -> Merge:
    left, right, merged = merge
    return new_ids[left], new_ids[right], new_ids[merged]


def _with_new_ids(part: Any, new_ids: Mapping[int, int]) -> Any:
    """A part of a `tokenizer.json` with the new ids of the special tokens that it names."""
    if isinstance(part, list):
        if len(part) == 2 and isinstance(part[0], str) and isinstance(part[1], int):  # ["</s>", 2]
            return [part[0], new_ids.get(part[1], part[1])]
        return [_with_new_ids(each, new_ids) for each in part]
    if not isinstance(part, dict):
        return part
    changed = {name: _with_new_ids(each, new_ids) for name, each in part.items()}
    if isinstance(part.get("ids"), list):
        changed["ids"] = [new_ids.get(number, number) for number in part["ids"]]
    if "pad_id" in part:
        changed["pad_id"] = new_ids.get(part["pad_id"], part["pad_id"])
    return changed
