"""Whether a SentencePiece model encodes a unit alone as it does in its document. Evaluation on counts needs this."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from piecework.tokenizer.any_tokenizer import AnyTokenizer
from piecework.tokenizer.outside_sentencepiece import SentencePieceOther
from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["units_problem"]


def units_problem(tokenizer: AnyTokenizer) -> str | None:
    """Why the tokens of a text are not those of its units; None if they are, or for models of other libraries.

    >>> import piecework as pw
    >>> units_problem(pw.train(pw.count_words(["ha ha"]), pw.Recipe(vocab_size=8))) is None
    True
    """
    if isinstance(tokenizer, Tokenizer):
        return _problem(tokenizer._specs, tokenizer._texts)
    if isinstance(tokenizer, SentencePieceOther):
        return _problem(tokenizer.specs, tokenizer.piece_texts)
    return None


def _problem(specs: Any, pieces: Sequence[str]) -> str | None:
    trainer, normalizer = specs.trainer_spec, specs.normalizer_spec
    if trainer.treat_whitespace_as_suffix:
        return "it puts whitespace after words (treat_whitespace_as_suffix), and counted units have it before"
    if not normalizer.escape_whitespaces:
        return "it does not escape whitespace (escape_whitespaces = false)"
    if normalizer.remove_extra_whitespaces and not normalizer.add_dummy_prefix:
        return "it removes whitespace at the start of a text and adds no prefix"
    if crossing := next((piece for piece in pieces if SPACE in piece.lstrip(SPACE)), None):
        return f'its piece "{crossing}" reaches across a space'
    if not trainer.byte_fallback and SPACE not in pieces:
        return "it has no piece for a space, so unknown words side by side are one token"
    if normalizer.precompiled_charsmap and not normalizer.remove_extra_whitespaces and SPACE * 2 in pieces:
        return "its normalisation can make a space at the end of a unit, and it has pieces of several spaces"
    return None
