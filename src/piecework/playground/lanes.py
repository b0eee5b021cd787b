"""Text to lanes: for each tokenizer the tokens in short columns, as the page takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from piecework.playground.catalogue import Shown
from piecework.playground.cuts import NEVER, SizedTokenizer
from piecework.tokenizer.columns import Column

__all__ = ["Utf16Places", "cut_columns", "lane"]


class Utf16Places:
    """Places in a text, counted as JavaScript counts: characters above U+FFFF take two.

    >>> Utf16Places("a😀b").of([0, 1, 2, 3]).tolist()
    [0, 1, 3, 4]
    """

    def __init__(self, text: str) -> None:
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        widths = 1 + (codes > 0xFFFF)
        self._places = np.concatenate([[0], np.cumsum(widths)])

    def __len__(self) -> int:
        return int(self._places[-1])

    def of(self, places: Column | Sequence[int]) -> Column:
        """These places, given in characters."""
        return self._places[places]


def lane(shown: Shown, text: str, places: Utf16Places) -> dict[str, Any]:
    """The tokens of a text: ids, lengths, and the gap before each where there are any; with the pieces that occur.

    >>> import piecework as pw
    >>> from piecework.playground.catalogue import NativeTokenizer
    >>> tokenizer = pw.train(pw.count_words(["ha ha"]), pw.Recipe(vocab_size=8))
    >>> found = lane(NativeTokenizer(tokenizer, name="small"), "ha ho", Utf16Places("ha ho"))
    >>> found["ids"].tolist(), found["lengths"].tolist(), found["gaps"], found["pieces"]
    ([4, 7, 6, 0], [2, 1, 1, 1], None, {0: '<unk>', 4: '▁ha', 6: 'h', 7: '▁'})
    """
    tokens = shown.encode(text)
    starts, ends = places.of(tokens.starts), places.of(tokens.ends)
    gaps = starts - np.append(0, ends[:-1]) if len(tokens) else starts
    distinct = np.unique(tokens.ids).tolist()
    pieces = shown.pieces
    return {
        "vocab_size": shown.vocab_size,
        "ids": tokens.ids,
        "lengths": ends - starts,
        "gaps": gaps if gaps.any() else None,
        "pieces": {piece_id: pieces[piece_id] for piece_id in distinct},
        "bytes": list(shown.byte_ids.intersection(distinct)),
        "unknown": list(shown.unknown_ids.intersection(distinct)),
    }


def cut_columns(sized: SizedTokenizer, text: str, places: Utf16Places) -> dict[str, Any]:
    """Where the text is cut at every size: `Cuts`, with places as JavaScript counts them."""
    cuts = sized.cuts(text)
    at = places.of(np.arange(len(text)))
    joins = np.zeros(len(places), np.int64)  # nothing is ever cut inside a character
    joins[at] = cuts.joins
    several = np.flatnonzero(cuts.tokens > 1)
    return {
        "joins": joins,
        "never": NEVER,
        "fallback": at[several],
        "fallback_tokens": cuts.tokens[several],
    }
