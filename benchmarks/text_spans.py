"""Words and runs of letters in a text, as arrays of numpy."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

MULTIPLIER = 0x9E3779B97F4A7C15


def word_spans(data: Array) -> tuple[Array, Array]:
    """Where words start and end: between spaces, tabs and line ends. The last byte must be one of these."""
    space = (data == 32) | (data == 10) | (data == 9) | (data == 13)
    changes = np.flatnonzero(np.diff(space.view(np.int8), prepend=1))
    return changes[::2], changes[1::2]


def hash_words(data: Array, starts: Array, ends: Array) -> Array:
    """A 64-bit hash of each word; words must not overlap and must be in order."""
    if not len(starts):
        return np.zeros(0, np.uint64)
    spans, inside = gather(data, starts, ends - starts)
    powers = np.cumprod(np.full(int((ends - starts).max()) + 1, MULTIPLIER | 1, np.uint64), dtype=np.uint64)
    values = (spans.astype(np.uint64) + np.uint64(7)) * powers[inside]
    sums = np.add.reduceat(values, np.cumsum(ends - starts) - (ends - starts))
    return (sums ^ (sums >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)


def gather(data: Array, starts: Array, lengths: Array) -> tuple[Array, Array]:
    """The bytes of spans one after another, and the index of each byte within its span."""
    total_before = np.cumsum(lengths) - lengths
    index = np.arange(int(lengths.sum()), dtype=np.int64)
    inside = index - np.repeat(total_before, lengths)
    return data[np.repeat(starts, lengths) + inside], inside


def run_hashes(data: Array, starts: Array, ends: Array) -> tuple[Array, Array]:
    """A hash of each run of letters in these words, and the index of its word.

    A run that opens a word is another one than the same run inside a word, because the ▁ of the word belongs to it.
    Characters beyond ASCII count as letters.
    """
    lengths = ends - starts + 1  # each word with the byte after it
    spans, _ = gather(data, starts, lengths)
    word_ends = np.cumsum(lengths)
    spans[word_ends - 1] = 10
    lower = spans | 32
    letter = (spans >= 128) | ((lower >= ord("a")) & (lower <= ord("z")))
    changes = np.flatnonzero(np.diff(letter.view(np.int8), prepend=0))
    run_starts, run_ends = changes[::2], changes[1::2]
    word = np.searchsorted(word_ends, run_starts, side="right")
    opens_word = run_starts == (word_ends - lengths)[word]
    return hash_words(spans, run_starts, run_ends) ^ (opens_word * np.uint64(MULTIPLIER)), word
