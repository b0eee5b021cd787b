"""A study file to a study: every mistake at once, each with its line and what was probably meant."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from piecework.common.mistakes import Mistake, did_you_mean
from piecework.errors import InputError, StudyError
from piecework.study.recipe import Recipe
from piecework.study.schema import Study, check_name
from piecework.study.toml_lines import KeyPath, key_lines

__all__ = ["explain", "load_study"]

MOST_SYNTAX_ERRORS = 10

# pydantic's words for what TOML calls otherwise.
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


def load_study(path: Path, *, check_corpus: bool = True) -> Study:
    """Read the file; a StudyError has all of its mistakes, those of the corpus included unless told otherwise."""
    settings, text, syntax = _parse(_read(path), path)
    lines = key_lines(text)
    study, wrong = _what_is_right(settings, path, lines)
    mistakes = syntax + [
        study.mistake(key, message)
        for key, message in wrong.items()
        if not syntax or _stands_alone(key, message, lines)
    ]
    tables = {key[0] for key in wrong}
    if not syntax:
        mistakes += [study.mistake(key, message) for key, message in _inconsistencies(study, wrong)]
        if check_corpus and "corpus" not in tables:
            from piecework.study.subsets import look_for_subsets

            look_for_subsets(study, mistakes, check_samples=tables.isdisjoint({"weights", "sampling"}))
    if mistakes:
        raise StudyError(_in_order(mistakes))
    return study


def _what_is_right(settings: dict[str, Any], path: Path, lines: dict[KeyPath, int]) -> tuple[Study, dict[KeyPath, str]]:
    """The study without the settings that are wrong, and what is wrong about them.

    pydantic compares settings with each other only where each is right by itself. So the wrong ones are taken out, and
    the rest is looked at again, until one mistake hides no other.
    """
    wrong: dict[KeyPath, str] = {}
    while True:
        try:
            return _build(settings, path, lines), wrong
        except ValidationError as error:
            for key, message in explain(error):
                wrong.setdefault(key, message)
                settings = {**settings, "corpus": _ANY_CORPUS} if key[0] == "corpus" else _without(settings, key)


_ANY_CORPUS = {"path": "{language}"}


def _without(settings: dict[str, Any], key: KeyPath) -> dict[str, Any]:
    """The settings without that key; of a list, nothing is left."""
    name, *deeper = key
    inside = settings.get(str(name))
    rest = {other: value for other, value in settings.items() if other != name}
    if deeper and isinstance(inside, dict) and deeper[0] in inside:
        rest[str(name)] = _without(inside, tuple(deeper))
    return rest


def _inconsistencies(study: Study, wrong: Mapping[KeyPath, str]) -> Iterator[tuple[KeyPath, str]]:
    """Those of the study, but for comparisons with a setting that is wrong itself."""
    unknown = {key[1] if len(key) > 1 else "preset" for key in wrong if key[0] == "recipe"}
    for key, message in study.inconsistencies():
        compared = "vocab_size" if key[0] == "analysis" else "user_defined_symbols"
        if unknown.isdisjoint({"preset", compared}) and not any(key[0] == other[0] == "corpus" for other in wrong):
            yield key, message


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        hint = "; `piecework init` writes one" if isinstance(error, FileNotFoundError) else ""
        raise InputError(f"{path}: cannot read the study file: {error.strerror or error}{hint}") from error
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{data[error.start]:02X} is no valid UTF-8; save the file as UTF-8"
        raise StudyError([Mistake(message, str(path), line)]) from None


def _parse(text: str, path: Path) -> tuple[dict[str, Any], str, list[Mistake]]:
    """The settings, the text that they stand in, and mistakes in TOML itself.

    tomllib stops at the first. Lines that hold one are blanked and the rest is read again, to report others as well;
    where the mistake may reach over several lines, or hides a table's name, there is no going on.
    """
    mistakes: list[Mistake] = []
    while True:
        try:
            return tomllib.loads(text, parse_float=Decimal), text, mistakes
        except (ValueError, RecursionError) as error:
            line, message = _syntax_error(error, text)
            mistakes.append(Mistake(message, str(path), line))
            lines = text.split("\n")
            bad = lines[line - 1] if line else ""
            spans_lines = re.search(r"[Uu]nclosed|end of document\)|multiline", str(error)) or '"""' in bad
            if (
                line is None
                or spans_lines
                or not re.match(r"\s*[^\s\[\]{},#]+\s*=", bad)
                or len(mistakes) == MOST_SYNTAX_ERRORS
            ):
                raise StudyError(_in_order(mistakes)) from None
            lines[line - 1] = ""
            text = "\n".join(lines)


def _syntax_error(error: Exception, text: str) -> tuple[int | None, str]:
    if isinstance(error, RecursionError):
        return None, "lists or tables are nested too deeply"
    match = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", str(error))
    if not match:
        return None, f"not valid TOML: {error}"
    what = str(error)[: match.start()]
    what = what[:1].lower() + what[1:]
    if not match[1]:
        return text.count("\n") + 1, f"not valid TOML: {what} at the end of the file"
    line = text.split("\n")[int(match[1]) - 1]
    return int(match[1]), f"not valid TOML: {what} at column {match[2]}{_syntax_hint(line)}"


def _syntax_hint(line: str) -> str:
    key, equals, value = (part.strip() for part in line.partition("="))
    value = value.partition("#")[0].strip()
    if not equals:
        return "; a line is key = value, or a [table]" if key and not key.startswith("[") else ""
    if re.fullmatch(r"[0-9.]+\s*%", value):
        return f'; a percentage needs quotes: {key} = "{value}"'
    if value in ("True", "False"):
        return f"; write {key} = {value.lower()}"
    if value and value[0] not in "\"'[{+-0123456789" and value not in ("true", "false"):
        return f'; text needs quotes: {key} = "{value}"' if '"' not in value else "; text needs quotes"
    return ""


def _build(settings: Mapping[str, Any], path: Path, lines: dict[KeyPath, int]) -> Study:
    """The study, or pydantic's ValidationError, which Study's own __init__ would turn into text."""
    study = Study.__new__(Study)
    BaseModel.__init__(study, **{**_default_name(path), **settings})
    study._folder = path.parent
    study._file = str(path)
    study._lines = lines
    return study


def _default_name(path: Path) -> dict[str, str]:
    try:
        return {"name": check_name(path.stem)}
    except ValueError:
        return {}


def _stands_alone(key: KeyPath, message: str, lines: Mapping[KeyPath, int]) -> bool:
    """Whether a mistake is one whatever other lines say, some of which may be missing, as they were no TOML."""
    is_value = key in lines and not any(other != key and other[: len(key)] == key for other in lines)
    compared = message.startswith("[recipe]") or "no language is given" in message
    return message.startswith("unknown ") or (is_value and not compared)


def _in_order(mistakes: list[Mistake]) -> list[Mistake]:
    """The study file's mistakes by line, then those of other files."""
    first = mistakes[0].file
    return sorted(dict.fromkeys(mistakes), key=lambda mistake: (mistake.file != first, mistake.line or 0))


def explain(error: ValidationError) -> Iterator[tuple[KeyPath, str]]:
    """The mistakes that pydantic found, in the words of the file, each with the key that it is about."""
    for detail in error.errors():
        key = detail["loc"]
        if detail["type"] == "extra_forbidden":
            yield key, _unknown_key(key, detail["input"])
        elif detail["type"] == "missing":
            yield key, _missing(key)
        else:
            message = _EXPECTED.get(detail["type"]) or detail["msg"]
            message = message.removeprefix("Value error, ").replace("Input should", "should")
            if detail["type"] == "literal_error":
                message = message.replace("'", '"')
            yield _about(key, message), _with_value(key, message, detail["input"])


def _with_value(key: KeyPath, message: str, value: object) -> str:
    names = [part for part in key if isinstance(part, str)]
    if isinstance(value, dict) and message != _EXPECTED["model_type"]:
        return f"{_table_name(key)} {message}".strip()
    shown = _shown(value)
    table = _table_name(key[: key.index(names[-1])])
    return f"{names[-1]} = {shown}{f' in {table}' if table else ''}: {message}"


def _about(key: KeyPath, message: str) -> KeyPath:
    """The recipe checks settings against each other, and its message starts with the one that is wrong."""
    setting = re.match(r"(\w+) = ", message)
    return (*key, setting[1]) if key == ("recipe",) and setting else key


def _unknown_key(key: KeyPath, value: object) -> str:
    *table, name = key
    known = list(_known_keys(tuple(table)))
    hint = did_you_mean(str(name), known)
    if not hint:
        homes = [home for home in _homes() if str(name) in _known_keys(home) and home != tuple(table)]
        hint = f"; it belongs in {_table_name(homes[0]) or 'the first lines, before any table'}" if homes else ""
    if not table and isinstance(value, dict | list):
        return f"unknown table [{name}]{hint or '; the tables are [' + '], ['.join(_tables()) + ']'}"
    where = f" in {_table_name(tuple(table))}" if table else ""
    return f'unknown key "{name}"{where}{hint or "; known are " + ", ".join(known)}'


def _tables() -> list[str]:
    return [name for name in Study.model_fields if name not in ("name", "description", "seed")]


def _homes() -> list[KeyPath]:
    return [(), *((name,) for name in _tables()), ("corpus", "subset", 0)]


def _known_keys(table: KeyPath) -> list[str]:
    """The keys that a table can have."""
    model: Any = Study
    for part in table:
        if isinstance(part, str):
            model = _model_in(model.model_fields[part].annotation)
    return [*(["preset"] if model is Recipe else []), *model.model_fields]


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
    shown = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
