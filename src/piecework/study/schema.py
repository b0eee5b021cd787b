"""The schema of a study file: its tables, their keys, types and defaults."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from piecework.common.exact import format_exact, parse_exact
from piecework.common.mistakes import did_you_mean
from piecework.common.path_pattern import PathPattern
from piecework.common.pre_tokenizer import PreTokenizer
from piecework.common.terms import MULTILINGUAL, OVERALL
from piecework.errors import Mistake, RecipeError
from piecework.study.byte_level_recipe import PRESETS as BYTE_LEVEL_PRESETS
from piecework.study.byte_level_recipe import REFUSED, ByteLevelRecipe
from piecework.study.extend_settings import ExtendSettings
from piecework.study.model_shape import ModelShape
from piecework.study.recipe import AnyRecipe, Recipe
from piecework.study.toml_lines import KeyPath

__all__ = [
    "PRESETS",
    "Analysis",
    "Corpus",
    "DocumentUnit",
    "Sampling",
    "StudySettings",
    "SubsetEntry",
    "Weights",
    "check_language",
    "check_name",
]

DocumentUnit = Literal["file", "line"]
Preset = Literal["gpt-sw3", "plain"]
Kind = Literal["sentencepiece", "byte-level"]
PRESETS: tuple[Preset, ...] = get_args(Preset)

DEFAULT_CATEGORY = "all"
WHITESPACE_RUNS = 23


def check_name(name: str) -> str:
    """Refuses a name that cannot be a folder name: studies and languages have folders.

    >>> check_name("pt-BR")
    'pt-BR'
    """
    if not name.strip() or name != name.strip():
        raise ValueError("should not be empty, nor start or end with a space")
    if name.startswith(".") or re.search(r"[/\\\x00-\x1f]", name):
        raise ValueError("becomes a folder's name: it should not start with a dot, nor have a slash or line break")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError("should be valid UTF-8") from None
    return name


def check_language(name: str) -> str:
    """Refuses a name that cannot be the name of a language's tokenizer."""
    if re.fullmatch(r"multilingual(-\d+)?", name):
        raise ValueError("is taken: it is the folder of the multilingual tokenizer; name the language otherwise")
    if name == OVERALL:
        raise ValueError("is taken: in results it means all languages together; name the language otherwise")
    return check_name(name)


def _check_pattern(text: str) -> str:
    if mistakes := list(PathPattern(text).mistakes()):
        raise ValueError("; ".join(mistakes))
    return text


def _check_tells_language(text: str, info: ValidationInfo) -> str:
    if "language" not in PathPattern(text).braces and not info.data.get("language_field"):
        raise ValueError(
            "does not tell the language: put {language} where it stands in the path, "
            'or make it a [[corpus.subset]] with language = "...", '
            'or set language_field = "..." if a field of each record tells it'
        )
    return text


def _check_distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if doubled := [name for name in names if names.count(name) > 1]:
        raise ValueError(f'has "{doubled[0]}" twice')
    return names


def _check_is_by_language(text: str) -> str:
    if PathPattern(text).braces != {"language"}:
        raise ValueError('needs {language} and no other brace, as in "par/{language}.txt"')
    return text


def _fraction_of_documents(value: object) -> Fraction:
    fraction = parse_exact(value)
    if not 0 <= fraction <= 1:
        raise ValueError('should be between 0 and 1, or between "0%" and "100%"')
    return fraction


def _weight(value: object) -> Fraction:
    weight = parse_exact(value)
    if weight < 0:
        raise ValueError("a weight should not be negative; 0 leaves documents out")
    return weight


def _one_or_more(value: object) -> object:
    return [value] if isinstance(value, str) else value


_AsText = PlainSerializer(format_exact, return_type=str)
Share = Annotated[Fraction, PlainValidator(_fraction_of_documents), _AsText]
Weight = Annotated[Fraction, PlainValidator(_weight), _AsText]
Pattern = Annotated[str, AfterValidator(_check_pattern)]
CorpusPattern = Annotated[Pattern, AfterValidator(_check_tells_language)]
Language = Annotated[str, AfterValidator(check_language)]
Languages = Annotated[tuple[Language, ...], Field(strict=False), AfterValidator(_check_distinct)]
Category = Annotated[str, AfterValidator(check_name)]
NonEmpty = Annotated[str, Field(min_length=1)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class SubsetEntry(_Table):
    """One [[corpus.subset]]: files, with their language and category if the path does not contain them."""

    language: Language | None = None
    language_field: NonEmpty | None = None
    """The field of a record with its language."""
    languages: Languages = ()
    """The languages to read, if a field has them."""
    category: Category | None = None
    path: Annotated[tuple[Pattern, ...], BeforeValidator(_one_or_more), Field(strict=False, min_length=1)]
    text: NonEmpty | None = None
    documents: DocumentUnit | None = None
    code_token: NonEmpty | None = None

    @field_validator("path")
    @classmethod
    def _says_what_it_is_once(cls, path: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        for pattern in path:
            braces = PathPattern(pattern).braces
            for name in braces:
                if info.data.get(name) is not None:
                    raise ValueError(f'has {{{name}}}, and {name} = "{info.data[name]}" is given too; drop one of them')
            # A wrong language is missing in info.data; it is reported separately.
            has_field = info.data.get("language_field") is not None
            if "language" not in braces and info.data.get("language", "") is None and not has_field:
                raise PydanticCustomError(
                    "depends_on_other_keys",
                    'has no {language}, and no language is given; add language = "..." to this [[corpus.subset]], '
                    'or language_field = "..." if a field of each record tells it',
                )
            if has_field and ("language" in braces or info.data.get("language") is not None):
                raise ValueError("tells the language, and language_field is given too; drop one of them")
        return path


class Corpus(_Table):
    """[corpus]: where the documents are."""

    language_field: NonEmpty | None = None
    """The field with the language of records whose path has none."""
    languages: Languages = ()
    path: Annotated[tuple[CorpusPattern, ...], BeforeValidator(_one_or_more), Field(strict=False)] = ()
    text: NonEmpty = "text"
    documents: DocumentUnit = "file"
    subset: tuple[SubsetEntry, ...] = Field(default=(), strict=False)

    @model_validator(mode="after")
    def _names_files(self) -> Self:
        if not self.path and not self.subset:
            raise ValueError('names no files: give path = "data/{category}_{language}.jsonl", or a [[corpus.subset]]')
        return self

    def entries(self) -> Iterator[tuple[KeyPath, SubsetEntry]]:
        """All patterns of the corpus as entries, each with its key."""
        for index, pattern in enumerate(self.path):
            if "language" in PathPattern(pattern).braces:
                entry = SubsetEntry(path=(pattern,))
            else:
                entry = SubsetEntry(path=(pattern,), language_field=self.language_field, languages=self.languages)
            yield ("corpus", "path", index), entry
        for index, entry in enumerate(self.subset):
            yield ("corpus", "subset", index), entry


class Weights(_Table):
    """[weights]: the relative amount of each subset; the default is 1."""

    language: dict[str, Weight] = {}
    category: dict[str, Weight] = {}
    subset: dict[str, Weight] = {}
    csv: NonEmpty | None = None
    temperature: Share | None = None
    unimax: int | None = Field(default=None, ge=1)
    """The same amount of text in every language, but no text is used more than this many times."""

    @model_validator(mode="after")
    def _come_from_one_place(self) -> Self:
        tables = [name for name in ("language", "category", "subset") if getattr(self, name)]
        sources = [name for name in ("csv", "temperature", "unimax") if getattr(self, name) is not None]
        if len(sources) > 1 or (sources and tables):
            raise ValueError(f"has {' and '.join([*sources, *tables])}; give tables, or csv, or temperature, or unimax")
        return self


class Sampling(_Table):
    """[sampling]: the shares of documents to train and to evaluate on, and what the weights act on."""

    train: Share = Fraction(1, 100)
    eval: Share = Fraction(2, 1000)
    weighting: Literal["documents", "counts"] = "documents"

    @field_validator("train")
    @classmethod
    def _not_nothing(cls, train: Fraction) -> Fraction:
        if not train:
            raise ValueError("leaves nothing to train on; the paper has 1%")
        return train


class Analysis(_Table):
    """[analysis]: what is trained and compared in addition to the multilingual tokenizer."""

    vocab_sizes: tuple[Annotated[int, Field(ge=1)], ...] = Field(default=(), strict=False)
    monolingual: bool = True
    tokenizers: dict[str, NonEmpty] = {}
    """Outside tokenizers to compare with: a name for each, and its path."""
    parallel: Annotated[Pattern, AfterValidator(_check_is_by_language)] | None = None
    """Parallel text: a file per language, in which line n says the same in every language."""
    pivot: Language | None = None
    """The language that the others are compared with on parallel text."""
    paper_findings: bool | None = None
    """Whether to test the paper's findings; without a value, if the study has the paper's languages."""
    alternatives: bool = False
    """Whether to train with other weights and parity-aware too, and to compare what each gives."""
    model: ModelShape | None = None
    """The language model that the vocabulary is for: what each size costs it."""


def _resolve_recipe(value: object) -> AnyRecipe:
    """The settings of [recipe] on top of its preset. The keys of a ValidationError are those of the study."""
    if isinstance(value, AnyRecipe):
        return value
    if not isinstance(value, Mapping):
        raise PydanticCustomError("model_type", "Input should be a table")
    settings: dict[str, Any] = {key: _for_recipe(key, setting) for key, setting in value.items()}
    preset: Any = settings.pop("preset", None)
    mistakes: list[InitErrorDetails] = []
    is_byte_level = isinstance(preset, str) and preset in BYTE_LEVEL_PRESETS
    if "kind" in settings:
        kind = settings.pop("kind")
        if kind not in get_args(Kind):
            mistakes.append(_wrong("kind", kind, did_you_mean(str(kind), get_args(Kind)), get_args(Kind)))
        elif preset is not None and (kind == "byte-level") is not is_byte_level:
            text = f'the preset "{preset}" is another kind; leave one of the two out'
            mistakes.append(InitErrorDetails(type=PydanticCustomError("wrong", text), loc=("kind",), input=kind))
        else:
            is_byte_level = kind == "byte-level"
    if preset is not None and preset not in (*PRESETS, *BYTE_LEVEL_PRESETS):
        hint = did_you_mean(str(preset), (*PRESETS, *BYTE_LEVEL_PRESETS))
        mistakes.append(_wrong("preset", preset, hint, (*PRESETS, *BYTE_LEVEL_PRESETS)))
    recipe: AnyRecipe
    if is_byte_level:
        recipe = ByteLevelRecipe.__new__(ByteLevelRecipe)
        mistakes += _take_pre_tokenizer(settings, usual=BYTE_LEVEL_PRESETS.get(preset or "", {}))
        settings = {**BYTE_LEVEL_PRESETS.get(preset or "", {}), **settings}
        for name in [name for name in settings if name in REFUSED]:
            text = f"is not supported: {REFUSED[name]}"
            mistakes.append(
                InitErrorDetails(type=PydanticCustomError("wrong", text), loc=(name,), input=settings.pop(name))
            )
    else:
        base = Recipe() if preset == "plain" else Recipe.gpt_sw3()
        given = {name: getattr(base, name) for name in Recipe.model_fields if name in base.model_fields_set}
        recipe, settings = Recipe.__new__(Recipe), {**given, **settings}
    try:
        # The recipe's own __init__ would join the mistakes into one text, without their keys.
        BaseModel.__init__(recipe, **settings)
    except ValidationError as error:
        for detail in error.errors():
            same = PydanticCustomError(
                detail["type"], "{text}", {**detail.get("ctx", {}), "text": detail["msg"], "byte_level": is_byte_level}
            )
            mistakes.append(InitErrorDetails(type=same, loc=detail["loc"], input=detail["input"]))
    if mistakes:
        raise ValidationError.from_exception_data("recipe", mistakes)
    return recipe


def _wrong(name: str, value: object, hint: str, known: tuple[str, ...]) -> InitErrorDetails:
    expected = hint.removeprefix("; ") or f"Input should be {' or '.join(repr(each) for each in known)}"
    return InitErrorDetails(type=PydanticCustomError("literal_error", expected), loc=(name,), input=value)


def _take_pre_tokenizer(settings: dict[str, Any], *, usual: Mapping[str, Any]) -> Iterator[InitErrorDetails]:
    """Replace `pre_tokenizer`, `digits` and `pattern` by what they stand for; mistakes in them.

    `usual` are the settings of the preset.
    """
    keys = ("pre_tokenizer", "pattern", "digits")
    given: dict[str, Any] = {key: settings.pop(key) for key in keys if key in settings}
    name = given.get("pre_tokenizer", "custom" if "pattern" in given else usual.get("pre_tokenizer", "cl100k"))
    for key, value in given.items():
        try:
            settings["pre_tokenizer"] = _pre_tokenizer_up_to(key, name, given)
        except RecipeError as error:
            text = str(error).removeprefix(f'digits = "{value}": ').removeprefix(f"the pattern {value!r} ")
            wrong = PydanticCustomError("wrong", "{text}", {"text": text})
            yield InitErrorDetails(type=wrong, loc=(key,), input=value)
            return


def _pre_tokenizer_up_to(key: str, name: Any, given: Mapping[str, Any]) -> PreTokenizer | None:
    """What the keys up to this one give, so that an error is about this one. None if the pattern comes next."""
    if not isinstance(given[key], str):
        raise RecipeError("should be text in quotes")
    if key == "pre_tokenizer":
        if name != "custom":
            return PreTokenizer(name)
        if "pattern" not in given:
            raise RecipeError('needs a pattern of your own beside it: pattern = "..."')
        return None
    return PreTokenizer(name, digits=given[key] if key == "digits" else None, pattern=given.get("pattern", ""))


def _for_recipe(key: str, value: object) -> object:
    if isinstance(value, Decimal):
        return float(value)
    # TOML has no null, and whitespace_runs can be none.
    field = Recipe.model_fields.get(key)
    return None if value == "none" and field and type(None) in get_args(field.annotation) else value


def _fixed_pieces(recipe: AnyRecipe) -> int:
    """The number of pieces that a vocabulary of any size has."""
    if isinstance(recipe, ByteLevelRecipe):
        return recipe.smallest_size
    return len(recipe.meta_pieces()) + (WHITESPACE_RUNS if recipe.whitespace_runs else 0)


class StudySettings(_Table):
    """All tables of a study file, and the line of each key. `Study` adds the methods."""

    name: Annotated[str, AfterValidator(check_name)] = "study"
    description: str = ""
    """What the data is, in a sentence or two: reports show it."""
    seed: int = Field(default=1, ge=0, lt=1 << 64)
    corpus: Corpus
    weights: Weights = Weights()
    sampling: Sampling = Sampling()
    recipe: Annotated[AnyRecipe, BeforeValidator(_resolve_recipe)] = Recipe.gpt_sw3()
    extend: ExtendSettings | None = None
    """The tokenizer to extend. Its rules are then the recipe, which `resolve_base` fills in."""
    recipes: dict[str, Annotated[AnyRecipe, BeforeValidator(_resolve_recipe)]] = {}
    """Further recipes by name, trained on the same documents and compared with the first."""
    analysis: Analysis = Analysis()

    _folder: Path = PrivateAttr(Path())
    _file: str | None = PrivateAttr(None)
    _lines: dict[KeyPath, int] = PrivateAttr({})

    @property
    def folder(self) -> Path:
        """Where the study's relative paths start."""
        return self._folder

    @property
    def file(self) -> str | None:
        """The study file's path, as it was given; None for a study made in Python."""
        return self._file

    @property
    def needs_base(self) -> bool:
        """Whether the recipe is still to be read from the tokenizer that the study extends."""
        return self.extend is not None and "recipe" not in self.model_fields_set

    def mistake(self, key: KeyPath, message: str) -> Mistake:
        """A mistake at a key, with its line, or the line of the table around it."""
        while key and key not in self._lines:
            key = key[:-1]
        return Mistake(message, self._file, self._lines.get(key))

    def has_key(self, *key: str | int) -> bool:
        """Whether the study file has that key."""
        return key in self._lines

    def with_recipe(self, name: str) -> Self:
        """The study of a further recipe: the same documents and samples, without what belongs to the first alone."""
        recipe = self.recipes[name]
        sizes = tuple(size for size in self.analysis.vocab_sizes if _fixed_pieces(recipe) < size <= recipe.vocab_size)
        changes: dict[str, Any] = {
            "name": f"{self.name}-{name}",
            "recipe": recipe,
            "recipes": {},
            "analysis": self.analysis.model_copy(
                update={"vocab_sizes": sizes, "tokenizers": {}, "alternatives": False}
            ),
        }
        if isinstance(recipe, ByteLevelRecipe):
            # The first recipe may have other tokens. They are not counted, so the counts are the same without them.
            entries = tuple(
                entry if entry.code_token in recipe.special_tokens else entry.model_copy(update={"code_token": None})
                for entry in self.corpus.subset
            )
            changes["corpus"] = self.corpus.model_copy(update={"subset": entries})
        return self.model_copy(update=changes)

    def counting_words(self) -> Self:
        """The study of the same documents that counts words: tokenizers of any kind are compared on them."""
        analysis = {"vocab_sizes": (), "tokenizers": {}, "alternatives": False}
        entries = tuple(entry.model_copy(update={"code_token": None}) for entry in self.corpus.subset)
        changes: dict[str, Any] = {
            "name": f"{self.name}-words",
            "corpus": self.corpus.model_copy(update={"subset": entries}),
            "recipe": Recipe(),
            "recipes": {},
            "extend": None,
            "analysis": self.analysis.model_copy(update=analysis),
        }
        return self.model_copy(update=changes)

    def _further_inconsistencies(self) -> Iterator[tuple[KeyPath, str]]:
        if self.recipes and self.extend is not None:
            yield ("recipes",), "[recipes]: a study that extends a tokenizer trains no recipes; remove one of the two"
            return
        for name in self.recipes:
            try:
                check_name(name)
            except ValueError as error:
                yield ("recipes", name), f'"{name}" in [recipes]: {error}'
                continue
            if name == MULTILINGUAL:
                yield ("recipes", name), f'"{name}" in [recipes] is taken: it is the name of the tokenizer of [recipe]'
            for key, message in self.with_recipe(name).inconsistencies():
                if key[0] == "recipe":
                    yield ("recipes", name, *key[1:]), message.replace("[recipe]", f"[recipes.{name}]")
                else:
                    yield key, f"[recipes.{name}]: {message}"

    def inconsistencies(self) -> Iterator[tuple[KeyPath, str]]:
        """Mistakes between tables that are valid by themselves, each with its key."""
        if self.analysis.pivot is not None and self.analysis.parallel is None:
            yield ("analysis", "pivot"), "pivot in [analysis] needs parallel, the pattern of the parallel files"
        if MULTILINGUAL in self.analysis.tokenizers:
            key: KeyPath = ("analysis", "tokenizers", MULTILINGUAL)
            yield (
                key,
                f'"{MULTILINGUAL}" in [analysis.tokenizers] is taken: it is the name of the study\'s own tokenizer',
            )
        if self.analysis.alternatives and self.extend is not None:
            yield (
                ("analysis", "alternatives"),
                "alternatives in [analysis]: compares tokenizers that are trained from nothing",
            )
        yield from self._further_inconsistencies()
        if not self.needs_base:
            yield from self._recipe_inconsistencies()

    def _recipe_inconsistencies(self) -> Iterator[tuple[KeyPath, str]]:
        sizes = self.analysis.vocab_sizes
        if isinstance(self.recipe, Recipe):
            yield from self._sentencepiece_inconsistencies(self.recipe)
            fixed = "special, bytes or whitespace"
        else:
            yield from self._byte_level_inconsistencies(self.recipe)
            fixed = "special or bytes"
        meta = _fixed_pieces(self.recipe)
        if self.recipe.parity:
            yield (
                ("recipe", "parity"),
                "parity in [recipe]: a study has no development text; train it with pw.train(counts, recipe,"
                " development=...), or compare it with alternatives = true in [analysis]",
            )
        for index, size in enumerate(sizes):
            key: KeyPath = ("analysis", "vocab_sizes", index)
            where = f"vocab_sizes: {size} in [analysis]"
            if size > self.recipe.vocab_size:
                yield key, f"{where} is larger than vocab_size = {self.recipe.vocab_size}; sizes are cut from that one"
            elif size <= meta:
                yield key, f"{where} leaves no room for merges: {meta} pieces are {fixed}"
            elif size in sizes[:index]:
                yield key, f"{where} is there twice"

    def _byte_level_inconsistencies(self, recipe: ByteLevelRecipe) -> Iterator[tuple[KeyPath, str]]:
        if recipe.vocab_size < recipe.smallest_size:
            yield (
                ("recipe", "vocab_size"),
                f"vocab_size = {recipe.vocab_size} in [recipe]: special tokens and bytes alone take"
                f" {recipe.smallest_size}",
            )
        for index, entry in enumerate(self.corpus.subset):
            token = entry.code_token
            if token is not None and token not in recipe.special_tokens:
                yield (
                    ("corpus", "subset", index, "code_token"),
                    f'code_token = "{token}" in [[corpus.subset]]: not among the special_tokens of the recipe, so no'
                    f" document could start with it{did_you_mean(token, recipe.special_tokens)}",
                )

    def _sentencepiece_inconsistencies(self, recipe: Recipe) -> Iterator[tuple[KeyPath, str]]:
        if recipe.auto_character_coverage and self.analysis.vocab_sizes:
            yield (
                ("analysis", "vocab_sizes"),
                "vocab_sizes in [analysis]: with auto_character_coverage a smaller size is no part of a larger one;"
                " remove one of the two",
            )
        for name, usual in (("split_by_whitespace", True), ("treat_whitespace_as_suffix", False)):
            if getattr(recipe, name) is not usual:
                yield (
                    ("recipe", name),
                    f"{name} in [recipe]: a study evaluates tokenizers from counted units, and pieces of this one would"
                    " reach across them; train it with piecework train, and compare it with piecework compare --data",
                )
        symbols = recipe.user_defined_symbols
        for index, entry in enumerate(self.corpus.subset):
            token = entry.code_token
            if token is not None and token not in symbols:
                yield (
                    ("corpus", "subset", index, "code_token"),
                    f'code_token = "{token}" in [[corpus.subset]]: not among the user_defined_symbols of the recipe, '
                    f"so it would be cut into pieces{did_you_mean(token, symbols)}",
                )
