"""The vocabulary and the settings of a byte-level tokenizer in short, as `inspect` shows them."""

from __future__ import annotations

from collections import Counter

from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.pieces import GROUP_ORDER, VocabularyGroup, piece_group, vocabulary_groups

__all__ = ["byte_level_groups", "byte_level_lengths", "byte_level_settings"]


def byte_level_groups(tokenizer: ByteLevelTokenizer) -> list[VocabularyGroup]:
    """The vocabulary by group. `byte` has bytes that are no character; `regular` also has parts of characters.

    >>> import piecework as pw
    >>> counts = pw.count_pre_tokens(["a rose is a rose"], pre_tokenizer="gpt2")
    >>> tokenizer = pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=260))
    >>> [(group.name, group.count) for group in byte_level_groups(tokenizer)]
    [('byte', 128), ('regular', 4), ('character', 128)]
    """
    import numpy as np

    groups = [GROUP_ORDER.index(piece_group(piece.text, piece.type)) for piece in tokenizer.pieces]
    return vocabulary_groups(tokenizer.piece_texts, np.array(groups))


def byte_level_lengths(tokenizer: ByteLevelTokenizer) -> dict[int, int]:
    """The number of tokens of each length in bytes, without special and added tokens."""
    taken = {*tokenizer.model.special_tokens.values(), *tokenizer.model.added_tokens.values()}
    lengths = (len(token) for number, token in enumerate(tokenizer.model.tokens) if token and number not in taken)
    return dict(sorted(Counter(lengths).items()))


def byte_level_settings(tokenizer: ByteLevelTokenizer) -> dict[str, object]:
    """The pre-tokenizer, special and added tokens, and how pieces are merged."""
    model = tokenizer.model
    settings: dict[str, object] = {
        "kind": tokenizer.kind,
        "pre_tokenizer": model.pre_tokenizer.name,
        **({"digits": model.pre_tokenizer.digits} if model.pre_tokenizer.digits else {}),
        "pattern": list(model.pre_tokenizer.patterns),
        "special_tokens": list(model.special_tokens),
        "added_tokens": list(model.added_tokens),
        "merges": "by rank of the token, as in tiktoken" if model.merges is None else len(model.merges),
        "ignore_merges": model.whole_pre_tokens,
        "parts_of_characters": len(tokenizer.byte_ids),
    }
    return settings | ({"note": tokenizer.note} if tokenizer.note else {})
