"""The arguments of SentencePiece's trainer: keywords or a string of flags, parsed to typed values as it parses them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import Any

from piecework.common.mistakes import did_you_mean
from piecework.tokenizer.schema import new_specs

__all__ = ["argument_fields", "parse_arguments", "split_flags"]

_TRUE, _FALSE = ("1", "t", "true", "y", "yes"), ("0", "f", "false", "n", "no")
_NORMALIZER_NAMES = {"normalization_rule_name": "name"}


def split_flags(flags: str) -> dict[str, str]:
    """The arguments in a string of flags; of a flag that is given twice, the first one counts, as in SentencePiece.

    >>> split_flags("--vocab_size=500 --byte_fallback --vocab_size=800")
    {'vocab_size': '500', 'byte_fallback': ''}
    """
    found: dict[str, str] = {}
    for flag in flags.split(" "):
        name, _, value = flag.removeprefix("--").partition("=")
        if name:
            found.setdefault(name, value)
    return found


def parse_arguments(arguments: Mapping[str, object]) -> dict[str, Any]:
    """The arguments as values of the types that SentencePiece's specs give them.

    >>> parse_arguments({"vocab_size": "500", "byte_fallback": "", "user_defined_symbols": "<a>,<b>"})
    {'vocab_size': 500, 'byte_fallback': True, 'user_defined_symbols': ['<a>', '<b>']}
    >>> parse_arguments({"vocab_size": "many"})
    Traceback (most recent call last):
    ValueError: vocab_size = 'many' is no integer of 32 bits
    """
    fields = argument_fields()
    parsed: dict[str, Any] = {}
    for name, value in arguments.items():
        if name not in fields:
            raise RuntimeError(f'SentencePiece has no argument "{name}"{did_you_mean(name, fields)}')
        parsed[name] = _parse(name, value, fields[name])
    return parsed


def argument_fields() -> dict[str, Any]:
    """The fields that an argument can set, by the argument's name."""
    specs = new_specs()
    trainer, normalizer = specs.trainer_spec.DESCRIPTOR, specs.normalizer_spec.DESCRIPTOR
    fields = dict(normalizer.fields_by_name) | dict(trainer.fields_by_name)
    del fields["name"], fields["precompiled_charsmap"]
    return fields | {name: normalizer.fields_by_name[field] for name, field in _NORMALIZER_NAMES.items()}


def _parse(name: str, value: object, field: Any) -> object:
    if field.is_repeated:
        # SentencePiece reads the `str` of anything but a list, also of a tuple.
        return [str(each) for each in value] if isinstance(value, list) else _csv(str(value))
    text = _write_csv(value) if isinstance(value, list) else str(value)
    if field.type == field.TYPE_STRING:
        return text
    if field.type == field.TYPE_BOOL:
        lower = text.lower() or "true"
        if lower not in (*_TRUE, *_FALSE):
            raise ValueError(f"{name} = {text!r} is neither true nor false")
        return lower in _TRUE
    if field.type == field.TYPE_ENUM:
        if text.upper() not in field.enum_type.values_by_name:
            names = ", ".join(value.name.lower() for value in field.enum_type.values)
            raise ValueError(f"{name} = {text!r} is none of {names}")
        return text.lower()
    is_float, is_int32 = field.type == field.TYPE_FLOAT, field.type == field.TYPE_INT32
    try:
        number = float(text) if is_float else int(text)
        if is_int32 and not -(1 << 31) <= number < 1 << 31:
            raise ValueError(number)
        return number
    except ValueError:
        expected = "number" if is_float else "integer of 32 bits" if is_int32 else "integer"
        raise ValueError(f"{name} = {text!r} is no {expected}") from None


def _csv(text: str) -> list[str]:
    return next(csv.reader([text]), []) if text else []


def _write_csv(values: list[object]) -> str:
    return ",".join(map(str, values))
