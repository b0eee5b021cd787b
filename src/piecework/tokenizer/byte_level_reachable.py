"""Which tokens of a byte-level tokenizer are reachable, and how each is merged.

A token is reachable if the bytes of some pre-token merge into it. Nothing crosses its borders while it is made, so its
own bytes merge into it too. And the pre-tokenizer must not always cut inside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.byte_level_model import ByteLevelModel, Merge

__all__ = ["MergeOrder", "reachable_tokens"]

# A token can be a part of a pre-token. These neighbours take part in the pre-tokens of every known pattern.
_AROUND = (
    ("a", ""),
    ("", "a"),
    ("a", "a"),
    (" ", ""),
    ("", " "),
    ("", "\n"),
    ("\n", ""),
    ("1", ""),
    ("", "1"),
    (".", ""),
    ("", "."),
    ("A", ""),
    ("'", ""),
)


class MergeOrder:
    """The merges of a byte-level model, by rank."""

    def __init__(self, model: ByteLevelModel) -> None:
        self._tokens = model.tokens
        self._ids = {token: number for number, token in reversed(list(enumerate(model.tokens))) if token}
        self._ranks: dict[tuple[int, int], tuple[int, int]] | None = None
        if model.merges is not None:
            self._ranks = {}
            for rank, (left, right, merged) in enumerate(model.merges):
                self._ranks.setdefault((left, right), (rank, merged))

    def last(self, token: bytes) -> Merge | None:
        """The last merge that the bytes of a token undergo as a pre-token; None if nothing merges."""
        last: Merge | None = None
        for _, _, last in self.merges(token):  # noqa: B007  # the last one
            pass
        return last

    def merges(self, token: bytes) -> Iterator[tuple[int, int, Merge]]:
        """The merges that the bytes of a token undergo, in order: rank, number of symbols to the left, and merge."""
        try:
            symbols = [self._ids[token[at : at + 1]] for at in range(len(token))]
        except KeyError:
            return
        while len(symbols) > 1:
            known = [(*rank, at) for at, pair in enumerate(pairwise(symbols)) if (rank := self._rank(pair)) is not None]
            if not known:
                break
            first, merged, at = min(known, key=lambda each: (each[0], each[2]))
            yield first, at, (symbols[at], symbols[at + 1], merged)
            symbols[at : at + 2] = [merged]

    def _rank(self, pair: tuple[int, int]) -> tuple[int, int] | None:
        """The rank of a pair and the id that it becomes; without a list of merges, the rank is the id."""
        if self._ranks is not None:
            return self._ranks.get(pair)
        merged = self._ids.get(self._tokens[pair[0]] + self._tokens[pair[1]])
        return None if merged is None else (merged, merged)


def reachable_tokens(tokenizer: ByteLevelTokenizer) -> npt.NDArray[np.bool_]:
    """For each id, whether some text has it as a token; False for special tokens and empty ids.

    >>> import piecework as pw
    >>> counts = pw.count_pre_tokens(["a rose is a rose"], pre_tokenizer="gpt2")
    >>> tokenizer = pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=262))
    >>> [tokenizer.piece_texts[i] for i in np.flatnonzero(reachable_tokens(tokenizer))[-3:]]
    ['▁rose', 'is', '▁a']
    """
    model = tokenizer.model
    merging = MergeOrder(model)
    added = {*model.special_tokens.values(), *model.added_tokens.values()}
    reachable = np.zeros(tokenizer.vocab_size, bool)
    texts = {
        number: text
        for number, token in enumerate(model.tokens)
        if token and number not in added and (text := _text(token)) is not None
    }
    # Most tokens are the encoding of their own text, so they are reachable. This check is quick.
    for (number, text), ids in zip(texts.items(), tokenizer.encode_batch(list(texts.values())), strict=True):
        reachable[number] = ids == [number] or (
            _is_made(merging, number, model.tokens[number]) and not _is_always_cut(tokenizer, text)
        )
    for number, token in enumerate(model.tokens):
        if token and number not in added and number not in texts:
            reachable[number] = _is_made(merging, number, token)
    return reachable


def _is_made(merging: MergeOrder, number: int, token: bytes) -> bool:
    """Whether the bytes of a token merge into it."""
    return len(token) == 1 or ((last := merging.last(token)) is not None and last[2] == number)


def _text(token: bytes) -> str | None:
    try:
        return token.decode()
    except UnicodeDecodeError:
        return None


def _is_always_cut(tokenizer: ByteLevelTokenizer, text: str) -> bool:
    """Whether the pre-tokenizer cuts inside a text, alone and beside other characters."""
    split = tokenizer.pre_tokenizer.split
    if len(text) == 1 or len(split(text)) == 1:
        return False
    for before, after in _AROUND:
        start, stop = len(before), len(before) + len(text)
        cuts = accumulate(map(len, split(before + text + after)))
        if not any(start < cut < stop for cut in cuts):
            return False
    return True
