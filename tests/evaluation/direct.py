"""The metrics' definitions applied directly: whole documents encoded by SentencePiece, and counted token by token."""

import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import sentencepiece

import piecework as pw

PUNCTUATION = str.maketrans("", "", string.punctuation)
SIZE_TOTALS = ("tokens", "starts", "continued", "split_words")
# The characters at which str.split() splits.
WHITESPACE = np.array([code for code in range(0x3001) if chr(code).isspace()])


@dataclass
class Direct:
    """The totals of plain counting."""

    totals: Counter[str] = field(default_factory=Counter)
    frequencies: Counter[int] = field(default_factory=Counter)
    types: set[str] = field(default_factory=set)
    single_types: set[str] = field(default_factory=set)


def processor(tokenizer: pw.Tokenizer) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model_bytes)


def plain(text: str) -> str:
    """The text without ASCII punctuation."""
    return text.translate(PUNCTUATION)


def texts_of(kind: str, texts: list[str]) -> list[str]:
    """The texts that this kind of table counts: without punctuation for "eval_plain"."""
    return [plain(text) for text in texts] if kind == "eval_plain" else texts


def count_directly(tokenizer: pw.Tokenizer, texts: Iterable[str]) -> Direct:
    """Counts token by token, in plain Python."""
    model = processor(tokenizer)
    found = Direct()
    totals = found.totals
    totals.update(dict.fromkeys((*SIZE_TOTALS, "unknown", "byte_tokens", "partial", "words", "characters", "bytes"), 0))
    for text in texts:
        ids = model.encode(text)
        pieces = model.encode(text, out_type=str)
        found.frequencies.update(ids)
        totals["tokens"] += len(ids)
        totals["characters"] += len(text)
        totals["bytes"] += len(text.encode())
        for number, piece in enumerate(pieces):
            totals["unknown"] += model.is_unknown(ids[number])
            totals["byte_tokens"] += model.is_byte(ids[number])
            totals["partial"] += model.is_byte(ids[number]) and int(piece[3:5], 16) >= 0x80
            if piece.startswith("▁"):
                totals["starts"] += 1
                if number + 1 < len(pieces) and not pieces[number + 1].startswith("▁"):
                    totals["continued"] += 1
        owners = owners_of_bytes(model, ids, pieces)
        # The dummy prefix stands before the text.
        prefix = len(owners) - len(text.encode())
        at, last = prefix, 0
        for word in re.finditer(r"\S+", text):
            start = at + len(text[last : word.start()].encode())
            end = start + len(word.group().encode())
            at, last = end, word.end()
            totals["words"] += 1
            totals["split_words"] += len(set(owners[start:end])) > 1
        for unit in re.findall(r"^ *[^ ]*| +[^ ]*", text)[1:]:
            if unit.split() == [unit[1:]]:
                found.types.add(unit)
    for unit in found.types:
        if len(model.encode(unit[1:])) == 1:
            found.single_types.add(unit)
    return found


def owners_of_bytes(
    model: sentencepiece.SentencePieceProcessor, ids: Sequence[int], pieces: Sequence[str]
) -> list[int]:
    """For each byte of the text, the token that holds it."""
    owners: list[int] = []
    for number, (token, piece) in enumerate(zip(ids, pieces, strict=True)):
        length = 1 if model.is_byte(token) else len(piece.replace("▁", " ").encode())
        owners += [number] * length
    return owners


def count_with_arrays(tokenizer: pw.Tokenizer, texts: list[str]) -> dict[str, int]:
    """The same four totals with numpy, for large texts. The model must have byte fallback."""
    model = processor(tokenizer)
    starts = np.array([piece.text.startswith("▁") for piece in tokenizer.pieces])
    lengths = np.array(
        [1 if piece.type == "byte" else len(piece.text.replace("▁", " ").encode()) for piece in tokenizer.pieces]
    )
    totals = dict.fromkeys(SIZE_TOTALS, 0)
    for first in range(0, len(texts), 64):
        batch = texts[first : first + 64]
        for text, encoded in zip(batch, model.encode(batch, num_threads=2), strict=True):
            ids = np.array(encoded, int)
            is_start = starts[ids]
            totals["tokens"] += len(ids)
            totals["starts"] += int(is_start.sum())
            totals["continued"] += int((is_start[:-1] & ~is_start[1:]).sum())
            totals["split_words"] += _split_words(text, np.cumsum(lengths[ids]))
    return totals


def _split_words(text: str, token_ends: np.ndarray) -> int:
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    inside = np.r_[False, ~np.isin(codes, WHITESPACE), False]
    first, after = np.flatnonzero(inside[1:] & ~inside[:-1]), np.flatnonzero(inside[:-1] & ~inside[1:])
    sizes = 1 + (codes > 0x7F) + (codes > 0x7FF) + (codes > 0xFFFF)
    offsets = np.r_[0, np.cumsum(sizes)]
    prefix = (token_ends[-1] if len(token_ends) else 0) - offsets[-1]
    begins, ends = offsets[first] + prefix, offsets[after] + prefix
    return int((np.searchsorted(token_ends, begins, "right") != np.searchsorted(token_ends, ends - 1, "right")).sum())
