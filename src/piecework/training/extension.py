"""Extends an existing tokenizer: continues BPE training from its merges, on the counts of new text."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, overload

from piecework.counting.pre_tokens import PreTokenCounts, count_pre_tokens
from piecework.counting.words import WordCounts, count_words
from piecework.errors import InputError, ModelError
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.tokenizer import Tokenizer
from piecework.training.extend_byte_level import extend_byte_level, pre_token_usage
from piecework.training.extend_words import check_extendable, extend_words, model_normalization, word_usage
from piecework.training.freed_pieces import freed_pieces
from piecework.training.new_piece import Extended

__all__ = ["count_for", "extend", "refusal"]

Progress = Callable[[int, int], None]


@overload
def extend(
    tokenizer: Tokenizer,
    texts_or_counts: Any,
    *,
    add: int,
    minimum_frequency: int = ...,
    character_coverage: float | None = ...,
    pad_to_multiple: int | None = ...,
    replace: bool = ...,
    usage: Any = ...,
    threads: int = ...,
    progress: Progress | None = ...,
) -> Extended[Tokenizer]: ...


@overload
def extend(
    tokenizer: ByteLevelTokenizer,
    texts_or_counts: Any,
    *,
    add: int,
    minimum_frequency: int = ...,
    first_id: int | None = ...,
    pad_to_multiple: int | None = ...,
    replace: bool = ...,
    usage: Any = ...,
    threads: int = ...,
    progress: Progress | None = ...,
) -> Extended[ByteLevelTokenizer]: ...


def extend(
    tokenizer: Any,
    texts_or_counts: Any,
    *,
    add: int,
    minimum_frequency: int = 1,
    character_coverage: float | None = None,
    first_id: int | None = None,
    pad_to_multiple: int | None = None,
    replace: bool = False,
    usage: Any = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Extended[Tokenizer] | Extended[ByteLevelTokenizer]:
    """The tokenizer with `add` more pieces, learned from texts or from their counts; old pieces keep their ids.

    Training continues where the old tokenizer stops: text is cut into the old tokens, and the most frequent neighbours
    are merged. Old merges come first, so text in which no new piece occurs is cut as before. Pairs that occur less
    often than `minimum_frequency` are not merged, so there can be fewer new pieces.

    A SentencePiece model gets the characters that it lacks first, as many as `character_coverage` asks for; by default
    that is the coverage that it was trained with. New pieces take reserved ids first (unused pieces). New ids of a
    byte-level tokenizer start at `first_id`, if its special tokens take ids that the file does not show.
    `pad_to_multiple` adds further pieces until the size is a multiple.

    With `replace` the size stays: new pieces take the ids of the old pieces that are least used, of those that no kept
    merge needs. `usage` has the texts or counts on which use is counted; by default it is the training text. So give
    text of every language that matters.

    >>> import piecework as pw
    >>> old = pw.train(["ein Haus und ein Hof"], vocab_size=24)
    >>> extended = pw.extend(old, ["und hier ein und da ein und"], add=5)
    >>> [(piece.id, piece.text, piece.old_ids) for piece in extended.added]
    [(24, 'h', (0,)), (25, 'r', (0,)), (26, '▁und', (10, 8)), (27, 'da', (20, 19)), (28, 'er', (16, 0))]
    """
    if add < 0:
        raise InputError(f"the number of pieces to add must be 0 or more, not {add:,}")
    if not isinstance(tokenizer, Tokenizer | ByteLevelTokenizer):
        raise ModelError(refusal(tokenizer))
    if replace and pad_to_multiple is not None:
        raise InputError("with replace the size stays, so that there is nothing to pad")
    if pad_to_multiple is not None:
        if pad_to_multiple < 1:
            raise InputError(f"pad_to_multiple must be 1 or more, not {pad_to_multiple}")
        add += -((first_id or tokenizer.vocab_size) + add) % pad_to_multiple
    counts = count_for(tokenizer, texts_or_counts, threads=threads)
    if isinstance(tokenizer, Tokenizer):
        if first_id is not None:
            raise InputError("first_id is for byte-level tokenizers; a SentencePiece model shows all its ids")
        words = partial(
            extend_words,
            tokenizer,
            counts,
            add=add,
            minimum_frequency=minimum_frequency,
            character_coverage=character_coverage,
            progress=progress,
        )
        grown = words()
        if not replace or not grown.added:
            return grown
        used = word_usage(grown.tokenizer, counts if usage is None else count_for(tokenizer, usage, threads=threads))
        return words(freed=_freed(grown, used))
    if character_coverage is not None:
        raise InputError("character_coverage is for SentencePiece models; a byte-level tokenizer has all bytes")
    tokens = partial(
        extend_byte_level,
        tokenizer,
        counts,
        add=add,
        minimum_frequency=minimum_frequency,
        first_id=first_id,
        progress=progress,
    )
    longer = tokens()
    if not replace or not longer.added:
        return longer
    used = pre_token_usage(longer.tokenizer, counts if usage is None else count_for(tokenizer, usage, threads=threads))
    return tokens(freed=_freed(longer, used))


def _freed(grown: Extended[Any], used: Any) -> list[int]:
    """The old ids that new pieces take, after reserved ones."""
    size = grown.base.vocab_size
    new = {piece.id for piece in grown.added}
    return freed_pieces(grown.tokenizer, used, count=sum(number >= size for number in new), keep=new)


def count_for(tokenizer: Tokenizer | ByteLevelTokenizer, texts_or_counts: Any, *, threads: int = 1) -> Any:
    """The counts that extending the tokenizer needs: those that are given, or of the texts."""
    if isinstance(tokenizer, ByteLevelTokenizer):
        if isinstance(texts_or_counts, WordCounts):
            raise InputError("a byte-level tokenizer needs counts of pre-tokens (count_pre_tokens), not of words")
        if isinstance(texts_or_counts, PreTokenCounts):
            return texts_or_counts
        return count_pre_tokens(texts_or_counts, pre_tokenizer=tokenizer.pre_tokenizer, threads=threads)
    if isinstance(texts_or_counts, PreTokenCounts):
        raise InputError("a SentencePiece model needs counts of words (count_words), not of pre-tokens")
    if isinstance(texts_or_counts, WordCounts):
        return texts_or_counts
    check_extendable(tokenizer)
    runs = tokenizer._specs.trainer_spec.allow_whitespace_only_pieces
    return count_words(
        texts_or_counts,
        threads=threads,
        normalization=model_normalization(tokenizer),
        split="space_runs" if runs else "words",
    )


def refusal(tokenizer: Any, source: str = "") -> str:
    """Why a tokenizer of another kind cannot be extended."""
    kind = getattr(tokenizer, "kind", type(tokenizer).__name__)
    return (
        f"{source or 'the tokenizer'} cannot be extended: {kind} has no merges to continue from."
        " SentencePiece BPE models and byte-level BPE (tokenizer.json, .tiktoken, tekken.json) can be extended"
    )
