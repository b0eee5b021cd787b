"""How text is normalised before it is counted: SentencePiece's rules, NFC, or a table of rules."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from pathlib import Path
from typing import Any, Literal

from piecework import _core
from piecework.common.extras import require
from piecework.errors import RecipeError

__all__ = ["Normalization", "RuleName", "describe_normalization", "nfc_rules", "normalization_rules"]

RuleName = Literal["identity", "nfc", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"]

USER_DEFINED = "user_defined"
"""SentencePiece's name for the rules of a TSV file."""

# SentencePiece 0.2.3 added one rule to those whose names start with nmt: ARABIC LETTER MARK becomes a space.
_ADDED_IN_0_2_3 = {"\u061c": " "}

# The two characters that counts cannot hold after normalisation: a newline, and SentencePiece's mark for unknown.
_NOT_COUNTED = {"\n": "a newline", "\u2585": "U+2585"}


@dataclass(frozen=True, slots=True)
class Normalization:
    """The normalisation of a recipe: what changes the words that are counted.

    >>> Normalization("identity").normalizer() is None
    True
    >>> Normalization("identity", remove_extra_whitespaces=True).normalizer().normalize("  a   b ")
    'a b'
    """

    name: str
    """As in the model's `normalizer_spec`."""
    precompiled_charsmap: bytes = b""
    """The rules as SentencePiece compiles them."""
    remove_extra_whitespaces: bool = False

    def normalizer(self) -> _core.Normalizer | None:
        """What the core's counters take; None if text stays as it is."""
        if not self.precompiled_charsmap and not self.remove_extra_whitespaces:
            return None
        return _core.Normalizer(
            precompiled_charsmap=self.precompiled_charsmap, remove_extra_whitespaces=self.remove_extra_whitespaces
        )

    def settings(self) -> dict[str, Any] | None:
        """What counts record, so that they serve no other normalisation; None if text stays as it is."""
        if not self.precompiled_charsmap and not self.remove_extra_whitespaces:
            return None
        digest = hashlib.sha256(self.precompiled_charsmap).hexdigest() if self.precompiled_charsmap else None
        return {
            "rules": self.name,
            "rules_sha256": digest,
            "remove_extra_whitespaces": self.remove_extra_whitespaces,
        }


def describe_normalization(settings: Mapping[str, Any] | None) -> str:
    """The settings that counts record, in words.

    >>> describe_normalization(None)
    'no normalisation'
    >>> describe_normalization(Normalization("identity", remove_extra_whitespaces=True).settings())
    'normalization_rule_name = identity, remove_extra_whitespaces = true'
    """
    if settings is None:
        return "no normalisation"
    removed = str(settings["remove_extra_whitespaces"]).lower()
    digest = f" ({settings['rules_sha256'][:8]})" if settings["rules_sha256"] else ""
    return f"normalization_rule_name = {settings['rules']}{digest}, remove_extra_whitespaces = {removed}"


def normalization_rules(name: RuleName, *, tsv: str = "", release: str | None = None) -> bytes:
    """The `precompiled_charsmap` of rules: by name, or of a TSV file as SentencePiece reads it.

    `release` is the release of SentencePiece whose rules are wanted; without it, that of the installed one.

    >>> normalization_rules("identity")
    b''
    """
    if tsv:
        return _compiled_file(tsv)
    if name == "identity":
        return b""
    return _compiled_nfc() if name == "nfc" else _compiled(name, release)


def _sentencepiece() -> Any:
    sentencepiece = require("sentencepiece", extra="hf", purpose="normalisation")
    sentencepiece.set_min_log_level(2)
    return sentencepiece


def _normalizer(**arguments: Any) -> Any:
    return _sentencepiece().SentencePieceNormalizer(**arguments)


def _charsmap(normalizer: Any) -> bytes:
    """Field 2 of a serialised NormalizerSpec; its other fields before that are texts too."""
    spec: bytes = normalizer.serialized_normalizer_spec()
    at = 0
    while at < len(spec):
        tag, at = _varint(spec, at)
        size, at = _varint(spec, at)
        if tag == 2 << 3 | 2:
            return spec[at : at + size]
        at += size if tag & 7 == 2 else 0
    return b""


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


@lru_cache(maxsize=4)
def _compiled(name: str, release: str | None) -> bytes:
    normalizer = _normalizer(rule_name=name)
    wanted = _has_added(release or _sentencepiece().__version__)
    if not name.startswith("nmt_") or wanted == _has_added(_sentencepiece().__version__):
        return _charsmap(normalizer)
    rules = {source: target for source, target in dict(normalizer.decompile()).items() if source not in _ADDED_IN_0_2_3}
    return _charsmap(_normalizer(norm_map=list({**rules, **(_ADDED_IN_0_2_3 if wanted else {})}.items())))


def _has_added(release: str) -> bool:
    return tuple(map(int, release.split(".")[:3])) >= (0, 2, 3)


@lru_cache(maxsize=1)
def _compiled_nfc() -> bytes:
    return _charsmap(_normalizer(norm_map=sorted(nfc_rules().items())))


def _compiled_file(tsv: str) -> bytes:
    if not Path(tsv).is_file():
        raise RecipeError(f"normalization_rule_tsv = {tsv!r}: no such file")
    try:
        normalizer = _normalizer(rule_tsv=tsv)
    except (RuntimeError, OSError, ValueError) as error:
        raise RecipeError(f"normalization_rule_tsv = {tsv!r}: SentencePiece cannot read it: {error}") from error
    for source, target in dict(normalizer.decompile()).items():
        for character, what in _NOT_COUNTED.items():
            if character in target:
                raise RecipeError(
                    f"normalization_rule_tsv = {tsv!r}: the rule for {source!r} gives {what}, which words cannot hold;"
                    " take the rule out"
                )
    return _charsmap(normalizer)


def nfc_rules() -> dict[str, str]:
    """NFC as rules: every character, every sequence that composes to one, and the usual marks in any order.

    SentencePiece has no such rules. A table of rules cannot say all of NFC, since any number of marks can follow a
    letter: these reorder up to three marks, in the scripts where text has so many. Unicode is that of Python.

    >>> nfc_rules()["e\u0301"], nfc_rules()["\u212b"]
    ('é', 'Å')
    """
    rules: dict[str, str] = {}

    def add(sequence: str) -> None:
        composed = unicodedata.normalize("NFC", sequence)
        if composed != sequence:
            rules[sequence] = composed

    for code in (*range(0xD800), *range(0xE000, 0x110000)):
        add(chr(code))
        parts = unicodedata.normalize("NFD", chr(code))
        if parts != chr(code):
            for sequence in _sequences(parts):
                add(sequence)
    for marks in _MARKS:
        for count in (2, 3):
            for few in permutations(marks, count):
                add("".join(few))
    return rules


# Marks that follow one another in the text of a script: points of Hebrew, vowel signs of Arabic with madda, hamza and
# superscript alef, tone and asat of Myanmar, accents above and below of Latin.
_MARKS = (
    (*map(chr, range(0x5B0, 0x5BD)), "\u05bf", "\u05c1", "\u05c2"),
    (*map(chr, range(0x64B, 0x656)), "\u0670"),
    ("\u1037", "\u1039", "\u103a"),
    tuple("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030c\u031b\u0323\u0327\u0328\u0331"),
)
_ARABIC_VOWELS = tuple(map(chr, range(0x64B, 0x653)))
_ARABIC_SIGNS = ("\u0653", "\u0654", "\u0655")


def _sequences(parts: str) -> Iterator[str]:
    """Texts that compose to one character: its marks in any order, some of them composed already.

    In Arabic, vowel signs can come between the letter and the sign that it composes with.
    """
    for marks in permutations(parts[1:]):
        text = parts[0] + "".join(marks)
        yield text
        for end in range(2, len(text)):
            start = unicodedata.normalize("NFC", text[:end])
            if len(start) == 1:
                yield start + text[end:]
    if parts[1:] in _ARABIC_SIGNS:
        for vowels in (*_ARABIC_VOWELS, *map("".join, permutations(_ARABIC_VOWELS, 2))):
            yield parts[0] + vowels + parts[1:]
