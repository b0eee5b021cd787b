"""Writes unicode_classes.hpp: the class of every code point, in the Unicode version of `tokenizers` and tiktoken.

    pip install unicodedata2==16.0.0
    python core/pretokenize/generate_unicode_classes.py > core/pretokenize/unicode_classes.hpp

Python's own unicodedata has the version of the interpreter, so the version is taken from a package.
"""

from __future__ import annotations

import unicodedata2

VERSION = "16.0.0"

# The bits of a class, in order: pre_tokenizer.cpp has the same.
UPPER, LOWER, OTHER_LETTER, MARK, NUMBER, SPACE, SYMBOL, CJK = (1 << bit for bit in range(8))

# \s of Oniguruma and of Rust's regex: the property White_Space.
WHITE_SPACE = {*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F}
WHITE_SPACE |= {0x3000}

# [一-龥぀-ゟ゠-ヿ] of DeepSeek-V3.
CJK_RANGES = ((0x4E00, 0x9FA5), (0x3040, 0x309F), (0x30A0, 0x30FF))

ROW = 8


def class_of(code: int) -> int:
    """The class of a code point as bits."""
    category = unicodedata2.category(chr(code))
    bits = 0
    if category in ("Lu", "Lt"):
        bits |= UPPER
    elif category == "Ll":
        bits |= LOWER
    elif category[0] == "L":
        bits |= OTHER_LETTER
    elif category[0] == "M":
        bits |= MARK
    elif category[0] == "N":
        bits |= NUMBER
    elif category[0] in "PS":
        bits |= SYMBOL
    if code in WHITE_SPACE:
        bits |= SPACE
    if any(first <= code <= last for first, last in CJK_RANGES):
        bits |= CJK
    return bits


def header() -> str:
    """The whole file."""
    if unicodedata2.unidata_version != VERSION:
        raise SystemExit(f"unicodedata2 is of Unicode {unicodedata2.unidata_version}; install unicodedata2=={VERSION}")
    entries, before = [], -1
    for code in range(0x110000):
        bits = class_of(code)
        if bits != before:
            entries.append(f"0x{code << 8 | bits:X}")
            before = bits
    rows = [", ".join(entries[at : at + ROW]) for at in range(0, len(entries), ROW)]
    return "\n".join(
        [
            "// The classes of code points in Unicode 16.0, made by generate_unicode_classes.py. Not edited by hand.",
            "#pragma once",
            "",
            "#include <cstdint>",
            "",
            "namespace piecework {",
            "",
            "// Where a class starts, and its bits in the lowest byte; it holds up to the next entry.",
            "// clang-format off",
            "inline constexpr uint32_t kUnicodeClasses[] = {",
            *(f"    {row}," for row in rows),
            "};",
            "// clang-format on",
            "",
            "}  // namespace piecework",
            "",
        ]
    )


if __name__ == "__main__":
    print(header(), end="")
