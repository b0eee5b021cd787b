"""Extends a SentencePiece BPE model on counts of words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from math import isfinite
from typing import Any

import numpy as np

from piecework import _core
from piecework.counting.words import WordCounts
from piecework.errors import InputError, ModelError
from piecework.study.normalization import Normalization, describe_normalization
from piecework.tokenizer.schema import NORMAL, TYPE_NUMBERS
from piecework.tokenizer.tokenizer import Tokenizer
from piecework.training.new_piece import Extended, NewPiece, expand

__all__ = ["check_extendable", "extend_words", "falling_scores", "model_normalization", "word_usage"]

_BOUNDARY = 0x1F  # SentencePiece 0.2.3's mark for a meta piece
_IN_MERGING = (TYPE_NUMBERS["normal"], TYPE_NUMBERS["unused"], TYPE_NUMBERS["user_defined"])


def extend_words(
    tokenizer: Tokenizer,
    counts: WordCounts,
    *,
    add: int,
    minimum_frequency: int,
    character_coverage: float | None,
    freed: Sequence[int] = (),
    progress: Callable[[int, int], None] | None,
) -> Extended[Tokenizer]:
    """The tokenizer with `add` more pieces; those in `freed` lose their ids to new ones."""
    check_extendable(tokenizer)
    _check_counts(tokenizer, counts)
    trainer = tokenizer._specs.trainer_spec
    types = tokenizer._vocabulary.types
    try:
        result = _core.extend(
            tokenizer._encoder,
            counts._table,
            wanted=min(add, (1 << 63) - 1),
            minimum_frequency=minimum_frequency,
            character_coverage=trainer.character_coverage if character_coverage is None else character_coverage,
            max_sentencepiece_length=trainer.max_sentencepiece_length,
            split_by_unicode_script=trainer.split_by_unicode_script,
            split_by_number=trainer.split_by_number,
            split_digits=trainer.split_digits,
            add_dummy_prefix=tokenizer._specs.normalizer_spec.add_dummy_prefix,
            allow_whitespace_only_pieces=trainer.allow_whitespace_only_pieces,
            boundary=_BOUNDARY,
            meta_pieces=[text for text, kind in zip(tokenizer._texts, types, strict=True) if kind != NORMAL],
            progress=progress,
        )
    except OverflowError as error:
        raise InputError(f"extending: {error}; lower the weights") from error
    size = tokenizer.vocab_size
    merges = [(left, right) for left, right, _, _ in result.merges]
    texts = [*(text for text, _ in result.characters), *(piece.decode() for _, _, piece, _ in result.merges)]
    frequencies = [*(count for _, count in result.characters), *(count for *_, count in result.merges)]
    expanded = expand(size, [_fallback(tokenizer, text) for text, _ in result.characters], merges)
    old_ids = [_joined_unknown(each, tokenizer.unk_id) for each in expanded]
    slots = [*(number for number, kind in enumerate(types) if kind == TYPE_NUMBERS["unused"]), *sorted(freed)]
    ids = [*slots[: len(texts)], *range(size, size + max(0, len(texts) - len(slots)))]
    parts: list[tuple[int, ...]] = [()] * len(result.characters)
    parts += [tuple(number if number < size else ids[number - size] for number in pair) for pair in merges]
    added = tuple(NewPiece(*each) for each in zip(ids, texts, old_ids, parts, frequencies, strict=True))
    extended = _with_pieces(tokenizer, added) if added else tokenizer
    return Extended(extended, tokenizer, added, tuple(tokenizer.pieces[number] for number in sorted(freed)))


def check_extendable(tokenizer: Tokenizer) -> None:
    """Refuse a model whose rules of merging are not those of words between spaces."""
    trainer, normalizer = tokenizer._specs.trainer_spec, tokenizer._specs.normalizer_spec
    problems = {
        "split_by_whitespace = false: its pieces reach across spaces": not trainer.split_by_whitespace,
        "treat_whitespace_as_suffix = true: ▁ ends its words": trainer.treat_whitespace_as_suffix,
        "a pretokenization_delimiter: text is cut at marks that other text lacks": trainer.pretokenization_delimiter,
        "escape_whitespaces = false: it has no ▁": not normalizer.escape_whitespaces,
    }
    for problem, found in problems.items():
        if found:
            raise ModelError(f"{tokenizer._source}: cannot be extended, because it was trained with {problem}")
    scores = [
        s
        for s, kind in zip(tokenizer._vocabulary.scores, tokenizer._vocabulary.types, strict=True)
        if kind in _IN_MERGING
    ]
    if not scores or not all(map(isfinite, scores)):
        raise ModelError(f"{tokenizer._source}: cannot be extended, because a score is not a finite number")


def model_normalization(tokenizer: Tokenizer) -> Normalization:
    """How the model normalises text, as counts record it."""
    spec = tokenizer._specs.normalizer_spec
    return Normalization(spec.name, spec.precompiled_charsmap, spec.remove_extra_whitespaces)


def _check_counts(tokenizer: Tokenizer, counts: WordCounts) -> None:
    wanted = model_normalization(tokenizer).settings()
    if counts.normalization != wanted:
        raise InputError(
            f"the model has {describe_normalization(wanted)}, and the counts are of text with"
            f" {describe_normalization(counts.normalization)}; count the text again with the model's normalisation"
        )
    if counts.split == "lines":
        raise InputError("these are counts of lines, and the model merges inside words: count words")


def _fallback(tokenizer: Tokenizer, character: str) -> tuple[int, ...]:
    """The tokens of a character that is no piece."""
    if not tokenizer._specs.trainer_spec.byte_fallback:
        return (tokenizer.unk_id,)
    return tuple(tokenizer._ids[f"<0x{byte:02X}>"] for byte in character.encode())


def _joined_unknown(ids: Sequence[int], unknown: int) -> tuple[int, ...]:
    """The ids, with one unknown token in place of several neighbouring ones, as encoding gives them."""
    return tuple(number for at, number in enumerate(ids) if number != unknown or not at or ids[at - 1] != unknown)


def _with_pieces(tokenizer: Tokenizer, added: Sequence[NewPiece]) -> Tokenizer:
    texts, types = list(tokenizer._texts), list(tokenizer._vocabulary.types)
    scores: list[float] = list(tokenizer._vocabulary.scores)
    lowest = min(score for score, kind in zip(scores, types, strict=True) if kind in _IN_MERGING)
    for piece, score in zip(added, falling_scores(lowest, len(added)), strict=True):
        if piece.id == len(texts):
            texts.append("")
            scores.append(0.0)
            types.append(NORMAL)
        texts[piece.id], scores[piece.id], types[piece.id] = piece.text, score, NORMAL
    specs: Any = deepcopy(tokenizer._specs)
    specs.ClearField("self_test_data")  # samples with the ids of the old tokenizer
    specs.trainer_spec.vocab_size = len(texts)
    extended = Tokenizer(_core.Vocabulary(texts, scores, types), specs, texts=texts)
    extended.extended_from = tokenizer.vocab_size
    return extended


def falling_scores(below: float, count: int) -> list[float]:
    """`count` scores below the given one, each lower than the one before also in float32, which models store.

    >>> falling_scores(-7.0, 2)
    [-8.0, -9.0]
    >>> falling_scores(-20_000_000.0, 2)
    [-20000002.0, -20000004.0]
    """
    scores: list[float] = []
    score = np.float32(below)
    for _ in range(count):
        # Above 2**24 float32 does not have every whole number.
        lower = np.float32(float(score) - 1)
        score = lower if lower < score else np.nextafter(score, np.float32("-inf"))
        if not np.isfinite(score):
            raise ModelError(f"the lowest score is {below:g}, and float32 has no {count:,} numbers below it")
        scores.append(float(score))
    return scores


def word_usage(tokenizer: Tokenizer, counts: WordCounts) -> Any:
    """How often each piece is a token of the counted words, by id."""
    _check_counts(tokenizer, counts)
    prefix = tokenizer._specs.normalizer_spec.add_dummy_prefix
    return _core.piece_usage(tokenizer._encoder, counts._table, add_dummy_prefix=prefix)
