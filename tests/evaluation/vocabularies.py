"""Tokenizers with vocabularies made by hand."""

from collections.abc import Sequence

import piecework as pw
from piecework.common.terms import RunOrder
from piecework.tokenizer.assembly import assemble
from piecework.tokenizer.schema import new_model


def tokenizer_of(merges: Sequence[str], characters: str, runs: RunOrder | None = "paper") -> pw.Tokenizer:
    """A tokenizer with these merges in this order, these characters, all bytes, and whitespace runs."""
    model = new_model()
    model.normalizer_spec.remove_extra_whitespaces = False
    model.trainer_spec.byte_fallback = True
    model.trainer_spec.split_digits = True
    meta = pw.Recipe(byte_fallback=True).meta_pieces()
    assemble(model, meta=meta, merges=merges, characters=list(characters), runs=runs)
    return pw.Tokenizer.from_bytes(model.SerializeToString())
