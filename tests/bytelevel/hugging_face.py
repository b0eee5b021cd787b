"""Hugging Face's trainer, set up as Recipe.byte_level describes it: the oracle of byte-level training."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

import piecework as pw


def hf_pre_tokenizer(pre_tokenizer: pw.PreTokenizer) -> pre_tokenizers.PreTokenizer:
    if pre_tokenizer == pw.PreTokenizer("gpt2"):
        return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in pre_tokenizer.patterns]
    return pre_tokenizers.Sequence([*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def hf_train(texts: Iterable[str] | list[Path], recipe: pw.ByteLevelRecipe) -> Tokenizer:
    """Trains on texts, or on files: then each line is a text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = hf_pre_tokenizer(recipe.pre_tokenizer)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=recipe.vocab_size,
        min_frequency=recipe.min_frequency,
        max_token_length=recipe.max_token_length,
        special_tokens=list(recipe.special_tokens),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    if isinstance(texts, list) and texts and isinstance(texts[0], Path):
        tokenizer.train(list(map(str, texts)), trainer)
    else:
        tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def saved_bytes(tokenizer: Tokenizer, folder: Path) -> bytes:
    path = folder / "oracle.json"
    tokenizer.save(str(path))
    return path.read_bytes()
