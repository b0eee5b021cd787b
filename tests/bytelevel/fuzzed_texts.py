"""Texts that are hard to cut: every script, marks, emoji, apostrophes, and long runs of spaces and newlines."""

from __future__ import annotations

import random

WHITESPACE = "\t\n\v\f\r \x1c\x85\xa0\u1680\u2000\u2009\u2028\u2029\u202f\u205f\u3000\u200b\ufeff"
CONTRACTIONS = (
    "'s",
    "'S",
    "'t",
    "'RE",
    "'re",
    "'Ve",
    "'m",
    "'ll",
    "'lL",
    "'d",
    "'ſ",
    "'l",
    "'x",
    "’s",
    "''",
    "'",
    "'r",
)
MARKS = "\u0301\u0308\u05b0\u0903\u093f\u0e31\u3099\ufe0f\u20e3\U000e0101"
SCRIPTS = (
    *(
        "abc",
        "xyzAB",
        "ÅÄÖåäö",
        "ĲǅǲΔσςΩ",
        "Жжы",
        "אבג",
        "عربي",
        "हिन्दी",
        "தமிழ்",
        "ไทย",
        "ကမ္ဘာ",
        "ქართ",
        "ᏣᎳᎩꮳ",
        "ʰˠᵃⁿ",
    ),
    *("漢字龥龦", "ひらがなゝ", "カタカナー・゠", "한국어", "ᠮᠣᠩ", "𝔘𝔫𝔦", "𐐀𐐨", "𓀀", "ﬁﬀ", "İıſK"),
)
NUMBERS = ("0", "12", "1234567", "٣٤٥", "Ⅻ", "½²", "𝟘𝟙", "௧௨", "〇", "㊿", "9" * 10)
SIGNS = (
    *'!?.,;:-_/\\|@#$%&*()[]{}<>=+~^`"',
    "…",
    "—",
    "«",
    "№",
    "€",
    "©",
    "�",
    "\0",
    "\x7f",
    "\x9f",
    "\ue000",
    "\u0378",
)
EMOJI = ("😀", "👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇸🇪", "❤️", "1️⃣")


def fuzzed_texts(count: int, *, seed: int, most_parts: int = 14) -> list[str]:
    """The same texts for the same seed."""
    rng = random.Random(seed)
    return ["".join(_part(rng) for _ in range(rng.randint(1, most_parts))) for _ in range(count)]


def _part(rng: random.Random) -> str:
    kind = rng.randrange(12)
    if kind < 3:
        word = rng.choice(SCRIPTS)
        return "".join(rng.choice(word) for _ in range(rng.randint(1, 5)))
    if kind < 5:
        return rng.choice((" ", " ", "  ", "\n", "\r\n", " \n", "\n ", rng.choice(WHITESPACE) * rng.randint(1, 4)))
    if kind == 5:
        return "".join(rng.choice(WHITESPACE) for _ in range(rng.randint(1, 6)))
    if kind == 6:
        return rng.choice(CONTRACTIONS)
    if kind == 7:
        return rng.choice(NUMBERS) * rng.randint(1, 2)
    if kind == 8:
        return rng.choice(MARKS) * rng.randint(1, 2)
    if kind == 9:
        return rng.choice(EMOJI)
    if kind == 10:
        return chr(rng.choice((rng.randrange(0xD800), rng.randrange(0xE000, 0x110000))))
    return rng.choice(SIGNS) * rng.randint(1, 3)


def long_runs() -> list[str]:
    """Runs that make a pattern backtrack far. Numbers that are slow if digits are counted anew for each group."""
    runs = [" ", "\n", "\r\n", "a", "A", "1", "-", "\u0301", "漢", "😀", "\0", " \n"]
    return [before + run * 3000 + after for run in runs for before in ("", "x") for after in ("", "y", " y", "\n")]


def every_code_point() -> str:
    """Each code point after and before letters, spaces and itself."""
    # From the planes that have nearly no characters, only some code points.
    codes = (*range(0xD800), *range(0xE000, 0x34000), *range(0x34000, 0x110000, 64), *range(0xE0000, 0xE0200))
    return "".join(f"{chr(code)}a B{chr(code)} {chr(code)}" for code in codes)
