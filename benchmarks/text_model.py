"""A model of one language's text. It makes text of any size with the statistics of real text.

Real text is the template. Its frequent words stay as they are. Each word that occurs at most RARE times is a slot. In
the text that is made, a slot holds a new word at the rate of Heaps' law; otherwise it repeats an earlier new word. So
the number of distinct words grows as measured. New words become frequent as in Simon's process: a word is repeated in
proportion to how often it occurred. Lines, spaces, punctuation and frequent words are those of real text.

Of three new words two have no new run of letters: `x.count(` is new where `count` is not. Training depends on the
runs, because no piece crosses their borders. So their number follows a power law of its own.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.rare_words import LONGEST_NEW_WORD, RareWords
from benchmarks.text_spans import Array, hash_words, run_hashes, word_spans

RARE = 3
FIT_POINTS = 8  # at the whole template, its half, its quarter, ...
LEAST_EXPONENT = 0.3


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


@dataclass(frozen=True)
class RunCurve:
    """How many words out of V distinct ones have a run of letters that no earlier word has: a power of V."""

    distinct: int
    share: float  # of the next new words after the template
    slope: float  # how the share falls with V

    @classmethod
    def fit(cls, has_new_run: Array) -> "RunCurve":
        """`has_new_run` is for each distinct word of the template, in the order of the text."""
        total = len(has_new_run)
        seen = np.cumsum(has_new_run)
        sizes = np.array([total >> step for step in range(FIT_POINTS // 2) if total >> step >= 1000] or [total])
        exponent = np.polyfit(np.log(sizes), np.log(seen[sizes - 1]), 1)[0] if len(sizes) > 1 else 1.0
        return cls(total, float(exponent * seen[-1] / total), float(min(0.0, exponent - 1)))

    def share_at(self, distinct: float) -> float:
        return min(1.0, self.share * math.pow(distinct / self.distinct, self.slope))


class TextModel:
    """The template of one language, its slots, its Heaps' law, and what new words are made of."""

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
        rare = slots[first]
        self.slot_starts, self.slot_ends = starts[slots], ends[slots]
        self.word_starts = starts
        self.slot_is_first = first[slots]
        runs, word = run_hashes(self.bytes, starts[first], ends[first])
        is_first = np.zeros(len(runs), bool)
        is_first[np.unique(runs, return_index=True)[1]] = True
        self.runs = RunCurve.fit(_any_of_word(is_first, word, len(rare)))
        self.frequent_runs = np.unique(runs[~rare[word]])
        own_run = _any_of_word(is_first & ~np.isin(runs, self.frequent_runs), word, len(rare))[rare]
        self.share_of_new_runs = float(own_run.mean()) if len(own_run) else 0.0
        self.rare_words = RareWords(self.bytes, starts[first & slots], ends[first & slots], own_run)


def _any_of_word(runs: Array, word: Array, words: int) -> Array:
    found = np.zeros(words, bool)
    found[word[runs]] = True
    return found
