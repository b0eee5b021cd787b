"""What extending a tokenizer changes: tokens for every number of added pieces, from one encoding pass.

A new piece is merged from two tokens, and all pieces that it is a part of come later. So the tokens with k - 1 new
pieces follow from those with k: each token that is the k-th piece becomes its two parts. Taking the new pieces back one
by one, the last first, gives the number of tokens for every k, down to the old tokenizer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from piecework.corpus.sampling import BUCKETS
from piecework.evaluation import intervals
from piecework.evaluation.metrics import Array, divide
from piecework.evaluation.text_sample import TextSample
from piecework.training.new_piece import Extended

__all__ = ["Growth", "growth"]


@dataclass(frozen=True, slots=True)
class Growth:
    """Tokens of one language by the number of added pieces."""

    tokens: Array
    """[32 buckets][0 to all added pieces]. If pieces were replaced, index 0 is the vocabulary without the old ones."""
    before: Array
    """Of the old tokenizer, [32 buckets]."""
    words: Array
    """Whitespace words, [32 buckets]."""
    bytes: Array
    """[32 buckets]."""

    def tokens_per_word(self) -> Array:
        """For every number of added pieces."""
        return divide(self.tokens.sum(axis=0), self.words.sum())

    def bytes_per_token(self) -> Array:
        """For every number of added pieces."""
        return divide(self.bytes.sum(), self.tokens.sum(axis=0))

    def interval(self, added: int) -> tuple[float, float] | None:
        """The 95 % interval of tokens per word with that many added pieces."""
        return self._interval(self.tokens[:, added], self.words)

    def interval_before(self) -> tuple[float, float] | None:
        """The 95 % interval of tokens per word of the old tokenizer."""
        return self._interval(self.before, self.words)

    def length_interval(self) -> tuple[float, float] | None:
        """The 95 % interval of tokens after / tokens before. Both are resampled together."""
        return self._interval(self.tokens[:, -1], self.before)

    def _interval(self, over: Array, under: Array) -> tuple[float, float] | None:
        occupied = self.words > 0
        if occupied.sum() < intervals.FEWEST_BUCKETS:
            return None
        weights = intervals.bootstrap_weights(int(occupied.sum()))
        values = divide(weights @ over[occupied], weights @ under[occupied])
        return intervals.interval_of(values, buckets=int(occupied.sum()))


def growth(extended: Extended[Any], samples: Mapping[str, TextSample], *, threads: int = 1) -> dict[str, Growth]:
    """The tokens of each language for every number of added pieces.

    >>> import piecework as pw
    >>> from piecework.evaluation.text_sample import document_sample
    >>> extended = pw.extend(pw.train(["ha hade"], vocab_size=9), ["haha haha"], add=2)
    >>> growth(extended, {"no": document_sample(["haha haha"])})["no"].tokens_per_word().tolist()
    [3.0, 2.0, 1.0]
    """
    number = np.zeros(extended.tokenizer.vocab_size, np.int64)
    number[[piece.id for piece in extended.added]] = np.arange(1, len(extended.added) + 1)
    return {language: _growth(extended, sample, number, threads) for language, sample in samples.items()}


def _growth(extended: Extended[Any], sample: TextSample, number: Array, threads: int) -> Growth:
    context = len(extended.tokenizer.encode("a"))  # what stands before a counted unit
    encoded = extended.tokenizer.encode_batch(sample.texts, threads=threads)
    rows = [ids[context:] if skip else ids for ids, skip in zip(encoded, sample.skip.tolist(), strict=True)]
    lengths = np.array([len(row) for row in rows], np.int64)
    flat = number[np.array([i for row in rows for i in row], np.int64)]
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1])) if len(lengths) else lengths
    # Each row of the sample has all tokens of its text, in its bucket.
    repeat = lengths[sample.text_index]
    offsets = np.arange(repeat.sum()) - np.repeat(np.cumsum(repeat) - repeat, repeat)
    tokens = flat[np.repeat(starts[sample.text_index], repeat) + offsets]
    size = len(extended.added) + 1
    keys = np.repeat(sample.buckets, repeat) * size + tokens
    used = np.bincount(keys, np.repeat(sample.counts, repeat), BUCKETS * size).reshape(BUCKETS, size)
    spaced = sample.spaced()
    words = [len(re.findall(r"\S+", text[skip:])) for text, skip in zip(spaced, sample.skip.tolist(), strict=True)]
    sizes = [len(text.encode("utf-8", "surrogatepass")) for text in spaced] - sample.skip
    taken_back = _taken_back(extended, used, number)
    before = taken_back[:, 0]
    if extended.dropped:
        old = extended.base.encode_batch(sample.texts, threads=threads)
        lengths = np.array([len(ids) for ids in old]) - len(extended.base.encode("a")) * (sample.skip > 0)
        before = np.bincount(sample.buckets, lengths[sample.text_index] * sample.counts, BUCKETS)
    return Growth(
        taken_back,
        before,
        np.bincount(sample.buckets, np.array(words, float)[sample.text_index] * sample.counts, BUCKETS),
        np.bincount(sample.buckets, np.array(sizes, float)[sample.text_index] * sample.counts, BUCKETS),
    )


def _taken_back(extended: Extended[Any], used: Array, number: Array) -> Array:
    tokens = np.zeros(used.shape)
    tokens[:, -1] = used.sum(axis=1)
    for at in range(len(extended.added), 0, -1):
        piece = extended.added[at - 1]
        more = len(piece.parts) or len(piece.old_ids)  # a character becomes its bytes again
        tokens[:, at - 1] = tokens[:, at] + used[:, at] * (more - 1)
        for part in piece.parts:
            used[:, number[part]] += used[:, at] * (number[part] > 0)
    return tokens
