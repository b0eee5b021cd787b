"""Counts of pre-tokens and a recipe to a byte-level tokenizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from piecework import _core
from piecework.counting.pre_tokens import PreTokenCounts
from piecework.errors import InputError, RecipeError, VocabularyTooLargeError
from piecework.study.byte_level_recipe import ByteLevelRecipe
from piecework.tokenizer.byte_characters import byte_by_character, bytes_of_characters
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.byte_level_model import ByteLevelModel, Merge
from piecework.training.parity import ParityCounts

__all__ = ["train_byte_level"]


def train_byte_level(
    counts: PreTokenCounts | ParityCounts[PreTokenCounts],
    recipe: ByteLevelRecipe,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> ByteLevelTokenizer:
    """The tokenizer that Hugging Face's BpeTrainer would train on the counted text: same vocabulary, same merges.

    With counts by language, the merges are those of its ParityBpeTrainer.
    """
    parity = counts if isinstance(counts, ParityCounts) else None
    if isinstance(counts, ParityCounts):
        if any(each.pre_tokenizer != recipe.pre_tokenizer for each in counts.development.values()):
            raise RecipeError(f"development: counts of another pre-tokenizer than the recipe's {recipe.pre_tokenizer}")
        counts = counts.together
    elif recipe.parity:
        raise RecipeError("parity = true needs counts of pre-tokens by language, and development=")
    if not counts.total:
        raise InputError("there is no text to train on: the counts of pre-tokens are empty")
    if counts.pre_tokenizer != recipe.pre_tokenizer:
        raise RecipeError(
            f"the counts are of {counts.pre_tokenizer}, the recipe is for {recipe.pre_tokenizer};"
            " count again, or change the recipe"
        )
    if recipe.vocab_size < recipe.smallest_size:
        raise RecipeError(
            f"vocab_size = {recipe.vocab_size:,} is too small: special tokens and bytes alone take"
            f" {recipe.smallest_size:,}"
        )
    settings: dict[str, Any] = {
        "vocab_size": recipe.vocab_size,
        "special_tokens": recipe.special_tokens,
        "min_frequency": recipe.min_frequency,
        "max_token_length": recipe.max_token_length or 0,
        "progress": progress,
    }
    try:
        if parity is None:
            result = _core.train_byte_level(counts._table, **settings)
        else:
            result = _core.train_parity_byte_level(
                [each._table for each in parity.training.values()],
                development=[each._table for each in parity.development.values()],
                **settings,
            )
    except OverflowError as error:
        raise InputError(f"training: {error}; lower the weights") from error
    model, frequencies = _assemble(result, recipe)
    if len(model.tokens) < recipe.vocab_size and recipe.hard_vocab_limit:
        largest = len(model.tokens)
        reason = f" with min_frequency = {recipe.min_frequency}" if recipe.min_frequency else ""
        raise VocabularyTooLargeError(
            largest,
            f"vocab_size = {recipe.vocab_size:,} is too large for this text: it allows at most {largest:,}{reason};"
            " lower vocab_size, or set hard_vocab_limit = false to accept fewer pieces",
        )
    return ByteLevelTokenizer(model, frequencies=frequencies)


def _assemble(result: _core.ByteLevelTrainingResult, recipe: ByteLevelRecipe) -> tuple[ByteLevelModel, list[int]]:
    special = {token: number for number, token in enumerate(recipe.special_tokens)}
    ids = {text: number for number, text in enumerate(result.alphabet)}
    tokens = [b"" if number < len(special) else bytes_of_characters(text) for text, number in ids.items()]
    for text, number in special.items():
        if text in byte_by_character():  # it is the symbol of that byte
            tokens[number] = bytes_of_characters(text)
    merges: list[Merge] = []
    frequencies: list[int] = []
    for left, right, text, frequency in result.merges:
        merged = ids.setdefault(text, len(ids))
        spelled = bytes_of_characters(text)
        if merged == len(tokens):
            tokens.append(spelled)
        else:
            tokens[merged] = spelled
        merges.append((left, right, merged))
        frequencies.append(frequency)
    return ByteLevelModel(tokens, recipe.pre_tokenizer, special, merges=merges), frequencies
