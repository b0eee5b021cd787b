"""Texts that show differences between runtimes: every piece, code with indentation, symbols, random strings."""

from __future__ import annotations

import random
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.reachable import border_character, byte_samples
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["code_texts", "fuzzed_texts", "symbol_texts", "vocabulary_texts"]

_AROUND_SYMBOLS = (
    *("{0}", "{0}x", "x{0}", "x {0}", "{0} x", " {0}", "{0} ", "  {0}  ", "{0}{1}", "{0} {1}", "{0}{0}", "x{0}y"),
    *("\n{0}\n", "{0}    return", "{0}<0x41>", "{0}▁x", "▁{0}", "{0}å字😀", "<{0}>"),
)
_RUN_LENGTHS = (1, 2, 3, 4, 5, 8, 12, 16, 23, 24, 25, 26, 47, 48, 49, 50, 100)
_LINES = ("\n", "\n\n", "\r\n", "\n    ", "\t\t", " \n ", "\t", "\r", "\x0b", "\x85", "\u2028")
_SIGNS = (
    "\0",
    "\x7f",
    "\u00a0",
    "\u00ad",
    "\u200b",
    "\u3000",
    "\ufeff",
    "\ufffd",
    "\ufffc",
    "e\u0301",
    "ﬁ",
    "👩\u200d👧",
    "▁",
)
_PLANES = ((0x20, 0x7E), (0x80, 0x24F), (0x370, 0x6FF), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0x1F300, 0x1F6FF))
_ANY = ((0, 0xD7FF), (0xE000, 0x10FFFF))
_CODE_FILES = 40
_PIECES_IN_A_TEXT = 50
_CODE_FILE_BYTES = 50_000


def vocabulary_texts(tokenizer: Tokenizer) -> list[str]:
    """Texts in which each piece occurs alone, and between characters that are in no piece. A text has many pieces.

    Between such characters a piece encodes to itself, if it is reachable: each merge on the way to it is performed. So
    a runtime that lacks the piece, gives it another id, or lacks one of these merges, gives other ids. Symbols, special
    pieces and names of bytes are written out, and every byte occurs in a character that is no piece, if there is one.

    >>> import piecework as pw
    >>> tokenizer = pw.train(["en ros en ros"], vocab_size=12)
    >>> {"en", "<s>", "<unk>"} <= set(vocabulary_texts(tokenizer))
    True
    """
    border = border_character(tokenizer)
    pieces = [text.replace(SPACE, " ") for text in (*_texts(tokenizer, "normal"), *_texts(tokenizer, "unused"))]
    names = [*_texts(tokenizer, "unknown"), *_texts(tokenizer, "control"), *_texts(tokenizer, "byte")]
    special = [around.format(name) for name in names for around in ("{}", "x{}y", " {} ", "{0}{0}")]
    characters = list(byte_samples())
    return [
        *symbol_texts(tokenizer),
        *pieces,
        *_joined(pieces, border),
        *_joined(names, border),
        *special,
        *_joined(characters, ""),
        *(" ".join(chunk) for chunk in _chunks(characters)),
    ]


def _joined(texts: Sequence[str], border: str) -> Iterator[str]:
    for chunk in _chunks(texts):
        yield border + border.join(chunk) + border


def _chunks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    return (texts[start : start + _PIECES_IN_A_TEXT] for start in range(0, len(texts), _PIECES_IN_A_TEXT))


def symbol_texts(tokenizer: Tokenizer) -> list[str]:
    """Each user-defined symbol alone, at the start, at the end, between spaces, twice; and whitespace runs.

    >>> import piecework as pw
    >>> recipe = pw.Recipe(vocab_size=20, hard_vocab_limit=False, user_defined_symbols=["<|sv|>"])
    >>> symbol_texts(pw.train(pw.count_words(["en ros"]), recipe))[:3]
    ['<|sv|>', '<|sv|>x', 'x<|sv|>']
    """
    symbols = _texts(tokenizer, "user_defined")
    texts = [
        around.format(symbol, symbols[(number + 1) % len(symbols)])
        for number, symbol in enumerate(symbols)
        for around in _AROUND_SYMBOLS
    ]
    runs = [around.format(" " * n) for n in _RUN_LENGTHS for around in ("{}", "{}x", "x{}", "x\n{}y", "x{}y")]
    return ["", *runs, *texts] if not symbols else [*texts, "", *runs]


def code_texts() -> list[str]:
    """Source files of Python's standard library, which are there wherever Python is."""
    folder = Path(sysconfig.get_path("stdlib"))
    paths = sorted(path for path in folder.glob("*.py") if path.stat().st_size < _CODE_FILE_BYTES)
    return [text for path in paths[:: max(len(paths) // _CODE_FILES, 1)] if (text := _read(path))]


def fuzzed_texts(tokenizer: Tokenizer | ByteLevelTokenizer, count: int, *, seed: int = 1) -> Iterator[str]:
    """Random strings of pieces, symbols, special tokens, spaces and rare characters; the same for the same seed."""
    rng = random.Random(f"fuzzed {seed}")
    learned = [text.replace(SPACE, " ") for text in _texts(tokenizer, "normal")] or ["a"]
    symbols = _texts(tokenizer, "user_defined") or ["<|symbol|>"]
    special = [*_texts(tokenizer, "control"), *_texts(tokenizer, "unknown"), "<0x41>", "<0x0A>"]
    for _ in range(count):
        yield "".join(_part(rng, learned, symbols, special) for _ in range(rng.choice((1, 2, 5, 12, 30))))


def _part(rng: random.Random, learned: Sequence[str], symbols: Sequence[str], special: Sequence[str]) -> str:
    kind = rng.random()
    if kind < 0.4:
        return rng.choice(learned)
    if kind < 0.5:
        return rng.choice(learned)[: rng.randint(1, 3)] * rng.choice((2, 3, 5, 30))
    if kind < 0.65:
        return " " * rng.choice(_RUN_LENGTHS)
    if kind < 0.72:
        return rng.choice(_LINES)
    if kind < 0.8:
        return rng.choice(symbols)
    if kind < 0.82:
        return rng.choice(special)
    if kind < 0.88:
        return rng.choice(_SIGNS)
    return chr(rng.randint(*rng.choice(_PLANES if kind < 0.96 else _ANY)))


def _texts(tokenizer: Tokenizer | ByteLevelTokenizer, kind: str) -> list[str]:
    return [text for text, each in zip(tokenizer.piece_texts, tokenizer._types, strict=True) if each == kind]


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return ""
