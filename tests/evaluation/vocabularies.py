"""Tokenizers with vocabularies made by hand."""

from collections.abc import Sequence

import piecework as pw
from piecework.common.terms import RunOrder
from piecework.tokenizer.assembly import VocabularyParts, assemble
from piecework.tokenizer.schema import new_specs


def tokenizer_of(merges: Sequence[str], characters: str, runs: RunOrder | None = "paper") -> pw.Tokenizer:
    """A tokenizer with these merges in this order, these characters, all bytes, and whitespace runs."""
    specs = new_specs()
    specs.normalizer_spec.remove_extra_whitespaces = False
    specs.trainer_spec.byte_fallback = True
    specs.trainer_spec.split_digits = True
    meta = pw.Recipe(byte_fallback=True).meta_pieces()
    vocabulary, texts = assemble(VocabularyParts(meta, merges, characters, runs))
    specs.trainer_spec.vocab_size = len(texts)
    return pw.Tokenizer.from_bytes(pw.Tokenizer(vocabulary, specs).model_bytes)
