"""The tokenizer that a study extends: loads it, and reads the rules by which its text is counted."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from piecework.common.known_tokenizers import KNOWN, find_known, known_tokenizer, resolve_source
from piecework.common.pre_tokenizer import PreTokenizer
from piecework.errors import InputError, ModelError, PieceworkError, RecipeError, StudyError
from piecework.study.byte_level_recipe import ByteLevelRecipe
from piecework.study.extend_settings import ExtendSettings
from piecework.study.normalization import describe_normalization
from piecework.study.recipe import AnyRecipe, Recipe
from piecework.study.study import Study
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.byte_level_ranks import merges_of
from piecework.tokenizer.independent_units import units_problem
from piecework.tokenizer.load import find_files, load_tokenizer
from piecework.tokenizer.tokenizer import Tokenizer
from piecework.training.extend_words import check_extendable, model_normalization
from piecework.training.extension import extend, refusal
from piecework.training.new_piece import Extendable, Extended

__all__ = ["Base", "base_recipe", "load_base", "load_extendable", "resolve_base", "with_base"]

_KEPT_FORMATS = ("tokenizer.json", "tekken.json", "tiktoken")


@dataclass(frozen=True, slots=True)
class Base:
    """The tokenizer that a study extends."""

    tokenizer: Extendable
    original: bytes | None
    """The content of its file, if the extended tokenizer keeps the other parts of it."""
    checksum: str
    """The checksum of its files; a study whose base has changed is trained again."""
    settings: ExtendSettings

    def extend(self, counts: Any, **options: Any) -> Extended[Any]:
        """The tokenizer with more pieces, as the study asks for."""
        tokenizer: Any = self.tokenizer
        extended: Extended[Any] = extend(tokenizer, counts, **self.settings.model_dump(exclude={"base"}), **options)
        return extended


def load_extendable(source: str) -> tuple[Extendable, bytes | None]:
    """Load a tokenizer that can be extended, and the file that it comes from; other kinds are refused."""
    tokenizer: Any = load_tokenizer(source)
    if Path(source).exists():
        path = find_files(source)[0]
        if not isinstance(tokenizer, Tokenizer | ByteLevelTokenizer):
            if "BPE" not in tokenizer.kind and "tiktoken" not in tokenizer.kind:
                raise ModelError(refusal(tokenizer, source))
            try:
                tokenizer = ByteLevelTokenizer.load(path)  # it names the parts that are not supported
            except (InputError, ModelError) as error:
                raise ModelError(f"{source} cannot be extended: {tokenizer.kind}; {error}") from error
        return tokenizer, path.read_bytes()
    known = known_tokenizer(source)
    if known is None or not isinstance(tokenizer, Tokenizer | ByteLevelTokenizer):
        raise ModelError(f"{source} cannot be extended: {tokenizer.kind}, which runs in another library")
    found = find_known(known)
    return tokenizer, found.files[0].read() if found.carrier.format in _KEPT_FORMATS else None


def load_base(study: Study) -> Base | None:
    """The tokenizer that the study extends; None if it trains from nothing. A StudyError names the line of `base`."""
    settings = study.extend
    if settings is None:
        return None
    try:
        source = resolve_source(settings.base, study.folder)
        tokenizer, original = load_extendable(source)
        if source.startswith(KNOWN) and (known := known_tokenizer(source)) is not None:
            contents = [file.read() for file in find_known(known).files]
        else:
            contents = [path.read_bytes() for path in find_files(source)]
        if isinstance(tokenizer, ByteLevelTokenizer):
            tokenizer, original = _with_merges(tokenizer), None if tokenizer.model.merges is None else original
        else:
            check_extendable(tokenizer)
            if problem := units_problem(tokenizer):
                raise ModelError(f"a study cannot evaluate it on counts: {problem}; use piecework extend --data")
    except PieceworkError as error:
        raise StudyError(
            [study.mistake(("extend", "base"), f'base = "{settings.base}" in [extend]: {error}')]
        ) from error
    checksum = hashlib.sha256(b"".join(hashlib.sha256(data).digest() for data in contents)).hexdigest()
    return Base(tokenizer, original, checksum, settings)


def _with_merges(tokenizer: ByteLevelTokenizer) -> ByteLevelTokenizer:
    """The tokenizer with merges instead of ranks, so that it has smaller sizes. The ids are the same."""
    model = tokenizer.model
    if model.added_tokens:
        raise ModelError(
            f"it cuts its added token {next(iter(model.added_tokens))!r} out of a text before it is cut into"
            " pre-tokens, and a study counts pre-tokens; use piecework extend --data"
        )
    merges = merges_of(model)
    made = {number for _, _, number in merges}
    special = {*model.special_tokens.values()}
    whole = [
        number
        for number, token in enumerate(model.tokens)
        if len(token) > 1 and number not in made and number not in special
    ]
    if whole and (model.merges is None or model.whole_pre_tokens):
        raise ModelError(
            f"{tokenizer.piece_texts[whole[0]]!r} and {len(whole) - 1:,} other tokens occur only as whole pre-tokens,"
            " so a study cannot find its smaller sizes; use piecework extend --data"
        )
    return ByteLevelTokenizer(replace(model, merges=merges, whole_pre_tokens=False), source=tokenizer._source)


def resolve_base(study: Study, base: Base | None) -> Study:
    """The study with the recipe that follows from its base: how to count, and the size."""
    if base is None:
        return study
    try:
        recipe = base_recipe(base)
    except (ModelError, RecipeError) as error:
        where = f'base = "{base.settings.base}" in [extend]'
        raise StudyError([study.mistake(("extend", "base"), f"{where}: {error}")]) from error
    if not study.needs_base and study.recipe != recipe:
        text = "[recipe] and [extend]: a study that extends a tokenizer has the rules of that one; leave [recipe] out"
        raise StudyError([study.mistake(("recipe",), text)])
    resolved = study.model_copy(update={"recipe": recipe})
    if mistakes := [study.mistake(key, text) for key, text in resolved.inconsistencies()]:
        raise StudyError(mistakes)
    return resolved


def with_base(study: Study) -> Study:
    """The study with the recipe of the tokenizer that it extends; as it is if it extends none."""
    return resolve_base(study, load_base(study))


def base_recipe(base: Base) -> AnyRecipe:
    """The recipe whose counts the base needs, with the size that it will have."""
    tokenizer, settings = base.tokenizer, base.settings
    size = tokenizer.vocab_size + settings.add
    size += -size % (settings.pad_to_multiple or 1)
    if isinstance(tokenizer, ByteLevelTokenizer):
        cut = tokenizer.pre_tokenizer
        if not cut.is_native:
            PreTokenizer("custom", pattern=cut.pattern)  # refuses a pattern that leaves out text
        special = tuple(sorted(tokenizer.model.special_tokens, key=lambda text: tokenizer.model.special_tokens[text]))
        return ByteLevelRecipe(pre_tokenizer=cut, vocab_size=size, special_tokens=special)
    trainer, normalizer = tokenizer._specs.trainer_spec, tokenizer._specs.normalizer_spec
    coverage = (
        round(trainer.character_coverage, 7) if settings.character_coverage is None else settings.character_coverage
    )
    recipe = Recipe(
        vocab_size=size,
        character_coverage=max(coverage, 0.98),
        max_sentencepiece_length=trainer.max_sentencepiece_length,
        split_by_unicode_script=trainer.split_by_unicode_script,
        split_by_number=trainer.split_by_number,
        split_digits=trainer.split_digits,
        byte_fallback=trainer.byte_fallback,
        allow_whitespace_only_pieces=trainer.allow_whitespace_only_pieces,
        add_dummy_prefix=normalizer.add_dummy_prefix,
        user_defined_symbols=[piece.text for piece in tokenizer.pieces if piece.type == "user_defined"],
        normalization_rule_name=normalizer.name or "identity",
        remove_extra_whitespaces=normalizer.remove_extra_whitespaces,
    )
    own, wanted = recipe.normalization().settings(), model_normalization(tokenizer).settings()
    if own != wanted:
        raise ModelError(
            f"it has {describe_normalization(wanted)}, which is not the rule of that name in the installed"
            " sentencepiece, so a study cannot count for it; use piecework extend --data"
        )
    return recipe
