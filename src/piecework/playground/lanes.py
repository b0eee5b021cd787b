"""Encodes a text for one lane: token columns in the form that the page reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from piecework.playground.byte_level_cuts import SizedByteLevel
from piecework.playground.catalogue import LaneTokenizer
from piecework.playground.cuts import NEVER, SizedTokenizer
from piecework.tokenizer.tokens import Column

__all__ = ["Utf16Offsets", "cut_columns", "lane"]


class Utf16Offsets:
    """Converts character offsets to UTF-16 offsets, which JavaScript uses: characters above U+FFFF take two units.

    >>> Utf16Offsets("a😀b").convert([0, 1, 2, 3]).tolist()
    [0, 1, 3, 4]
    """

    def __init__(self, text: str) -> None:
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        widths = 1 + (codes > 0xFFFF)
        self._offsets = np.concatenate([[0], np.cumsum(widths)])

    def __len__(self) -> int:
        return int(self._offsets[-1])

    def convert(self, offsets: Column | Sequence[int]) -> Column:
        """The UTF-16 offsets of character offsets."""
        return self._offsets[offsets]


def lane(tokenizer: LaneTokenizer, text: str, offsets: Utf16Offsets) -> dict[str, Any]:
    """The tokens of a text: ids, lengths, gaps between tokens (None if there are none), and the pieces that occur.

    >>> import piecework as pw
    >>> from piecework.playground.catalogue import NativeTokenizer
    >>> small = pw.train(pw.count_words(["ha ha"]), pw.Recipe(vocab_size=8))
    >>> found = lane(NativeTokenizer(small, name="small"), "ha ho", Utf16Offsets("ha ho"))
    >>> found["ids"].tolist(), found["lengths"].tolist(), found["gaps"], found["pieces"]
    ([4, 7, 6, 0], [2, 1, 1, 1], None, {0: '<unk>', 4: '▁ha', 6: 'h', 7: '▁'})
    """
    tokens = tokenizer.tokens(text)
    starts, ends = offsets.convert(tokens.starts), offsets.convert(tokens.ends)
    gaps = starts - np.append(0, ends[:-1]) if len(tokens) else starts
    distinct = np.unique(tokens.ids).tolist()
    pieces = tokenizer.pieces
    return {
        "vocab_size": tokenizer.vocab_size,
        "ids": tokens.ids,
        "lengths": ends - starts,
        "gaps": gaps if gaps.any() else None,
        "pieces": {piece_id: pieces[piece_id] for piece_id in distinct},
        "bytes": list(tokenizer.byte_ids.intersection(distinct)),
        "unknown": list(tokenizer.unknown_ids.intersection(distinct)),
    }


def cut_columns(sized: SizedTokenizer | SizedByteLevel, text: str, offsets: Utf16Offsets) -> dict[str, Any]:
    """The token boundaries of a text at every size: `Cuts` with UTF-16 offsets."""
    cuts = sized.cuts(text)
    at = offsets.convert(np.arange(len(text)))
    joins = np.zeros(len(offsets), np.int64)  # a character is never cut
    joins[at] = cuts.joins
    return {"joins": joins, "never": NEVER, "inner": at[cuts.inner], "inner_joins": cuts.inner_joins}
