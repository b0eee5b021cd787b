"""Checks of what a tokenizer does: the text comes back, and the same text always gives the same ids."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import islice

from piecework.health.finding import Finding
from piecework.health.vocabulary_checks import Native, listed_pieces
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.hard_texts import code_texts, fuzzed_texts
from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["BEHAVIOUR_CHECKS", "sample_texts"]

FUZZED = 400
CODE_FILES = 8
_SHOWN = 40


def sample_texts(tokenizer: Native) -> list[str]:
    """Texts that are hard for a tokenizer: code, random strings of pieces, spaces, line breaks, rare characters."""
    code = list(islice(code_texts(), CODE_FILES))
    if isinstance(tokenizer, Tokenizer):
        return [*code, *fuzzed_texts(tokenizer, FUZZED)]
    rng = random.Random("byte-level texts")
    pieces = [piece.text.replace(SPACE, " ") for piece in tokenizer.pieces if piece.type == "normal"] or ["a"]
    extras = [" ", "   ", "\n", "\n\n", "\t", "\r\n", "å", "京", "😀", "\u200b", "e\u0301", "\x00", "1234", "'s"]
    return [
        *code,
        *("".join(rng.choice(extras if rng.random() < 0.4 else pieces) for _ in range(12)) for _ in range(FUZZED)),
    ]


def _round_trip(tokenizer: Native, texts: Sequence[str]) -> Finding:
    # A literal ▁ is a space in SentencePiece by design; special names in a text are not text.
    texts = [text for text in texts if SPACE not in text]
    lost = [text for text in texts if tokenizer.decode(tokenizer.encode(text)) != text]
    if not lost:
        return Finding("round-trip", "pass", "decoding gives back every text that was tried, character for character")
    example = listed_pieces([lost[0][:_SHOWN]])
    summary = f"decoding does not give back {len(lost):,} of {len(texts):,} texts, such as {example!r}"
    if reason := _known_loss(tokenizer):
        return Finding("round-trip", "warn", f"{summary}: {reason[0]}", reason[1])
    return Finding(
        "round-trip", "fail", summary, "the tokenizer loses text: do not train on it; please report the model"
    )


def _known_loss(tokenizer: Native) -> tuple[str, str] | None:
    """The setting by which a model changes text on purpose, and what to do."""
    if isinstance(tokenizer, ByteLevelTokenizer):
        return None
    normalizer, trainer = tokenizer._specs.normalizer_spec, tokenizer._specs.trainer_spec
    if normalizer.precompiled_charsmap:
        return "the model normalises text", 'train with normalization_rule_name = "identity" to keep text as it is'
    if normalizer.remove_extra_whitespaces:
        return "the model removes extra spaces", "train with remove_extra_whitespaces = false: code needs its spaces"
    if not trainer.byte_fallback:
        return "characters without a piece become unknown", "train with byte_fallback = true"
    return None


def _determinism(tokenizer: Native, texts: Sequence[str]) -> Finding:
    first = tokenizer.encode_batch(texts, threads=1)
    again = tokenizer.encode_batch(list(reversed(texts)), threads=4)[::-1]
    alone = [tokenizer.encode(text) for text in texts[:50]]
    if first == again and first[: len(alone)] == alone:
        return Finding("determinism", "pass", "the ids do not depend on threads, order or batches")
    return Finding(
        "determinism",
        "fail",
        "the same text gives different ids with other threads, another order or in a batch",
        "please report the model: this is a fault of Piecework",
    )


BEHAVIOUR_CHECKS: tuple[Callable[[Native, Sequence[str]], Finding], ...] = (_round_trip, _determinism)
