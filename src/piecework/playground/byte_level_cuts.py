"""The token boundaries of a text at every size of a byte-level tokenizer, between characters and inside them."""

from __future__ import annotations

import numpy as np

from piecework.evaluation.curves import Sizes
from piecework.playground.cuts import NEVER, Cuts
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.tokens import Column

__all__ = ["SizedByteLevel"]


class SizedByteLevel:
    """A byte-level tokenizer with all of its smaller sizes.

    >>> import piecework as pw
    >>> counts = pw.count_pre_tokens(["på på på och"], pre_tokenizer="gpt2")
    >>> tokenizer = pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=259, special_tokens=[]))
    >>> cuts = SizedByteLevel(tokenizer).cuts("på och")
    >>> [(size, cuts.token_count(size)) for size in (256, 257, 258, 259)]
    [(256, 7), (257, 6), (258, 5), (259, 5)]
    """

    def __init__(self, tokenizer: ByteLevelTokenizer, *, name: str = "the tokenizer") -> None:
        """Raises an InputError if the tokenizer has no smaller sizes."""
        self.tokenizer = tokenizer
        self.sizes = Sizes.of(tokenizer, name=name)
        self._ranks: dict[int, int] = {}
        for rank, (_, _, merged) in enumerate(tokenizer.model.merges or (), 1):
            self._ranks.setdefault(merged, rank)

    def rank(self, piece_id: int) -> int | None:
        """The rank of the first merge that makes a piece, from 1; None if no merge makes it."""
        return self._ranks.get(piece_id)

    def first_size(self, merges: int) -> int:
        """The smallest vocabulary size with this many merges."""
        return self.sizes.smallest + int(np.searchsorted(self.sizes.merge_counts, merges))

    def cuts(self, text: str) -> Cuts:
        """The token boundaries at every size, from one encoding of each distinct pre-token."""
        known: dict[str, Column] = {}
        parts = []
        for part, token_id in self.tokenizer.pre_tokens(text):
            if token_id is not None:
                joins = np.zeros(len(part.encode()), np.int64)
                joins[0] = NEVER
            elif part in known:
                joins = known[part]
            else:
                joins = known[part] = self._byte_joins(part.encode())
            parts.append(joins)
        joins = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        if len(joins):
            joins[0] = 0  # nothing is before the first byte
        is_first = (np.frombuffer(text.encode(), np.uint8) & 0xC0) != 0x80
        characters = np.cumsum(is_first) - 1
        # A token that is cut out as a whole has no boundary between its bytes at any size.
        inner = ~is_first & (joins > 0)
        return Cuts(joins[is_first], characters[inner], joins[inner])

    def _byte_joins(self, pre_token: bytes) -> Column:
        """For each byte of a pre-token, the size from which on it is in one token with the byte before it."""
        joins = np.full(len(pre_token), NEVER, np.int64)
        merges = self.tokenizer._encoder.merges(pre_token)
        if merges:
            columns = np.array(merges, np.int64)
            joins[columns[:, 1]] = self.sizes.smallest + np.searchsorted(self.sizes.merge_counts, columns[:, 4])
        return joins
