"""Word counts and a recipe to a tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, overload

from piecework import _core
from piecework.counting.pre_tokens import PreTokenCounts
from piecework.counting.stream import WordStream
from piecework.counting.words import WordCounts
from piecework.errors import InputError, RecipeError, VocabularyTooLargeError
from piecework.study.byte_level_recipe import ByteLevelRecipe
from piecework.study.normalization import Normalization, describe_normalization
from piecework.study.recipe import AnyRecipe, Recipe
from piecework.tokenizer.assembly import WHITESPACE_RUNS, VocabularyParts, assemble
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.schema import new_specs
from piecework.tokenizer.tokenizer import Tokenizer
from piecework.tokenizer.trained import TrainedTokenizer
from piecework.training.byte_level import train_byte_level
from piecework.training.parity import parity_counts
from piecework.training.texts import count_texts, count_texts_pre_tokens

__all__ = ["train", "train_any"]

Progress = Callable[[int, int], None]

_NO_LIMIT = 1 << 30  # the largest value that SentencePiece takes
_SERVES = {"words": {"words"}, "space_runs": {"words", "space_runs"}, "lines": {"words", "space_runs", "lines"}}
_NORMALIZER_FIELDS = {
    "add_dummy_prefix",
    "escape_whitespaces",
    "normalization_rule_name",
    "normalization_rule_tsv",
    "remove_extra_whitespaces",
}


@overload
def train(
    texts_or_counts: Any,
    recipe: ByteLevelRecipe,
    *,
    development: Mapping[str, Any] | None = None,
    text: str = "text",
    threads: int = 1,
    progress: Progress | None = None,
) -> ByteLevelTokenizer: ...


@overload
def train(
    texts_or_counts: Any,
    recipe: Recipe | None = None,
    *,
    development: Mapping[str, Any] | None = None,
    text: str = "text",
    threads: int = 1,
    progress: Progress | None = None,
    **settings: Any,
) -> Tokenizer: ...


def train(
    texts_or_counts: Any,
    recipe: Recipe | ByteLevelRecipe | None = None,
    *,
    development: Mapping[str, Any] | None = None,
    text: str = "text",
    threads: int = 1,
    progress: Progress | None = None,
    **settings: Any,
) -> Tokenizer | ByteLevelTokenizer:
    """The tokenizer that SentencePiece would train on the text, byte for byte.

    The text comes as word counts (`WordCounts`, or a `WordStream` that reads them from disk), or as any iterable of
    str or of records with a field `text`, such as a dataset of Hugging Face, an Arrow or a pandas table. Settings of a
    recipe can be given by name, as in `vocab_size=8000`; they replace those of `recipe`. With `Recipe.byte_level(...)`,
    texts or counts of pre-tokens give the tokenizer that Hugging Face's BpeTrainer would train.
    `progress(done, wanted)` is called from time to time with the number of merges.

    With `parity = true` in the recipe, texts or counts are by language, and so is `development`: each merge is the best
    one for the language whose development text has most tokens at that moment (parity-aware BPE).

    >>> tokenizer = train(["pojken går, pojkarna gick"], vocab_size=30)
    >>> [piece.text for piece in tokenizer.pieces[3:7]]
    ['jk', 'po', '▁g', '▁po']
    """
    if isinstance(recipe, ByteLevelRecipe) and recipe.parity and not settings:
        count = partial(_pre_tokens, recipe=recipe, text=text, threads=threads)
        return train_byte_level(parity_counts(texts_or_counts, development, count), recipe, progress=progress)
    if isinstance(recipe, ByteLevelRecipe) and not settings:
        found = _pre_tokens(texts_or_counts, recipe=recipe, text=text, threads=threads)
        return train_byte_level(found, recipe, progress=progress)
    if isinstance(recipe, ByteLevelRecipe):
        raise RecipeError(f"give {next(iter(settings))} to Recipe.byte_level(...)")
    if isinstance(texts_or_counts, PreTokenCounts):
        raise RecipeError("counts of pre-tokens need a recipe for them: Recipe.byte_level(...)")
    given = {} if recipe is None else {name: getattr(recipe, name) for name in recipe.model_fields_set}
    recipe = Recipe(**{**given, **settings}) if settings else recipe or Recipe()
    if development is not None and not recipe.parity:
        raise RecipeError("development= is for recipes with parity = true")

    def counted(source: Any) -> WordCounts:
        found = source if isinstance(source, WordCounts) else count_texts(source, recipe, text=text, threads=threads)
        _check_text(found, normalization)
        _check_counts(found, recipe)
        return found

    normalization = recipe.normalization()
    counts: WordCounts | WordStream
    parity = None
    if isinstance(texts_or_counts, WordStream):
        counts = texts_or_counts
        _check_text(counts, normalization)
        _check_counts(counts, recipe)
        if recipe.parity:
            raise RecipeError("parity = true needs the counts of each language in memory, not a stream")
    else:
        parity = parity_counts(texts_or_counts, development, counted) if recipe.parity else None
        counts = parity.together if parity else counted(texts_or_counts)
    if not (counts.rows if isinstance(counts, WordStream) else counts.total):
        raise InputError("there is no text to train on: the word counts are empty")
    meta = recipe.meta_pieces()
    reserved = len(WHITESPACE_RUNS) if recipe.whitespace_runs else 0
    try:
        result = _core.train(
            counts.tables if isinstance(counts, WordStream) else counts._table,
            vocab_size=max(recipe.vocab_size - reserved, 0),
            minimum_frequency=recipe.minimum_frequency,
            character_coverage=recipe.character_coverage,
            max_sentencepiece_length=recipe.max_sentencepiece_length,
            split_by_unicode_script=recipe.split_by_unicode_script,
            split_by_number=recipe.split_by_number,
            split_digits=recipe.split_digits,
            add_dummy_prefix=recipe.add_dummy_prefix,
            split_by_whitespace=recipe.split_by_whitespace,
            allow_whitespace_only_pieces=recipe.allow_whitespace_only_pieces,
            treat_whitespace_as_suffix=recipe.treat_whitespace_as_suffix,
            auto_character_coverage=recipe.auto_character_coverage,
            pretokenization_delimiter=recipe.pretokenization_delimiter,
            boundary=ord(recipe.boundary),
            meta_pieces=[piece for piece, _ in meta.values()],
            required_chars=recipe.required_chars,
            training=[each._table for each in parity.training.values()] if parity else [],
            development=[each._table for each in parity.development.values()] if parity else [],
            progress=progress,
        )
    except OverflowError as error:
        raise InputError(f"training: {error}; lower the weights") from error
    if not result.character_count and recipe.sentencepiece_version != "0.2.2":
        raise InputError("there is no text to train on: the lines have no character but NUL")
    frequencies = result.merge_frequencies
    merges = list(frequencies)
    characters = [character for character, _ in result.characters]
    _check_size(recipe, taken=len(meta) + len(characters) + reserved, found=len(merges))
    vocabulary, texts = assemble(VocabularyParts(meta, merges, characters, recipe.whitespace_runs))
    specs = _make_specs(recipe, normalization, vocab_size=len(texts))
    return Tokenizer(vocabulary, specs, frequencies=frequencies, texts=texts)


def _pre_tokens(source: Any, *, recipe: ByteLevelRecipe, text: str, threads: int) -> PreTokenCounts:
    """Counts of pre-tokens, or texts, as counts."""
    if isinstance(source, WordCounts | WordStream):
        raise RecipeError("Recipe.byte_level needs texts or counts of pre-tokens (count_pre_tokens), not of words")
    if isinstance(source, PreTokenCounts):
        return source
    return count_texts_pre_tokens(source, recipe, text=text, threads=threads)


def train_any(
    counts: WordCounts | WordStream | PreTokenCounts, recipe: AnyRecipe, *, progress: Progress | None = None
) -> TrainedTokenizer:
    """Trains with counts and a recipe of either kind. Counts of one kind with a recipe of the other are refused."""
    if isinstance(recipe, ByteLevelRecipe):
        if not isinstance(counts, PreTokenCounts):
            raise InputError(
                "these are counts of words, and the recipe is byte-level: count again with this recipe"
                f' (kind = "byte-level", pre_tokenizer = "{recipe.pre_tokenizer.name}" in [recipe] of the study)'
            )
        return train_byte_level(counts, recipe, progress=progress)
    if isinstance(counts, PreTokenCounts):
        raise InputError(
            f'these are counts of the pre-tokens of "{counts.pre_tokenizer.name}", and the recipe is SentencePiece\'s:'
            " count again with this recipe in the study, or train a byte-level one, such as --preset gpt4o"
        )
    return train(counts, recipe, progress=progress)


def _check_text(counts: WordCounts | WordStream, normalization: Normalization) -> None:
    """Refuse counts of text that was normalised in another way, or not at all."""
    wanted = normalization.settings()
    if counts.normalization != wanted:
        raise InputError(
            f"the recipe asks for {describe_normalization(wanted)}, and the counts are of text with"
            f" {describe_normalization(counts.normalization)}. Text is normalised before it is counted: count again"
            " with this recipe (count_words(texts, normalization=recipe.normalization()), or piecework count)"
        )


def _check_counts(counts: WordCounts | WordStream, recipe: Recipe) -> None:
    """Refuse counts that were not made for this recipe: a setting that needs other counts would have no effect."""
    given = recipe.model_fields_set
    if recipe.split() not in _SERVES[counts.split]:
        raise InputError(
            f"the recipe needs counts of {recipe.split().replace('_', ' ')}, because pieces or symbols reach across"
            f" spaces, and these are counts of {counts.split.replace('_', ' ')}: count again with this recipe"
            f" (count_words(texts, split=recipe.split()), piecework train FILES, or [recipe] of a study)"
        )
    limit = counts.max_sentence_length or _NO_LIMIT
    if "max_sentence_length" in given and limit != recipe.max_sentence_length:
        raise InputError(
            f"max_sentence_length = {recipe.max_sentence_length}: long lines are left out when text is counted, and"
            f" these counts were made with {counts.max_sentence_length or 'no limit'}; count again with"
            " count_words(texts, max_sentence_length=...) or with this recipe, or leave the setting out"
        )
    if "clean_up" in given and counts.clean_up != recipe.clean_up:
        raise InputError(
            f"clean_up = {recipe.clean_up or 'none'}: documents are cleaned before they are counted, and these counts"
            f" were made with clean_up = {counts.clean_up or 'none'}; count cleaned texts (map(pw.clean_up, texts),"
            " clean_up=recipe.clean_up), or leave the setting out"
        )


def _check_size(recipe: Recipe, *, taken: int, found: int) -> None:
    if recipe.auto_character_coverage and len(recipe.meta_pieces()) >= recipe.vocab_size:
        raise RecipeError(
            f"vocab_size = {recipe.vocab_size:,} is too small: special pieces, bytes and symbols alone take"
            f" {len(recipe.meta_pieces()):,}; raise vocab_size"
        )
    if taken > recipe.vocab_size:
        raise RecipeError(
            f"vocab_size = {recipe.vocab_size:,} is too small: special pieces, bytes, symbols, whitespace runs and"
            f" characters alone take {taken:,}; raise vocab_size or lower character_coverage"
        )
    if taken + found < recipe.vocab_size and recipe.hard_vocab_limit:
        largest = taken + found
        reason = f" with minimum_frequency = {recipe.minimum_frequency}" if recipe.minimum_frequency else ""
        raise VocabularyTooLargeError(
            largest,
            f"vocab_size = {recipe.vocab_size:,} is too large for this text: it allows at most {largest:,}{reason};"
            " lower vocab_size, or set hard_vocab_limit = false to accept fewer pieces",
        )


def _make_specs(recipe: Recipe, normalization: Normalization, *, vocab_size: int) -> Any:
    """The specs that SentencePiece writes for these settings."""
    specs = new_specs()
    trainer, normalizer = specs.trainer_spec, specs.normalizer_spec
    for name, value in recipe.sentencepiece_arguments().items():
        if name in _NORMALIZER_FIELDS or name == "model_type" or name in recipe.not_written():
            continue
        if isinstance(value, list):
            getattr(trainer, name).extend(value)
        else:
            setattr(trainer, name, value)
    trainer.vocab_size = vocab_size
    normalizer.name = normalization.name
    normalizer.precompiled_charsmap = normalization.precompiled_charsmap
    normalizer.remove_extra_whitespaces = recipe.remove_extra_whitespaces
    if "add_dummy_prefix" in recipe.model_fields_set:
        normalizer.add_dummy_prefix = recipe.add_dummy_prefix
    if "escape_whitespaces" in recipe.model_fields_set:
        normalizer.escape_whitespaces = recipe.escape_whitespaces
    if "normalization_rule_tsv" in recipe.model_fields_set:
        normalizer.normalization_rule_tsv = recipe.normalization_rule_tsv
    return specs
