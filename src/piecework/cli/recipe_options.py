"""`--preset`, `--vocab-size` and `--set KEY=VALUE`: the recipe to train with. All mistakes are reported at once."""

import tomllib
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from piecework.cli.options import parse_count
from piecework.errors import RecipeError

if TYPE_CHECKING:
    from piecework.study.byte_level_recipe import ByteLevelRecipe
    from piecework.study.recipe import AnyRecipe, Recipe

__all__ = ["BYTE_LEVEL", "RECIPES", "SENTENCEPIECE", "parse_value", "resolve_recipe"]

BYTE_LEVEL = ("byte-level", "gpt2", "gpt4", "gpt4o", "llama3", "qwen2")
SENTENCEPIECE = ("gpt-sw3", "plain")
RECIPES = (*SENTENCEPIECE, *BYTE_LEVEL)

Value = bool | int | float | str | list["Value"] | None


def parse_value(text: str) -> Value:
    """Parse a value as TOML. Text that is not TOML is a string, so most strings need no quotes.

    >>> [parse_value(text) for text in ("true", "0.9995", "portable", "none")]
    [True, 0.9995, 'portable', None]
    >>> parse_value('["<|sv|>", "<|da|>"]'), parse_value("[<|sv|>, <|da|>]")
    (['<|sv|>', '<|da|>'], ['<|sv|>', '<|da|>'])
    """
    if text.strip() in ("none", "null"):
        return None
    try:
        value = tomllib.loads(f"value = {text}\n")
    except tomllib.TOMLDecodeError:
        stripped = text.strip()
        if stripped.startswith("[") and stripped.endswith("]") and '"' not in text and "'" not in text:
            return [parse_value(item.strip()) for item in stripped[1:-1].split(",") if item.strip()]
        return text
    # A line break in the text could add a second key; no setting is a date.
    parsed = value["value"]
    return parsed if len(value) == 1 and isinstance(parsed, bool | int | float | str | list) else text


def resolve_recipe(name: str, vocab_size: int | None, settings: Sequence[str]) -> "AnyRecipe":
    """Return the named recipe with the settings applied, or raise a RecipeError that lists all mistakes.

    >>> resolve_recipe("plain", 500, ["split_digits=true"]).sentencepiece_arguments()["split_digits"]
    True
    >>> resolve_recipe("llama3", 500, ["digits=right"]).pre_tokenizer
    PreTokenizer(name='llama3', digits='right', pattern='')
    """
    from piecework.study.byte_level_recipe import ByteLevelRecipe
    from piecework.study.recipe import Recipe

    kind = ByteLevelRecipe if name in BYTE_LEVEL else Recipe
    problems: list[str] = []
    values: dict[str, Value] = {} if vocab_size is None else {"vocab_size": vocab_size}
    for setting in settings:
        key, equals, text = setting.partition("=")
        key = key.strip()
        if not equals or not key:
            problems.append(f'"--set {setting}" has no value; write it as key=value')
        elif key == "vocab_size" and vocab_size is not None:
            problems.append(f'"--set {setting}" and "--vocab-size {vocab_size}": give one of them, not both')
        else:
            values[key] = _value_for(kind, key, text)
    try:
        recipe: AnyRecipe
        if kind is ByteLevelRecipe:
            recipe = _byte_level(name, values)
        else:
            recipe = Recipe.gpt_sw3(**values) if name == "gpt-sw3" else Recipe(**values)
    except RecipeError as error:
        raise RecipeError("\n".join([*problems, str(error)])) from None
    if problems:
        raise RecipeError("\n".join(problems))
    return recipe


def _byte_level(name: str, values: dict[str, Value]) -> "ByteLevelRecipe":
    from piecework.common.pre_tokenizer import PreTokenizer
    from piecework.study.byte_level_recipe import PRESETS, ByteLevelRecipe

    settings: dict[str, Any] = {**PRESETS.get(name, {}), **values}
    if given := {key: settings.pop(key) for key in ("digits", "pattern") if key in settings}:
        # A preset's pre-tokenizer makes room for a pattern.
        usual = "custom" if "pattern" in given else settings.get("pre_tokenizer", "cl100k")
        settings["pre_tokenizer"] = PreTokenizer(str(values.get("pre_tokenizer", usual)), **given)
    return ByteLevelRecipe(**settings)


def _value_for(recipe: "type[Recipe | ByteLevelRecipe]", key: str, text: str) -> Value:
    if key == "pattern":  # text, also where it looks like a list or a number
        return text
    value = parse_value(text)
    field = recipe.model_fields.get(key)
    # required_chars=123 is text, although it looks like a number.
    if field and field.annotation is str and not isinstance(value, str):
        return text
    if field and field.annotation is int and isinstance(value, str):
        with suppress(ValueError):
            return parse_count(value)
    return value
