"""Corpora, recipes and texts made to break a tokenizer, the same for the same seed."""

import random
from typing import Any

# A corpus has few characters, so that many pairs have equal frequencies and words repeat.
ALPHABETS = [
    "ab",
    "abc",
    "aå",
    "aé\u0301",  # a composed and a combining accent
    "aα",
    "aж",
    "aªµ",  # ª is Latin, µ is Common
    "か字",
    "かカー",
    "字々〇ｶ",
    "か\u3099ア\u309a゛",  # the combining voicing marks, and the one that stands alone
    "ԱաՠA",  # U+0560 came after Unicode 9.0
    "ش\u064bلa",
    "٣ش3",
    "a1",
    "１1a",
    "12",
    "ａＺz",
    "😀👍a",
    "👩\u200d👧\ufe0f",
    "\u0301\u0300a",
    "aα\u0301",
    "a,.",
    "<>s|",
    "\u0485иa",
]
SPECIALS = [
    *"\t\0\r▁▄▆\ufffd\ufeff\u00a0\u3000\u2028\x85\x7f\U0010ffff\u0301\u200d0９",
    *("<s>", "</s>", "<unk>", "<pad>", "<c>", "<0x41>", "<0x0A>", "<0x4g>", "<|python|>", "<|endoftext|>"),
    *("▁▁", "<|", "ab", "aa"),
]
SPACES = [" "] * 6 + ["  ", "   ", " " * 7, " \t", "\t", "▁", " ▁ "]
INVALID = [
    b"\xff",
    b"\x80",
    b"\xc3",
    b"\xc0\x80",  # overlong
    b"\xe0\x80\xaf",  # overlong
    b"\xed\xa0\x80",  # a surrogate
    b"\xf4\x90\x80\x80",  # past U+10FFFF
    b"\xf8\x88\x80\x80\x80",
    b"\xf0\x9f\x98",  # an emoji cut short
    b"\xe2\x96",  # ▁ cut short
    b"\xe2\x81",
]
SYMBOLS = [
    *(["<|python|>"], ["ab"], ["a", "aa"], ["aba", "ab", "b"], ["▁a"], ["▁"], ["<s>x", "<"], ["か", "😀"]),
    *(["<|javascript|>", "<|python|>", "<|sql|>", "<|shell|>"], ["<0x41>x"], ["\u0301"], ["1", "12"]),
]
SWITCHES = ["split_digits", "add_dummy_prefix", "byte_fallback", "split_by_unicode_script", "split_by_number"]
WORDS = ["def f(x):", "return", "the", "och", " og", "þetta", "år", "123", "3.14", "▁the"]


def corpus(seed: int) -> list[str]:
    """Lines that have no newline inside and no "\\r" at the end. At least one of them counts in training."""
    rng = random.Random(f"corpus {seed}")
    alphabet = "".join(rng.sample(ALPHABETS, rng.choice([1, 1, 1, 2, 3])))
    specials = rng.sample(SPECIALS, rng.choice([0, 0, 1, 2, 4]))
    lexicon = [_word(rng, alphabet, specials) for _ in range(rng.randint(1, 8))]
    lines = []
    for _ in range(rng.choice([1, 2, 5, 12])):
        words = [
            rng.choice(lexicon) if rng.random() < 0.7 else _word(rng, alphabet, specials)
            for _ in range(rng.choice([1, 1, 2, 4, 8]))
        ]
        line = "".join(word + (rng.choice(SPACES) if rng.random() < 0.9 else "") for word in words)
        if rng.random() < 0.1:
            line = rng.choice(["", " ", "   ", line + "▅", "\0", "▅", " " + line])
        lines.append(line.rstrip("\r") if rng.random() < 0.5 else line.strip(" \r"))
    if not any(line and "▅" not in line for line in lines):
        lines.append(alphabet)
    return lines


def corpus_bytes(seed: int) -> list[bytes]:
    """The same with invalid UTF-8 between the characters, and characters cut short."""
    rng = random.Random(f"bytes {seed}")
    lines = []
    for line in corpus(seed):
        characters = [character.encode() for character in line]
        for _ in range(rng.choice([0, 1, 2, 5])):
            characters.insert(rng.randint(0, len(characters)), rng.choice(INVALID))
        if characters and rng.random() < 0.3:
            at = rng.randrange(len(characters))
            characters[at] = characters[at][:-1]
        lines.append(b"".join(characters).rstrip(b"\r"))
    return [*lines, b"a\xffa"]


def options(seed: int) -> dict[str, Any]:
    """Random options of a recipe, without `vocab_size`: the function `vocab_size` selects it."""
    rng = random.Random(f"options {seed}")
    chosen: dict[str, Any] = {}
    for name in SWITCHES:
        if rng.random() < 0.5:
            chosen[name] = rng.random() < 0.5
    if rng.random() < 0.5:
        chosen["character_coverage"] = rng.choice([0.98, 0.99, 0.9999, 1.0, round(rng.uniform(0.98, 1), 4)])
    if rng.random() < 0.5:
        chosen["max_sentencepiece_length"] = rng.choice([2, 3, 4, 5, 8, 16, 32])
    if rng.random() < 0.4:
        chosen["user_defined_symbols"] = rng.choice(SYMBOLS)
    if rng.random() < 0.15:
        chosen["control_symbols"] = ["<c>", "<|endoftext|>"]
    if rng.random() < 0.15:
        chosen |= {"pad_id": 3}
    elif rng.random() < 0.15:
        chosen |= {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3, "pad_piece": "<|pad|>"}
    elif rng.random() < 0.1:
        chosen |= {"bos_id": -1, "eos_id": -1}
    return chosen


def vocab_size(seed: int, smallest: int, largest: int) -> int:
    """A size that the corpus allows; half of the time the largest, where merges of frequency 0 show."""
    rng = random.Random(f"size {seed}")
    return rng.choice([largest, largest, smallest, rng.randint(smallest, largest)])


def text(seed: int) -> str:
    """A text to encode."""
    rng = random.Random(f"text {seed}")
    alphabet = "".join(rng.sample(ALPHABETS, rng.choice([1, 2, 3])))
    parts: list[str] = []
    for _ in range(rng.choice([0, 1, 2, 5, 20])):
        match rng.randrange(9):
            case 0:
                parts.append(" " * rng.choice([1, 2, 3, 4, 8, 23, 24, 25, 26, 48, 49, 100]))
            case 1:
                parts.append("▁" * rng.choice([1, 2, 25]))
            case 2:
                parts.append(rng.choice(SPECIALS))
            case 3:
                parts.append(rng.choice(alphabet) * rng.choice([2, 5, 30, 200]))
            case 4:
                first, last = rng.choice([(0, 0x20), (0, 0xD7FF), (0xE000, 0x10FFFF)])
                parts.append(chr(rng.randint(first, last)))
            case 5:
                parts.append(rng.choice(["\n", "\n\n", "\r\n", "\n    ", "\t\t", " \n "]))
            case 6:
                parts.append(rng.choice(WORDS))
            case _:
                parts.append(_word(rng, alphabet, SPECIALS) + " " * rng.randrange(2))
    return "".join(parts)


def _word(rng: random.Random, alphabet: str, specials: list[str]) -> str:
    kind = rng.random()
    if kind < 0.2:
        return rng.choice(alphabet) * rng.choice([2, 3, 4, 5, 7, 8, 17])
    if kind < 0.4:
        return "".join(rng.choices(alphabet, k=rng.choice([2, 3]))) * rng.choice([2, 3, 4])
    word = rng.choices(alphabet, k=rng.choice([1, 2, 3, 5, 9]))
    if specials and rng.random() < 0.5:
        word.insert(rng.randint(0, len(word)), rng.choice(specials))
    return "".join(word)
