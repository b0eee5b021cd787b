"""The `tokenizer.json` of Hugging Face for a tokenizer, with SentencePiece's ids.

User-defined symbols are cut out by the pre-tokenizer and are not added tokens. SentencePiece adds the prefix ▁ before a
text that starts with a symbol, and none after a symbol. An added token is cut out before the prefix is added, so a text
that starts with one would lose the prefix. A symbol on its own is found in the vocabulary as a whole (`ignore_merges`).
The same would happen to a text between two symbols that reads like a byte piece, `<0x41>`, or like an unreachable
piece. These few texts are cut once more, where SentencePiece has the end of a token.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from piecework.common.terms import PieceType
from piecework.errors import ModelError
from piecework.tokenizer.base import BaseTokenizer
from piecework.tokenizer.merge_list import merge_list, tied_pieces
from piecework.tokenizer.pieces import SPACE, Piece
from piecework.tokenizer.schema import NORMAL, TYPE_NUMBERS

__all__ = ["added_token", "caveats", "special_pieces", "tokenizer_json"]

# Not \A and \z, or ^ and $: the regular expressions of Rust, JavaScript and Python differ on them.
_START, _END = r"(?<![\s\S])", r"(?![\s\S])"
_LISTED = 5
# A text between two symbols can read like a piece of these types.
_IN_TEXT = (TYPE_NUMBERS["byte"], TYPE_NUMBERS["unused"], NORMAL)


def tokenizer_json(tokenizer: BaseTokenizer) -> dict[str, Any]:
    """The content of `tokenizer.json`, for orjson. Its two long parts are JSON already.

    >>> import piecework as pw
    >>> content = tokenizer_json(pw.train(pw.count_words(["a rose is a rose"]), pw.Recipe(vocab_size=15)))
    >>> orjson.loads(orjson.dumps(content["model"]["merges"]))[:2], content["pre_tokenizer"]
    ([['o', 's'], ['▁', 'a']], None)
    """
    spec = tokenizer._specs.trainer_spec
    if spec.treat_whitespace_as_suffix or not tokenizer._specs.normalizer_spec.escape_whitespaces:
        setting = (
            "treat_whitespace_as_suffix = true" if spec.treat_whitespace_as_suffix else "escape_whitespaces = false"
        )
        raise ModelError(f"a model with {setting} has no counterpart in tokenizer.json; export it --to sentencepiece")
    symbols = sorted(_texts_of(tokenizer, "user_defined"), key=len, reverse=True)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": piece.id, **added_token(piece)} for piece in special_pieces(tokenizer)],
        "normalizer": _normalizer(tokenizer),
        "pre_tokenizer": _pre_tokenizer(tokenizer, symbols),
        "post_processor": None,
        "decoder": _decoder(tokenizer),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": _texts_of(tokenizer, "unknown")[0],
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            # SentencePiece makes one token of neighbouring unknown characters, unless it writes them as bytes.
            "fuse_unk": not spec.byte_fallback,
            "byte_fallback": spec.byte_fallback,
            "ignore_merges": bool(symbols),
            "vocab": orjson.Fragment(tokenizer._vocabulary.ids_json()),
            "merges": merge_list(tokenizer._encoder),
        },
    }


def special_pieces(tokenizer: BaseTokenizer) -> list[Piece]:
    """The unknown and control pieces, which prompts contain and decoding leaves out."""
    return [piece for piece in tokenizer._meta_pieces if piece.type in ("unknown", "control")]


def added_token(piece: Piece) -> dict[str, Any]:
    """A special piece as an added token."""
    return {
        "content": piece.text,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }


def caveats(tokenizer: BaseTokenizer) -> Iterator[str]:
    """What a `tokenizer.json` cannot express of this model; some texts may get other ids."""
    if tied := tied_pieces(tokenizer._vocabulary):
        yield (
            f"{len(tied):,} pieces share their score with another ({_list(tied)}); SentencePiece takes the leftmost"
            " of them, other runtimes the one that is listed first"
        )
    if unused := _texts_of(tokenizer, "unused"):
        texts = set(tokenizer._texts) - {piece.text for piece in tokenizer._meta_pieces}
        unused = [
            text for text in unused if any(text[:at] in texts and text[at:] in texts for at in range(1, len(text)))
        ]
    if unused:
        yield f"{len(unused):,} unused pieces are merged and taken apart again by SentencePiece alone ({_list(unused)})"
    # A character that is a symbol is cut out before merging.
    if alone := set(tokenizer._vocabulary.lone_characters()).difference(_texts_of(tokenizer, "user_defined")):
        what = "character is in pieces but is no piece itself"
        if len(alone) > 1:
            what = "characters are in pieces but are no pieces themselves"
        yield f"{len(alone):,} {what} ({_list(sorted(alone))})"
    if tokenizer._specs.normalizer_spec.precompiled_charsmap:
        yield "the normalisation rules of the model are applied a little differently by other runtimes"


def _texts_of(tokenizer: BaseTokenizer, kind: PieceType) -> list[str]:
    return [piece.text for piece in tokenizer._meta_pieces if piece.type == kind]


def _list(texts: Sequence[str]) -> str:
    return ", ".join(texts[:_LISTED]) + (", …" if len(texts) > _LISTED else "")


def _normalizer(tokenizer: BaseTokenizer) -> dict[str, Any]:
    spec = tokenizer._specs.normalizer_spec
    steps: list[dict[str, Any]] = []
    if spec.precompiled_charsmap:
        charsmap = base64.b64encode(spec.precompiled_charsmap).decode()
        steps.append({"type": "Precompiled", "precompiled_charsmap": charsmap})
    if spec.remove_extra_whitespaces:
        # SentencePiece takes ▁ for a space at the end of a text, not at its start.
        steps.append(_replace({"Regex": f"{_START} +|[ {SPACE}]+{_END}"}, ""))
        steps.append(_replace({"Regex": " {2,}"}, " "))
    if spec.add_dummy_prefix:
        steps.append({"type": "Prepend", "prepend": SPACE})
    steps.append(_replace({"String": " "}, SPACE))
    return {"type": "Sequence", "normalizers": steps}


def _decoder(tokenizer: BaseTokenizer) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [_replace({"String": SPACE}, " "), {"type": "ByteFallback"}, {"type": "Fuse"}]
    if tokenizer._specs.normalizer_spec.add_dummy_prefix:
        steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {"type": "Sequence", "decoders": steps}


def _replace(pattern: dict[str, str], content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def _pre_tokenizer(tokenizer: BaseTokenizer, symbols: Sequence[str]) -> dict[str, Any] | None:
    if not symbols:
        return None
    # Of several symbols that fit SentencePiece takes the longest; a regular expression takes the first.
    patterns = ["|".join(map(_escape, symbols))]
    if cuts := _cuts(tokenizer):
        texts = (f"{_escape(left)}(?=(?:{'|'.join(map(_escape, rights))}){_END})" for left, rights in cuts.items())
        patterns.append(f"{_START}(?:{'|'.join(texts)})")
    steps = [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        for pattern in patterns
    ]
    return steps[0] if len(steps) == 1 else {"type": "Sequence", "pretokenizers": steps}


def _escape(text: str) -> str:
    """The text as a pattern. Other engines refuse some of the backslashes that re.escape writes."""
    return re.sub(r"([\\^$.|?*+()\[\]{}])", r"\\\1", text)


def _cuts(tokenizer: BaseTokenizer) -> dict[str, list[str]]:
    """Pieces whose own text SentencePiece encodes differently, each cut into two parts that encode on their own."""
    # After a symbol there is no prefix, and nothing merges with it. The longest symbol: no other symbol continues it.
    symbol = max(_texts_of(tokenizer, "user_defined"), key=len)
    whole = tokenizer._encoder.whole_pieces(
        before=symbol, after="", ids_before=tokenizer.encode(symbol), ids_after=[], plain_spaces=False
    )
    texts, types = tokenizer._texts, tokenizer._vocabulary.types
    unsafe = {texts[i]: types[i] for i, is_whole in enumerate(whole) if not is_whole}
    cuts: dict[str, list[str]] = {}
    for text, kind in unsafe.items():
        if kind not in _IN_TEXT or len(text) == 1:
            continue
        token_ends = {end - len(symbol) for _, _, _, end in tokenizer._encoder.encode_spans(symbol + text)}
        for at in sorted(end for end in token_ends if 0 < end < len(text)):
            if text[:at] not in unsafe and text[at:] not in unsafe:
                cuts.setdefault(text[:at], []).append(text[at:])
                break
    return cuts
