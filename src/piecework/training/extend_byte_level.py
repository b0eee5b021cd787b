"""Extends a byte-level tokenizer on counts of pre-tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from piecework import _core
from piecework.counting.pre_tokens import PreTokenCounts
from piecework.errors import InputError
from piecework.tokenizer.any_tokenizer import readable
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.training.new_piece import Extended, NewPiece, expand

__all__ = ["extend_byte_level", "pre_token_usage"]


def extend_byte_level(
    tokenizer: ByteLevelTokenizer,
    counts: PreTokenCounts,
    *,
    add: int,
    minimum_frequency: int,
    first_id: int | None,
    freed: Sequence[int] = (),
    progress: Callable[[int, int], None] | None,
) -> Extended[ByteLevelTokenizer]:
    """The tokenizer with `add` more tokens; those in `freed` lose their ids to new ones."""
    _check_counts(tokenizer, counts)
    model = tokenizer.model
    size = tokenizer.vocab_size
    if first_id is not None and first_id < size:
        raise InputError(f"the first new id is {first_id:,}, but the tokenizer has ids up to {size - 1:,}")
    cut_out = [text.encode() for text in (*model.special_tokens, *model.added_tokens)]
    try:
        result = _core.extend_byte_level(
            tokenizer._encoder,
            counts._table,
            tokens=list(model.tokens),
            cut_out=cut_out,
            merges_any_split=model.merges is None,
            wanted=min(add, (1 << 63) - 1),
            minimum_frequency=minimum_frequency,
            progress=progress,
        )
    except OverflowError as error:
        raise InputError(f"extending: {error}; lower the weights") from error
    if not result.merges:
        return Extended(tokenizer, tokenizer, ())
    pairs = [(left, right) for left, right, _, _ in result.merges]
    slots = [*_gaps(tokenizer), *sorted(freed)]
    start = size if first_id is None else first_id
    ids = [*slots[: len(pairs)], *range(start, start + max(0, len(pairs) - len(slots)))]
    parts = [tuple(number if number < size else ids[number - size] for number in pair) for pair in pairs]
    old_ids = expand(size, [], pairs)
    added = tuple(
        NewPiece(number, readable(token), old, new, frequency)
        for number, (_, _, token, frequency), old, new in zip(ids, result.merges, old_ids, parts, strict=True)
    )
    tokens = [*model.tokens, *[b""] * (max(size, 1 + max(ids)) - size)]
    gone = set(freed)
    for number, (_, _, token, _) in zip(ids, result.merges, strict=True):
        tokens[number] = token
    merges = None
    if model.merges is not None:
        merges = [merge for merge in model.merges if merge[2] not in gone]
        merges += [(left, right, number) for number, (left, right) in zip(ids, parts, strict=True)]
    extended = ByteLevelTokenizer(replace(model, tokens=tokens, merges=merges), source=tokenizer._source)
    extended.extended_from = size
    return Extended(extended, tokenizer, added, tuple(tokenizer.pieces[number] for number in sorted(freed)))


def _gaps(tokenizer: ByteLevelTokenizer) -> list[int]:
    """Unused ids. In a tokenizer without merges an id is a rank, and a low rank would come before old tokens."""
    model = tokenizer.model
    if model.merges is None:
        return []
    taken = {*model.special_tokens.values(), *model.added_tokens.values()}
    return [number for number, token in enumerate(model.tokens) if not token and number not in taken]


def _check_counts(tokenizer: ByteLevelTokenizer, counts: PreTokenCounts) -> None:
    if counts.pre_tokenizer != tokenizer.pre_tokenizer:
        raise InputError(
            f"the counts are of {counts.pre_tokenizer}, and the tokenizer cuts text with {tokenizer.pre_tokenizer};"
            " count the text again with the tokenizer's pre-tokenizer"
        )


def pre_token_usage(tokenizer: ByteLevelTokenizer, counts: PreTokenCounts) -> Any:
    """How often each token occurs in the counted pre-tokens, by id."""
    _check_counts(tokenizer, counts)
    return _core.byte_level_piece_usage(tokenizer._encoder, counts._table, vocab_size=tokenizer.vocab_size)
