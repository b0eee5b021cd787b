"""How byte-level tokenizers cut text into pre-tokens: well-known patterns by name, and any other."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal, Self

from piecework import _core
from piecework.common.extras import require
from piecework.common.mistakes import did_you_mean
from piecework.errors import InputError, RecipeError

__all__ = ["DIGIT_GROUPS", "SLOW", "DigitGroups", "PreTokenizer"]

SLOW = "a pattern of one's own runs in tokenizers: counting takes some 40 times as long as with a named one"
"""benchmarks/byte_level.py measures both."""

DigitGroups = Literal["whole", "threes", "ones", "right"]

DIGIT_GROUPS: dict[DigitGroups, str] = {
    "whole": r" ?\p{N}+",
    "threes": r"\p{N}{1,3}",
    "ones": r"\p{N}",
    "right": r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))",
}
"""How numbers are cut, with the pattern: whole (gpt2 alone), in threes from the left, one by one, in threes from the
right."""

_DIGITS = "DIGITS"  # stands in a pattern where the pattern of the digits belongs
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_ASCII_CONTRACTIONS = "('s|'S|'t|'T|'re|'rE|'Re|'RE|'ve|'vE|'Ve|'VE|'m|'M|'ll|'lL|'Ll|'LL|'d|'D)"


def _plain_words(*, contractions: str = _CONTRACTIONS, end: str = "") -> str:
    return rf"{contractions}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{_DIGITS}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{end}{_SPACES}"


def _cased_words(contractions: str) -> str:
    sign = r"[^\r\n\p{L}\p{N}]?"
    words = f"{sign}{_UPPER}*{_LOWER}+{contractions}|{sign}{_UPPER}+{_LOWER}*{contractions}"
    return rf"{words}|{_DIGITS}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACES}"


@dataclass(frozen=True, slots=True)
class _Known:
    """A pattern that the core has a scanner for; several patterns are applied one after the other."""

    patterns: tuple[str, ...]
    digits: DigitGroups
    family: str
    contractions: str = "any_case"
    marks_in_words: bool = False
    whole_end: bool = False


_KNOWN = {
    "gpt2": _Known(
        (rf"'s|'t|'re|'ve|'m|'ll|'d| ?\p{{L}}+|{_DIGITS}| ?[^\s\p{{L}}\p{{N}}]+|\s+(?!\S)|\s+",),
        "whole",
        "gpt2",
        "lower_case",
    ),
    # Since 2024 tiktoken takes all whitespace at the end of a text as one pre-token, also where it has newlines.
    "cl100k": _Known((_plain_words(end=r"\s+(?![\s\S])|"),), "threes", "cl100k", whole_end=True),
    "o200k": _Known((_cased_words(f"{_CONTRACTIONS}?"),), "threes", "o200k"),
    "tekken": _Known((_cased_words(""),), "ones", "o200k", "none"),
    "llama3": _Known((_plain_words(),), "threes", "cl100k"),
    "qwen2": _Known((_plain_words(),), "ones", "cl100k"),
    "qwen3.5": _Known(
        (
            rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|{_DIGITS}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*"
            rf"|{_SPACES}",
        ),
        "ones",
        "cl100k",
        marks_in_words=True,
    ),
    "deepseek-v3": _Known(
        (
            _DIGITS,
            "[一-龥\u3040-ゟ゠-ヿ]+",
            r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
            rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_SPACES}",
        ),
        "threes",
        "deepseek",
        "none",
    ),
    # js-tiktoken's: JavaScript cannot turn off the case of a part of a pattern, so the cases are written out.
    "cl100k-js": _Known((_plain_words(contractions=_ASCII_CONTRACTIONS),), "threes", "cl100k", "ascii_case"),
    "o200k-js": _Known((_cased_words(f"{_ASCII_CONTRACTIONS}?"),), "threes", "o200k", "ascii_case"),
}

# Other ways to write patterns of the table, as files and packages have them.
_SAME = {
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s": "gpt2",
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": "gpt2",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": "gpt2",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s": "cl100k",
}


@dataclass(frozen=True)
class PreTokenizer:
    """Cuts text into the parts within which byte-level BPE merges.

    With a name it runs in the core, at about the speed of reading the text. With a custom pattern it uses the regular
    expressions of `tokenizers`, which is slower. A custom pattern that has a name is taken as that name.

    A pattern must match every text. It is tried on all characters, and refused if it leaves one out. If it leaves out a
    part of a text for another reason, that part is a pre-token of its own, as in `tokenizers`.

    >>> PreTokenizer("cl100k").split("It's 2026, isn't it?")
    ['It', "'s", ' ', '202', '6', ',', ' isn', "'t", ' it', '?']
    >>> PreTokenizer("cl100k", digits="right").split("1234567")
    ['1', '234', '567']
    """

    name: str
    """One of `names()`, or `custom`."""
    digits: DigitGroups | None = None
    """How numbers are cut, if it is not the usual way for the name."""
    pattern: str = ""
    """A regular expression in the syntax of `tokenizers`, where the name is `custom`."""

    def __post_init__(self) -> None:
        if self.name == "custom":
            if not self.pattern:
                raise RecipeError('the pre-tokenizer "custom" needs a pattern of your own: pattern = "..."')
            if self.digits:
                raise RecipeError("digits are cut by the pattern of a custom pre-tokenizer; leave the setting out")
            if known := _find_known((self.pattern,)):  # two that do the same are equal
                self._set(*known)
            elif message := _left_out(self.pattern):
                raise RecipeError(message)
            return
        if self.name not in _KNOWN:
            hint = did_you_mean(self.name, _KNOWN) or f"; there are {', '.join(_KNOWN)}"
            raise RecipeError(f'unknown pre-tokenizer "{self.name}"{hint}')
        if self.pattern:
            raise RecipeError(f'the pre-tokenizer "{self.name}" has its own pattern; "custom" takes another')
        if self.digits is not None and self.digits not in DIGIT_GROUPS:
            raise RecipeError(f'digits = "{self.digits}": there are {", ".join(DIGIT_GROUPS)}')
        if self.digits == "whole" and self.name != "gpt2":
            raise RecipeError('digits = "whole" is for the pre-tokenizer "gpt2" alone')
        if self.digits == _KNOWN[self.name].digits:
            object.__setattr__(self, "digits", None)  # two that do the same are equal

    def __str__(self) -> str:
        name, *further = self.settings().items()
        return " with ".join([f'"{name[1]}"', *(f"{key} = {value}" for key, value in further)])

    def _set(self, name: str, digits: DigitGroups | None = None, pattern: str = "") -> None:
        for field, value in (("name", name), ("digits", digits), ("pattern", pattern)):
            object.__setattr__(self, field, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return PreTokenizer.restored, (self.settings(),)  # the part in the core is made again

    def settings(self) -> dict[str, str]:
        """What is set, by name.

        >>> PreTokenizer("llama3", digits="right").settings()
        {'name': 'llama3', 'digits': 'right'}
        """
        given = {"name": self.name, "digits": self.digits or "", "pattern": self.pattern}
        return {name: value for name, value in given.items() if value}

    @classmethod
    def restored(cls, settings: Mapping[str, Any]) -> Self:
        """The pre-tokenizer with these `settings()`. A custom pattern is not tried again, so this is fast."""
        if settings.get("name") != "custom":
            return cls(**settings)
        restored = cls.__new__(cls)
        restored._set(**settings)
        return restored

    @staticmethod
    def names() -> tuple[str, ...]:
        """The names of the patterns that run in the core."""
        return tuple(_KNOWN)

    @classmethod
    def from_patterns(cls, *patterns: str) -> Self:
        """The pre-tokenizer of these patterns: by its name if it is known, else `custom`.

        >>> PreTokenizer.from_patterns(r"\\p{N}|\\P{N}+").name
        'custom'
        >>> PreTokenizer.from_patterns(*PreTokenizer("llama3", digits="right").patterns)
        PreTokenizer(name='llama3', digits='right', pattern='')
        """
        if known := _find_known(patterns):
            return cls(*known)
        if len(patterns) != 1:
            raise InputError(f"{len(patterns)} patterns one after the other are supported for deepseek-v3 alone")
        read = cls.restored({"name": "custom", "pattern": patterns[0]})
        read._compiled  # noqa: B018  # a broken pattern is refused here
        return read

    @property
    def is_native(self) -> bool:
        """Whether it runs in the core."""
        return self.name != "custom"

    @property
    def patterns(self) -> tuple[str, ...]:
        """The regular expressions, applied one after the other, in the syntax of `tokenizers`."""
        if not self.is_native:
            return (self.pattern,)
        known = _KNOWN[self.name]
        return _filled(known.patterns, self.digits or known.digits)

    def split(self, text: str) -> list[str]:
        """The pre-tokens of `text`; together they are the text."""
        return self._native.split(text) if self.is_native else self.cut(text)[0]

    def cut(self, text: str) -> tuple[list[str], list[str]]:
        """The pre-tokens of `text` by a custom pattern, and those of them that it does not match."""
        matches, isolated = self._compiled
        if not text.isascii():
            # As in the core, one U+FFFD for each byte of a lone surrogate.
            text = re.sub("[\ud800-\udfff]", "\ufffd" * 3, text)
        # One pass is enough where the matches are the whole text.
        matched = matches.pre_tokenize_str(text)
        parts = [part for part, _ in matched]
        if sum(map(len, parts)) == len(text):
            return parts, []
        known = {offsets for _, offsets in matched}
        found = isolated.pre_tokenize_str(text)
        return [part for part, _ in found], [part for part, offsets in found if offsets not in known]

    @cached_property
    def _native(self) -> _core.PreTokenizer:
        known = _KNOWN[self.name]
        return _core.PreTokenizer(
            known.family,
            contractions=known.contractions,
            digits=self.digits or known.digits,
            marks_in_words=known.marks_in_words,
            whole_end=known.whole_end,
        )

    @cached_property
    def _compiled(self) -> tuple[Any, Any]:
        """What gives the matches alone, and what cuts a text before and after each match."""
        tokenizers = require("tokenizers", extra="hf", purpose="a pattern of one's own")
        try:
            pattern = tokenizers.Regex(self.pattern)
        except Exception as error:
            raise RecipeError(f"the pattern {self.pattern!r} is broken: {error}") from error
        split = tokenizers.pre_tokenizers.Split
        return split(pattern, "removed", invert=True), split(pattern, "isolated")


def _filled(patterns: tuple[str, ...], digits: DigitGroups) -> tuple[str, ...]:
    return tuple(_fill(patterns, digits))


def _fill(patterns: tuple[str, ...], digits: DigitGroups) -> Iterator[str]:
    for pattern in patterns:
        yield pattern.replace(_DIGITS, DIGIT_GROUPS[digits])


def _find_known(patterns: tuple[str, ...]) -> tuple[str, DigitGroups | None] | None:
    """The name of these patterns and how they cut numbers, if that is not usual for the name."""
    plain = tuple(pattern.replace("\r", r"\r").replace("\n", r"\n") for pattern in patterns)
    if len(plain) == 1 and plain[0] in _SAME:
        return _SAME[plain[0]], None
    for name, known in _KNOWN.items():
        if plain == _filled(known.patterns, known.digits):
            return name, None
    for name, known in _KNOWN.items():
        for digits in DIGIT_GROUPS:
            if plain == _filled(known.patterns, digits):
                return name, digits
    return None


@cache  # trying takes 50 ms
def _left_out(pattern: str) -> str:
    """Which character a pattern leaves out, as a message; empty if none. tiktoken would lose it."""
    matches, _ = PreTokenizer.restored({"name": "custom", "pattern": pattern})._compiled
    for text in _texts_to_try():
        end = 0
        for _, (start, stop) in matches.pre_tokenize_str(text):
            if start != end:
                break
            end = stop
        if end < len(text):
            where = f" in {text!r}" if len(text) < 10 else ""
            return (
                f"the pattern {pattern!r} does not match {text[end]!r} (U+{ord(text[end]):04X}){where};"
                r" it must match every text: add an alternative such as |\s+|."
            )
    return ""


@cache
def _texts_to_try() -> list[str]:
    """All of ASCII and some characters of each kind, alone and beside others; then all assigned characters in order."""
    kinds: dict[str, list[str]] = {}
    for code in (*range(0x40000), *range(0xE0000, 0xF0010)):  # all that are assigned, and some that are not
        kinds.setdefault(unicodedata.category(chr(code)), []).append(chr(code))
    del kinds["Cs"]
    few = [*" \n!a1\u00a0\u2028", *map(chr, range(0x80))]
    few += [character for characters in kinds.values() for character in (*characters[:2], characters[-1])]
    texts = [side + each + side for each in few for side in ("", each, "a", "1", " ", "\n", ".", "é")]
    assigned = (characters for kind, characters in kinds.items() if kind not in ("Cn", "Co"))
    return [*texts, "".join(sorted(character for characters in assigned for character in characters))]
