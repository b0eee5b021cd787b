"""Reads a study file: reports every mistake at once, each with its line and what was probably meant."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from piecework.errors import InputError, Mistake, StudyError
from piecework.study.explain import WrongKey, explain
from piecework.study.schema import StudySettings, check_name
from piecework.study.subsets import look_for_subsets
from piecework.study.toml_lines import KeyPath, key_lines

__all__ = ["load_settings"]

Settings = TypeVar("Settings", bound=StudySettings)

MOST_SYNTAX_ERRORS = 10
MOST_MISTAKES = 100
MOST_KEY_PARTS = 32
# Parsers take time that grows with the square of the number of parts.
_KEY_PART = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_DEEP_KEY = re.compile(
    rf"(?:^|[\[{{,])[ \t]*({_KEY_PART}(?:[ \t]*\.[ \t]*{_KEY_PART}){{{MOST_KEY_PARTS}}})", re.MULTILINE
)


def load_settings(path: Path, settings_class: type[Settings], *, check_corpus: bool = True) -> Settings:
    """Read the file. A StudyError has all of its mistakes; with `check_corpus`, those of the corpus too."""
    settings, text, syntax = _parse(_read(path), path)
    lines = key_lines(text)
    study, wrong = _valid_part(settings_class, settings, path, lines)
    mistakes = syntax + [
        study.mistake(each.key, each.message) for each in wrong.values() if not syntax or _stands_alone(each, lines)
    ]
    tables = {key[0] for key in wrong}
    if not syntax:
        mistakes += [study.mistake(key, message) for key, message in _inconsistencies(study, wrong)]
        if check_corpus and "corpus" not in tables:
            look_for_subsets(study, mistakes, check_samples=tables.isdisjoint({"weights", "sampling"}))
    if mistakes:
        raise StudyError(_in_order(mistakes))
    return study


def _valid_part(
    settings_class: type[Settings], settings: dict[str, Any], path: Path, lines: dict[KeyPath, int]
) -> tuple[Settings, dict[KeyPath, WrongKey]]:
    """The study without its wrong settings, and the wrong settings.

    pydantic compares settings with each other only where each is valid. So the wrong ones are removed and the rest is
    validated again, until no mistake hides another.
    """
    wrong: dict[KeyPath, WrongKey] = {}
    while True:
        try:
            return _build(settings_class, settings, path, lines), wrong
        except ValidationError as error:
            if error.error_count() > MOST_MISTAKES:
                raise StudyError(_first_mistakes(error, path, lines)) from None
            for each in explain(error):
                key = each.key
                wrong.setdefault(key, each)
                settings = {**settings, "corpus": _ANY_CORPUS} if key[0] == "corpus" else _without(settings, key)


def _first_mistakes(error: ValidationError, path: Path, lines: Mapping[KeyPath, int]) -> list[Mistake]:
    first = [Mistake(each.message, str(path), lines.get(each.key)) for each in islice(explain(error), MOST_MISTAKES)]
    return [*first, Mistake(f"and {error.error_count() - MOST_MISTAKES:,} more mistakes", str(path))]


_ANY_CORPUS = {"path": "{language}"}


def _without(settings: dict[str, Any], key: KeyPath) -> dict[str, Any]:
    """The settings without that key. If the key is inside a list, the whole list is removed."""
    name, *deeper = key
    inside = settings.get(str(name))
    rest = {other: value for other, value in settings.items() if other != name}
    if deeper and isinstance(inside, dict) and deeper[0] in inside:
        rest[str(name)] = _without(inside, tuple(deeper))
    return rest


def _inconsistencies(study: StudySettings, wrong: Mapping[KeyPath, WrongKey]) -> Iterator[tuple[KeyPath, str]]:
    """The inconsistencies of the study, without comparisons with a setting that is wrong itself."""
    unknown = {key[1] if len(key) > 1 else "preset" for key in wrong if key[0] == "recipe"}
    for key, message in study.inconsistencies():
        compared = {"vocab_size"} if key[0] == "analysis" else {"user_defined_symbols", "special_tokens"}
        if unknown.isdisjoint({"preset", *compared}) and not any(key[0] == other[0] == "corpus" for other in wrong):
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

    tomllib stops at the first mistake. To report others too, its line is blanked and the text is read again. Reading
    ends if the mistake may span several lines or hides a table's name.
    """
    mistakes: list[Mistake] = []
    if deep := _DEEP_KEY.search(text):
        deep_line = text.count("\n", 0, deep.start(1)) + 1
        raise StudyError([Mistake(f"a key has more than {MOST_KEY_PARTS} parts", str(path), deep_line)])
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


def _build(
    settings_class: type[Settings], settings: Mapping[str, Any], path: Path, lines: dict[KeyPath, int]
) -> Settings:
    """The study, or pydantic's ValidationError, which the `__init__` of a subclass may turn into text."""
    study = settings_class.__new__(settings_class)
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


def _stands_alone(wrong: WrongKey, lines: Mapping[KeyPath, int]) -> bool:
    """Whether it is a mistake regardless of other lines. Lines that are not valid TOML are missing here."""
    key = wrong.key
    is_value = key in lines and not any(other != key and other[: len(key)] == key for other in lines)
    return wrong.is_unknown or (is_value and not wrong.compares)


def _in_order(mistakes: list[Mistake]) -> list[Mistake]:
    """The study file's mistakes by line, then those of other files."""
    first = mistakes[0].file
    return sorted(dict.fromkeys(mistakes), key=lambda mistake: (mistake.file != first, mistake.line or 0))
