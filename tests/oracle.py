"""The second oracle: training and encoding as SentencePiece 0.2.3 defines them, slow and obvious."""

import codecs
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from ctypes import c_float
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

# The scripts of the characters that the tests use, as ranges: first and last character in turn. All
# others are Common here, as are those that Unicode 9.0 did not have yet (U+0560, now Armenian).
SCRIPTS = {
    "Latin": "AZazªªººÀÖØöøʸＡＺａｚ",
    "Greek": "ΎΡΣϡ",
    "Cyrillic": "\u0400\u0484\u0487\u052f",
    "Armenian": "\u0531\u0556\u0559\u055f\u0561\u0587",
    "Arabic": "\u0600\u0604\u0620\u063f\u0641\u064a\u0656\u066f",
    "Han": "々々〇〇\u4e00\u9fd5ぁゖァヺーーｱﾝ",  # with Hiragana and Katakana: a word may have all
    "Inherited": "\u0300\u036f\u0485\u0486\u064b\u0655\u200c\u200d\u3099\u309a\ufe00\ufe0f",
}
DIGITS = "0123456789０１２３４５６７８９"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def _each_byte(error: UnicodeError) -> tuple[str, int]:
    """One U+FFFD for each bad byte. Python's "replace" makes one U+FFFD of several bad bytes."""
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd", error.start + 1


codecs.register_error("each byte", _each_byte)


@dataclass(frozen=True)
class Options:
    """SentencePiece's names and defaults."""

    vocab_size: int = 8000
    character_coverage: float = 0.9995
    max_sentencepiece_length: int = 16
    max_sentence_length: int = 4192
    split_by_unicode_script: bool = True
    split_by_number: bool = True
    split_digits: bool = False
    add_dummy_prefix: bool = True
    byte_fallback: bool = False
    hard_vocab_limit: bool = True
    control_symbols: Collection[str] = ()
    user_defined_symbols: Collection[str] = ()
    unk_id: int = 0
    bos_id: int = 1
    eos_id: int = 2
    pad_id: int = -1
    unk_piece: str = "<unk>"
    bos_piece: str = "<s>"
    eos_piece: str = "</s>"
    pad_piece: str = "<pad>"

    @property
    def meta_pieces(self) -> set[str]:
        ids = {"unk": self.unk_id, "bos": self.bos_id, "eos": self.eos_id, "pad": self.pad_id}
        special = {getattr(self, f"{name}_piece") for name, index in ids.items() if index >= 0}
        return special | {*self.control_symbols, *self.user_defined_symbols, *(BYTES * self.byte_fallback)}


def train(lines: Iterable[str | bytes], **options: Any) -> tuple[list[str], list[str]]:
    """The merges in order, and the required characters in order.

    >>> train(["abab ab"], vocab_size=9)
    (['ab', '▁ab', '▁abab'], ['a', 'b', '▁'])
    """
    o = Options(**options)
    texts = _sentences(lines, o)
    required = _required_characters(texts, o)
    words = Counter(word for text in texts for word in re.split("(?=▁)", text) if word)
    parts = {word: [c if c in required else "▅" for c in word] for word in words}
    # All pairs that were ever adjacent, even briefly: they stay candidates when their frequency is 0.
    candidates = {pair for word in parts for pair in pairwise(parts[word])}
    merges: list[str] = []
    while len(merges) < o.vocab_size - len(o.meta_pieces) - len(required):
        candidates = {(a, b) for a, b in candidates if _is_valid(a + b, o) and a + b not in merges}
        if not candidates:
            break
        frequencies: Counter[tuple[str, str]] = Counter()
        for word, count in words.items():
            for pair in pairwise(parts[word]):
                frequencies[pair] += count
        best = min(candidates, key=lambda pair: (-frequencies[pair], len("".join(pair)), "".join(pair)))
        merges.append("".join(best))
        for symbols in parts.values():
            for i in range(len(symbols)):
                if tuple(symbols[i : i + 2]) == best:
                    symbols[i : i + 2] = ["".join(best)]
                    candidates |= set(pairwise(symbols[max(i - 1, 0) : i + 2]))
    return merges, required


def encode(
    scores: Mapping[str, float],
    text: str,
    *,
    user_defined_symbols: Collection[str] = (),
    add_dummy_prefix: bool = True,
    byte_fallback: bool = False,
) -> list[str]:
    """The pieces of a text; `scores` are those of the normal pieces.

    >>> encode({"ab": -0.0, "▁ab": -1.0, "a": -2.0, "b": -3.0, "▁": -4.0}, "abba?!")
    ['▁ab', 'b', 'a', '?!']
    """
    if not text:
        return []
    escaped = "▁" * add_dummy_prefix + text.replace(" ", "▁")
    symbols = re.findall(_alternatives(user_defined_symbols) + "|.", escaped, re.DOTALL)
    while True:
        pairs = list(pairwise(symbols))
        known = [
            (scores["".join(pair)], -i)
            for i, pair in enumerate(pairs)
            if "".join(pair) in scores and not set(pair) & set(user_defined_symbols)
        ]
        if not known:
            break
        _, leftmost = max(known)
        symbols[-leftmost : -leftmost + 2] = ["".join(pairs[-leftmost])]
    pieces: list[str] = []
    after_unknown = False
    for symbol in symbols:
        is_known = symbol in scores or symbol in user_defined_symbols
        if not is_known and byte_fallback:
            pieces += [BYTES[byte] for byte in symbol.encode()]
        elif not is_known and after_unknown:
            pieces[-1] += symbol
        else:
            pieces.append(symbol)
        after_unknown = not is_known
    return pieces


def _sentences(lines: Iterable[str | bytes], o: Options) -> list[str]:
    """The lines that count, with ▁ for each space and U+001F for each meta piece."""
    raw = [line.encode() if isinstance(line, str) else line for line in lines]
    texts = [line.decode(errors="each byte") for line in raw if len(line) <= o.max_sentence_length]
    escaped = ["▁" * o.add_dummy_prefix + t.replace(" ", "▁") for t in texts if t and "▅" not in t]
    return [re.sub(_alternatives(o.meta_pieces), "\x1f", text) for text in escaped]


def _required_characters(texts: Iterable[str], o: Options) -> list[str]:
    """The most frequent characters, up to the coverage asked for. SentencePiece compares in float32."""
    counts = Counter(character for text in texts for character in text if character != "\0")
    required: list[str] = []
    covered = 0
    for character, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if c_float(covered / counts.total()).value >= c_float(o.character_coverage).value:
            break
        covered += count
        required += [character] if character != "\x1f" else []
    return required


def _is_valid(piece: str, o: Options) -> bool:
    """Whether training may make this piece; "▅" stands for every character that no merge crosses."""
    if len(piece) > o.max_sentencepiece_length or "▅" in piece or "▁" in piece[1:]:
        return False
    if o.split_digits and not set(piece).isdisjoint(DIGITS):
        return False
    scripts = [_script(character, o) for character in piece.lstrip("▁")]
    for i, script in enumerate(scripts):
        if script == "Inherited":
            scripts[i] = scripts[i - 1] if i else "Any"
    return not o.split_by_unicode_script or all(a == b or "Any" in (a, b) for a, b in pairwise(scripts))


def _script(character: str, o: Options) -> str:
    if character in DIGITS and not o.split_by_number:
        return "Any"
    for name, ranges in SCRIPTS.items():
        if any(ranges[i] <= character <= ranges[i + 1] for i in range(0, len(ranges), 2)):
            return name
    return "Common"


def _alternatives(pieces: Iterable[str]) -> str:
    """A pattern for the longest of these pieces; for no piece, one that matches nothing."""
    return "|".join(map(re.escape, sorted(pieces, key=len, reverse=True))) or "(?!)"
