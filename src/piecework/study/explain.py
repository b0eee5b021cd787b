"""Turns the mistakes that pydantic finds into messages in the words of the study file."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from piecework.common.mistakes import did_you_mean
from piecework.study.byte_level_recipe import ByteLevelRecipe
from piecework.study.recipe import Recipe
from piecework.study.schema import StudySettings
from piecework.study.toml_lines import KeyPath

__all__ = ["WrongKey", "explain"]

# Messages in the terms of TOML, in place of pydantic's.
_EXPECTED = {
    "int_type": "should be a whole number",
    "int_from_float": "should be a whole number",
    "float_type": "should be a number",
    "string_type": "should be text in quotes",
    "bool_type": "should be true or false",
    "dict_type": "should be a table",
    "model_type": "should be a table",
    "tuple_type": "should be a list in square brackets",
    "list_type": "should be a list in square brackets",
    "string_too_short": "should not be empty",
}
# A table where another value is expected is shown as a value.
_NO_TABLE = frozenset({"dict_type", "model_type"})


@dataclass(frozen=True, slots=True)
class WrongKey:
    """A key that is wrong, and a message about it."""

    key: KeyPath
    message: str
    is_unknown: bool = False
    """Whether the key has no meaning, whatever its value."""
    compares: bool = False
    """Whether it is wrong only beside the values of other keys."""


def explain(error: ValidationError) -> Iterator[WrongKey]:
    """The mistakes that pydantic found, in the words of the file."""
    for detail in error.errors():
        key, kind, value = detail["loc"], detail["type"], detail["input"]
        if kind == "extra_forbidden":
            of_bytes = bool(detail.get("ctx", {}).get("byte_level"))
            yield WrongKey(key, _unknown_key(key, value, of_bytes=of_bytes), is_unknown=True)
        elif kind == "missing":
            yield WrongKey(key, _missing(key))
        else:
            message = _EXPECTED.get(kind) or detail["msg"]
            message = message.removeprefix("Value error, ").replace("Input should", "should")
            if kind == "literal_error":
                message = message.replace("'", '"')
            setting = detail.get("ctx", {}).get("setting")
            yield WrongKey(
                (*key, setting) if setting else key,
                _with_value(key, message, value, is_table=isinstance(value, dict) and kind not in _NO_TABLE),
                compares=kind in ("inconsistent", "depends_on_other_keys"),
            )


def _with_value(key: KeyPath, message: str, value: object, *, is_table: bool) -> str:
    names = [part for part in key if isinstance(part, str)]
    if is_table:
        return f"{_table_name(key)} {message}".strip()
    text = _shown(value)
    table = _table_name(key[: key.index(names[-1])])
    return f"{names[-1]} = {text}{f' in {table}' if table else ''}: {message}"


def _unknown_key(key: KeyPath, value: object, *, of_bytes: bool) -> str:
    *table, name = key
    known = list(_known_keys(tuple(table), of_bytes=of_bytes))
    hint = did_you_mean(str(name), known)
    others = _known_keys(("recipe",), of_bytes=not of_bytes) if _is_recipe(table) else []
    if not hint and str(name) in others:
        kind = "SentencePiece" if of_bytes else "byte-level"
        where = _table_name(tuple(table))
        return f'key "{name}" in {where} is a setting of {kind} recipes, and this one is not; leave it out'
    if not hint:
        homes = [home for home in _homes() if str(name) in _known_keys(home) and home != tuple(table)]
        hint = f"; it belongs in {_table_name(homes[0]) or 'the first lines, before any table'}" if homes else ""
    if not table and isinstance(value, dict | list):
        return f"unknown table [{name}]{hint or '; the tables are [' + '], ['.join(_tables()) + ']'}"
    where = f" in {_table_name(tuple(table))}" if table else ""
    return f'unknown key "{name}"{where}{hint or "; known are " + ", ".join(known)}'


def _tables() -> list[str]:
    return [name for name in StudySettings.model_fields if name not in ("name", "description", "seed")]


def _homes() -> list[KeyPath]:
    return [(), *((name,) for name in _tables() if name != "recipes"), ("corpus", "subset", 0)]


def _known_keys(table: KeyPath, *, of_bytes: bool = False) -> list[str]:
    """The keys that a table can have; [recipe] has others for byte-level BPE."""
    if _is_recipe(table):
        added = ("preset", "kind", *(("digits", "pattern") if of_bytes else ()))
        return [*added, *(ByteLevelRecipe if of_bytes else Recipe).model_fields]
    model: Any = StudySettings
    for part in table:
        if isinstance(part, str):
            model = _model_in(model.model_fields[part].annotation)
    return list(model.model_fields)


def _is_recipe(table: Sequence[str | int]) -> bool:
    return tuple(table) == ("recipe",) or (len(table) == 2 and table[0] == "recipes")


def _model_in(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(model for model in map(_model_in, get_args(annotation)) if model is not None)


def _missing(key: KeyPath) -> str:
    if key == ("corpus",):
        return 'no [corpus]; a study needs one, with path = "data/{category}_{language}.jsonl" for example'
    return f'no "{key[-1]}" in {_table_name(key[:-1])}'


def _table_name(table: KeyPath) -> str:
    """A table as its header would be written.

    >>> _table_name(("corpus", "subset", 0)), _table_name(("weights", "language"))
    ('[[corpus.subset]]', '[weights.language]')
    """
    name = ".".join(part for part in table if isinstance(part, str))
    if not name:
        return ""
    return f"[[{name}]]" if any(isinstance(part, int) for part in table) else f"[{name}]"


def _shown(value: object) -> str:
    """A value as TOML would have it, if it is short."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{...}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_shown(member) for member in value[:3])}{', ...' if len(value) > 3 else ''}]"
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
