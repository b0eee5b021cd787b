"""A model of one language's text. It makes text of any size with the statistics of real text.

Real text is the template. Its frequent words stay as they are. Each word that occurs at most RARE times is a slot. In
the text that is made, a slot holds a new word at the rate of Heaps' law; otherwise it repeats an earlier new word. So
the number of distinct words grows as measured. New words become frequent as in Simon's process: a word is repeated in
proportion to how often it occurred. Lines, spaces, punctuation and frequent words are those of real text.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

RARE = 3
FIT_POINTS = 8  # at the whole template, its half, its quarter, ...
LEAST_EXPONENT = 0.3
CONTEXT = 3  # characters that two words share where a new word leaves one for the other
JUMP = 0.1  # how often it does, for each character
LONGEST_NEW_WORD = 48  # in characters
MOST_MODEL_CHARACTERS = 20_000_000
MULTIPLIER = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class HeapsCurve:
    """Distinct words after n words: ln V = ln V(N) + b x + c x², x = ln(n / N), N the words of the template.

    c is at most 0: the exponent falls with the size, down to LEAST_EXPONENT.
    """

    words: int
    distinct: int
    slope: float
    bend: float

    @classmethod
    def fit(cls, first: Array) -> "HeapsCurve":
        """`first` tells for each word of the template whether it occurs there for the first time."""
        total = len(first)
        seen = np.cumsum(first)
        sizes = [total >> step for step in range(FIT_POINTS) if total >> step >= 1000] or [total]
        x = np.log(np.array(sizes) / total)
        y = np.log(np.array([seen[size - 1] for size in sizes]) / seen[-1])
        columns = np.stack([x, x * x], axis=1)
        slope, bend = np.linalg.lstsq(columns, y, rcond=None)[0] if len(sizes) > 2 else (0.6, 0.0)
        if bend > 0:
            slope, bend = np.linalg.lstsq(columns[:, :1], y, rcond=None)[0][0], 0.0
        return cls(total, int(seen[-1]), float(slope), float(bend))

    def exponent(self, words: float) -> float:
        """The local exponent of Heaps' law at this size."""
        return max(LEAST_EXPONENT, self.slope + 2 * self.bend * math.log(words / self.words))

    def new_words(self, start: float, stop: float, distinct: float) -> float:
        """How many distinct words are added from `start` to `stop` words, if there are `distinct` at the start."""
        return distinct * (math.pow(stop / start, self.exponent(start)) - 1)


class TextModel:
    """The template of one language, its slots, its Heaps' law, and a model of the characters of rare words."""

    def __init__(self, documents: Sequence[bytes]) -> None:
        self.bytes = np.frombuffer(b"\n".join([*documents, b""]), np.uint8)
        starts, ends = word_spans(self.bytes)
        hashes = hash_words(self.bytes, starts, ends)
        _, first_index, inverse, counts = np.unique(hashes, return_index=True, return_inverse=True, return_counts=True)
        first = np.zeros(len(starts), bool)
        first[first_index] = True
        self.curve = HeapsCurve.fit(first)
        self.known_hashes = hashes[first_index]
        slots = (counts <= RARE)[inverse] & (ends - starts <= 4 * LONGEST_NEW_WORD)
        self.slot_starts, self.slot_ends = starts[slots], ends[slots]
        self.word_starts = starts
        self.slot_is_first = first[slots]
        self.characters = CharacterModel(self.bytes, starts[first & slots], ends[first & slots])


class CharacterModel:
    """Makes words from parts of the given words. Parts meet where CONTEXT characters before them are the same."""

    def __init__(self, data: Array, starts: Array, ends: Array) -> None:
        most = max(1, MOST_MODEL_CHARACTERS // 12)
        if len(starts) > most:
            kept = np.sort(np.random.default_rng(1).choice(len(starts), most, replace=False))
            starts, ends = starts[kept], ends[kept]
        spans, _ = gather(data, starts, ends - starts + 1)  # each word with the whitespace after it
        spans[np.cumsum(ends - starts + 1) - 1] = 10
        text = spans.tobytes().decode("utf-8", "replace")
        codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
        self.codes = np.concatenate([np.full(CONTEXT, 10, np.uint32), codes])
        # The context of a position: the characters before it in its word. Before the word it has newlines.
        in_word = np.arange(len(self.codes)) - np.maximum.accumulate(
            np.where(np.concatenate([[True], self.codes[:-1] == 10]), np.arange(len(self.codes)), 0)
        )
        context = np.zeros(len(self.codes), np.uint64)
        for back in range(CONTEXT, 0, -1):
            before = np.concatenate([np.full(back, 10, np.uint32), self.codes[:-back]])
            context = context * np.uint64(1 << 21) + np.where(in_word >= back, before, 10).astype(np.uint64)
        order = np.argsort(context, kind="stable").astype(np.int32)
        ordered = context[order]
        edges = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        group = np.cumsum(np.concatenate([[False], ordered[1:] != ordered[:-1]])).astype(np.int32)
        self.order = order
        self.group_of = np.empty(len(order), np.int32)
        self.group_of[order] = group
        self.first = edges.astype(np.int64)
        self.size = np.diff(np.concatenate([edges, [len(order)]])).astype(np.int64)
        self.word_starts = np.flatnonzero(in_word[CONTEXT:] == 0) + CONTEXT
        self.lengths = ends - starts  # in bytes

    def words(self, count: int, random: np.random.Generator) -> tuple[Array, Array]:
        """UTF-8 of `count` words, each followed by a newline, and where each starts."""
        position = self.word_starts[random.integers(0, len(self.word_starts), count)]
        letters = np.full((count, LONGEST_NEW_WORD + 1), 10, np.uint32)
        lengths = np.full(count, LONGEST_NEW_WORD, np.int64)
        active = np.arange(count)
        for column in range(LONGEST_NEW_WORD):
            jumps = np.flatnonzero(random.random(len(active), np.float32) < JUMP)
            group = self.group_of[position[jumps]]
            choice = (random.random(len(jumps), np.float32) * self.size[group]).astype(np.int64)
            position[jumps] = self.order[self.first[group] + np.minimum(choice, self.size[group] - 1)]
            letter = self.codes[position]
            ended = letter == 10
            lengths[active[ended]] = column
            active, position = active[~ended], position[~ended] + 1
            letters[active, column] = letter[~ended]
            if not len(active):
                break
        kept = np.arange(LONGEST_NEW_WORD + 1) <= lengths[:, None]
        text = letters[kept].astype("<u4").tobytes().decode("utf-32-le", "replace").encode()
        data = np.frombuffer(text, np.uint8)
        ends = np.flatnonzero(data == 10)
        return data, np.concatenate([[0], ends + 1])

    def choose(self, lengths: Array, most: int, random: np.random.Generator) -> Array:
        """Which words to take, `most` at most, so that their lengths are distributed as those of the given words.

        Without it new words would be too long, since short words exist already.
        """
        wanted = np.bincount(random.choice(self.lengths, most), minlength=int(lengths.max(initial=0)) + 1)
        order = np.argsort(lengths, kind="stable")
        ordered = lengths[order]
        rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)  # among the words of its length
        return np.sort(order[rank < wanted[ordered]])


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
