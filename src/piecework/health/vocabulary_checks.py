"""Checks of a vocabulary without any text: alphabet, bytes, duplicates, unreachable pieces, symbols, size."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress

import numpy as np

from piecework.common.percent import format_percent
from piecework.common.printable import printable
from piecework.evaluation.metrics import Array
from piecework.evaluation.piece_columns import piece_columns
from piecework.health.finding import Finding
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.byte_level_reachable import reachable_tokens
from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.reachable import reachable_pieces
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["VOCABULARY_CHECKS", "Native", "is_regular", "listed_pieces", "split_characters"]

Native = Tokenizer | ByteLevelTokenizer

PRINTABLE_ASCII = "".join(chr(code) for code in range(0x21, 0x7F))
ALPHABETS = {
    "Greek": "αβγδεζηθικλμνξοπρστυφχψω",
    "Cyrillic": "".join(map(chr, range(0x430, 0x450))),
    "Armenian": "".join(map(chr, range(0x561, 0x587))),
    "Hebrew": "".join(map(chr, range(0x5D0, 0x5EB))),
    "Arabic": "".join(map(chr, (*range(0x627, 0x63B), *range(0x641, 0x64B)))),
    "Devanagari": "".join(map(chr, (*range(0x905, 0x90C), *range(0x915, 0x929), *range(0x92A, 0x931)))),
    "Thai": "".join(map(chr, range(0xE01, 0xE2F))),
    "Georgian": "".join(map(chr, range(0x10D0, 0x10F1))),
    "Hiragana": "".join(map(chr, range(0x3042, 0x308E))),
    "Katakana": "".join(map(chr, range(0x30A2, 0x30EE))),
}
"""The letters that every text of a script has. A vocabulary with more than half of them should have all."""
MANY_DUPLICATES = 0.5
"""Measured: 21 % in DeepSeek's vocabulary, 22 % in one of five Nordic languages, 34 % in Mistral's."""
# Bytes that UTF-8 never uses.
_NEVER = frozenset({0xC0, 0xC1, *range(0xF5, 0x100)})
_EDGES = SPACE + string.whitespace
_LOOKS_SPECIAL = re.compile(r"<.+>|\[[A-Z_/ ]+\]|\{\{.*\}\}")


def listed_pieces(pieces: Sequence[str], most: int = 8) -> str:
    """Pieces in a sentence, with invisible characters as escapes.

    >>> listed_pieces(["@", "\\t", "^"], most=2)
    '@ \\\\t and 1 more'
    """
    more = f" and {len(pieces) - most:,} more" if len(pieces) > most else ""
    return " ".join(map(printable, pieces[:most])) + more


def split_characters(tokenizer: Native, characters: Iterable[str]) -> list[str]:
    """The characters that become bytes or the unknown piece.

    >>> import piecework as pw
    >>> split_characters(pw.train(["en ros"], vocab_size=12, hard_vocab_limit=False), "rxs")
    ['x']
    """
    texts = list(characters)
    parts = tokenizer.byte_ids | tokenizer.unknown_ids
    return [text for text, ids in zip(texts, tokenizer.encode_batch(texts), strict=True) if not parts.isdisjoint(ids)]


def is_regular(tokenizer: Native) -> Array:
    """For each id, whether the piece is regular: of several characters, and not of ▁ alone."""
    if isinstance(tokenizer, Tokenizer):
        return piece_columns(tokenizer).are("regular")
    return np.array([piece.group == "regular" for piece in tokenizer.pieces])


def _bytes(tokenizer: Native) -> Finding:
    if isinstance(tokenizer, ByteLevelTokenizer):
        known = {token[0] for token in tokenizer.model.tokens if len(token) == 1}
    else:
        known = {int(piece.text[3:5], 16) for piece in tokenizer._meta_pieces if piece.type == "byte"}
        if not known:
            return Finding(
                "bytes",
                "warn",
                "the vocabulary has no byte pieces: a character without a piece becomes unknown, and its text is lost",
                "train with byte_fallback = true",
            )
    missing = sorted(set(range(256)) - known - _NEVER)
    if missing:
        names = tuple(f"<0x{byte:02X}>" for byte in missing)
        return Finding(
            "bytes",
            "fail",
            f"{len(missing)} bytes of UTF-8 have no piece, so some text cannot be encoded: {listed_pieces(names)}",
            "train again: no edit adds a byte",
            names,
        )
    return Finding("bytes", "pass", "every byte of UTF-8 has a piece, so every text can be encoded")


def _ascii(tokenizer: Native) -> Finding:
    missing = split_characters(tokenizer, PRINTABLE_ASCII)
    if not missing:
        return Finding("ascii", "pass", "every printable character of ASCII has a piece")
    subject = (
        "1 printable character of ASCII has"
        if len(missing) == 1
        else (f"{len(missing)} printable characters of ASCII have")
    )
    cost = "encoded as bytes, and no longer piece can contain"
    if not tokenizer.byte_ids:
        cost = "unknown, and the text is lost of"
    pronoun = ("it is", "it") if len(missing) == 1 else ("they are", "them")
    return Finding(
        "ascii",
        "warn",
        f"{subject} no piece: {listed_pieces(missing, 20)}; {pronoun[0]} {cost} {pronoun[1]}",
        f'train with required_chars = "{_toml("".join(missing))}", or a higher character_coverage',
        tuple(missing),
    )


def _alphabets(tokenizer: Native) -> Finding:
    missing: list[str] = []
    scripts = []
    for script, letters in ALPHABETS.items():
        absent = split_characters(tokenizer, letters)
        if 0 < len(absent) < len(letters) / 2:
            missing += absent
            scripts.append(script)
    if not missing:
        return Finding("alphabets", "pass", "no script that the vocabulary covers lacks a letter of its basic alphabet")
    advice = f'train with required_chars = "{_toml("".join(missing))}", or a higher character_coverage'
    if isinstance(tokenizer, ByteLevelTokenizer):
        advice = (
            "give languages of these scripts a higher weight in training: each of these letters costs several tokens"
        )
    return Finding(
        "alphabets",
        "warn",
        f"{len(missing)} letters of {', '.join(scripts)} have no piece: {listed_pieces(missing, 20)}",
        advice,
        tuple(missing),
    )


def _toml(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _near_duplicates(tokenizer: Native) -> Finding:
    learned = list(compress(tokenizer.piece_texts, is_regular(tokenizer)))
    # A character with and without a space is no waste: both are needed.
    folded = [bare.casefold() if len(bare) > 1 else "" for bare in (text.strip(_EDGES) for text in learned)]
    variants: dict[str, list[str]] = {}
    occurrences = Counter(folded)
    for text, each in zip(learned, folded, strict=True):
        if each and occurrences[each] > 1:
            variants.setdefault(each, []).append(text)
    families = sorted(variants.values(), key=lambda each: (-len(each), each))
    repeated = sum(len(family) - 1 for family in families)
    share = repeated / max(len(learned), 1)
    largest = f"; most: {listed_pieces(families[0], 6)}" if families else ""
    summary = (
        f"{format_percent(share, decimals=0)} of the learned pieces differ from another one only in case or space"
        f"{largest}"
    )
    names = tuple("/".join(family) for family in families)
    if share <= MANY_DUPLICATES:
        return Finding("near-duplicates", "pass", summary, "", names)
    return Finding(
        "near-duplicates",
        "warn",
        summary,
        "look at the training text for words in capitals (headings, tables), and count it without them; or drop rare"
        " variants with piecework edit --drop",
        names,
    )


def _doubles(tokenizer: Native) -> Finding:
    if isinstance(tokenizer, ByteLevelTokenizer):
        tokens = [token for token in tokenizer.model.tokens if token]
        twice = sorted({token for token in tokens if tokens.count(token) > 1}) if len(set(tokens)) < len(tokens) else []
        names = tuple(repr(token) for token in twice)
        if names:
            return Finding(
                "ties",
                "fail",
                f"{len(names)} tokens have two ids: {listed_pieces(names)}",
                "keep one id of each; runtimes choose differently",
                names,
            )
        return Finding("ties", "pass", "no two tokens are the same, so that every runtime gives the same ids")
    tied = [tokenizer._texts[number] for number in tokenizer._vocabulary.tied_pieces()]
    if tied:
        return Finding(
            "ties",
            "warn",
            f"{len(tied)} pieces share a score with another one: {listed_pieces(tied)}; a list of merges must put one"
            " first, so runtimes may differ",
            "give them scores of their own, and check with piecework verify",
            tuple(tied),
        )
    return Finding("ties", "pass", "no two pieces share a score, so that every runtime merges in the same order")


def _unreachable(tokenizer: Native) -> Finding:
    if isinstance(tokenizer, ByteLevelTokenizer):
        reachable = reachable_tokens(tokenizer)
    else:
        reachable = reachable_pieces(tokenizer)
    kinds = ("normal", "user_defined") if isinstance(tokenizer, Tokenizer) else ("normal",)
    texts, types = tokenizer.piece_texts, tokenizer._types
    names = tuple(texts[i] for i in np.flatnonzero(~reachable).tolist() if types[i] in kinds)
    if not names:
        return Finding("unreachable", "pass", "some text encodes to every learned piece")
    return Finding(
        "unreachable",
        "warn",
        f"no text encodes to {len(names):,} pieces: {listed_pieces(names)}",
        "drop them with piecework edit --drop, or use their ids for new symbols",
        names,
    )


def _forgeable(tokenizer: Native) -> Finding:
    if isinstance(tokenizer, ByteLevelTokenizer):
        found: Iterator[str] = iter(tokenizer.model.added_tokens)
        others = len(tokenizer.model.special_tokens)
        setting = "special_tokens"
    else:
        setting = "control_symbols"
        found = (piece.text for piece in tokenizer._meta_pieces if piece.type == "user_defined")
        others = sum(piece.type == "control" for piece in tokenizer._meta_pieces)
    names = tuple(text for text in found if _LOOKS_SPECIAL.fullmatch(text))
    kept = f"text cannot spell the {others} special tokens"
    if not names:
        return Finding(
            "forgeable", "pass", f"{kept}, in SentencePiece and in Piecework" if others else "no special token"
        )
    return Finding(
        "forgeable",
        "warn",
        f"text that spells {listed_pieces(names, 5)} gets the id of the symbol: a user can forge"
        f" {'it' if len(names) == 1 else 'them'}",
        f"make markers that only your code may write special ({setting}), or remove them from untrusted text before"
        " encoding; in transformers, encode it with split_special_tokens=True",
        names,
    )


def _size(tokenizer: Native) -> Finding:
    size = tokenizer.vocab_size
    if size % 64 == 0:
        by = 128 if size % 128 == 0 else 64
        return Finding("size", "pass", f"{size:,} pieces: a multiple of {by}, which fast matrix products need")
    return Finding(
        "size",
        "warn",
        f"{size:,} pieces: not a multiple of 64, so matrix products with the embeddings are slower",
        f"pad with piecework edit --pad-to-multiple 128 ({-size % 128} reserved slots), or pad the embeddings",
    )


VOCABULARY_CHECKS: tuple[Callable[[Native], Finding], ...] = (
    _bytes,
    _ascii,
    _alphabets,
    _unreachable,
    _near_duplicates,
    _doubles,
    _forgeable,
    _size,
)
