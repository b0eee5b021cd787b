"""How byte-level tokenizers cut text into pre-tokens: well-known patterns by name, and any other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

from piecework import _core
from piecework.common.extras import require
from piecework.common.mistakes import did_you_mean
from piecework.errors import InputError, RecipeError

__all__ = ["DIGIT_GROUPS", "DigitGroups", "PreTokenizer"]

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
    expressions of `tokenizers`, which is about 300 times slower.

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
            if not self.pattern or self.digits:
                raise RecipeError("a custom pre-tokenizer has a pattern, and no setting of digits beside it")
            self._compiled  # noqa: B018  # a broken pattern is refused here
            return
        if self.name not in _KNOWN:
            hint = did_you_mean(self.name, _KNOWN) or f"; there are {', '.join(_KNOWN)}"
            raise RecipeError(f'unknown pre-tokenizer "{self.name}"{hint}')
        if self.pattern:
            raise RecipeError(f'the pre-tokenizer "{self.name}" has its own pattern; name = "custom" takes another')
        if self.digits is not None and self.digits not in DIGIT_GROUPS:
            raise RecipeError(f'digits = "{self.digits}": there are {", ".join(DIGIT_GROUPS)}')
        if self.digits == "whole" and self.name != "gpt2":
            raise RecipeError('digits = "whole" is for the pre-tokenizer "gpt2" alone')
        if self.digits == _KNOWN[self.name].digits:
            object.__setattr__(self, "digits", None)  # two that do the same are equal

    def __reduce__(self) -> tuple[Any, ...]:
        return PreTokenizer, (self.name, self.digits, self.pattern)  # the part in the core is made again

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
        plain = tuple(pattern.replace("\r", r"\r").replace("\n", r"\n") for pattern in patterns)
        if len(plain) == 1 and plain[0] in _SAME:
            return cls(_SAME[plain[0]])
        for name, known in _KNOWN.items():
            if plain == _filled(known.patterns, known.digits):
                return cls(name)
        for name, known in _KNOWN.items():
            for digits in DIGIT_GROUPS:
                if plain == _filled(known.patterns, digits):
                    return cls(name, digits)
        if len(patterns) != 1:
            raise InputError(f"{len(patterns)} patterns one after the other are supported for deepseek-v3 alone")
        return cls("custom", pattern=patterns[0])

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
        return self._native.split(text) if self.is_native else self._split_slowly(text)

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
        """What cuts, and what leaves only the text between matches."""
        tokenizers = require("tokenizers", extra="hf", purpose="a pattern of one's own")
        try:
            pattern = tokenizers.Regex(self.pattern)
        except Exception as error:
            raise RecipeError(f"the pattern {self.pattern!r} is broken: {error}") from error
        split = tokenizers.pre_tokenizers.Split
        return split(pattern, "isolated"), split(pattern, "removed")

    def _split_slowly(self, text: str) -> list[str]:
        isolated, removed = self._compiled
        for left_over, (start, _) in removed.pre_tokenize_str(text):
            raise InputError(
                f"the pattern {self.pattern!r} does not match {left_over[:40]!r} at character {start} of the text;"
                r" a pattern must match every text: add an alternative such as |\s+|."
            )
        return [part for part, _ in isolated.pre_tokenize_str(text)]


def _filled(patterns: tuple[str, ...], digits: DigitGroups) -> tuple[str, ...]:
    return tuple(_fill(patterns, digits))


def _fill(patterns: tuple[str, ...], digits: DigitGroups) -> Iterator[str]:
    for pattern in patterns:
        yield pattern.replace(_DIGITS, DIGIT_GROUPS[digits])
