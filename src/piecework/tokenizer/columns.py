"""The merges that encoding a text performs, in columns."""

from __future__ import annotations

from dataclasses import dataclass

from piecework.tokenizer.tokenizer import Tokenizer
from piecework.tokenizer.tokens import Column

__all__ = ["MergeColumns", "merge_columns"]


@dataclass(frozen=True, slots=True, eq=False)
class MergeColumns:
    """The merges that encoding a text performs: merge i makes piece `pieces[i]` from `text[starts[i]:ends[i]]`.

    Its two symbols meet at `middles[i]`. The merges of one unit have the same `units[i]` and are in the order in which
    they happen. The dummy prefix is before the first character, so a merge that joins it has its middle at 0.
    """

    pieces: Column
    units: Column
    starts: Column
    middles: Column
    ends: Column

    def __len__(self) -> int:
        return len(self.pieces)


def merge_columns(tokenizer: Tokenizer, text: str) -> MergeColumns:
    """All merges from the characters of a text to its tokens.

    >>> import piecework as pw
    >>> tokenizer = pw.train(pw.count_words(["ha ha"]), pw.Recipe(vocab_size=8))
    >>> merges = merge_columns(tokenizer, "ha")
    >>> [tokenizer.pieces[i].text for i in merges.pieces], merges.middles.tolist()
    (['ha', '▁ha'], [1, 0])
    """
    return MergeColumns(*tokenizer._encoder.merge_columns(text))
