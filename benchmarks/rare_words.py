"""Makes new words from the rare words of a text: each walks along a rare word and leaves it for another one.

Where it leaves a word between runs of letters, the runs stay as they are. Where it does so inside a run, at letters
that both words have, the run is most likely new.
"""

import numpy as np

from benchmarks.text_spans import Array, gather

CONTEXT = 3  # characters that two words share where a new word leaves one for the other inside a run of letters
RESPELL = 0.15  # how often it does so, for each letter, until it has done so once
RECOMBINE = 0.5  # how often it leaves one word for the other between runs of letters
LONGEST_NEW_WORD = 48  # in characters
MOST_WORDS = 1_600_000
NEWLINE = np.uint64(10)
LETTER = np.uint64(ord("a"))


class RareWords:
    def __init__(self, data: Array, starts: Array, ends: Array, has_new_run: Array) -> None:
        """`has_new_run` tells for each word whether it has a run of letters that no word before it has."""
        if len(starts) > MOST_WORDS:
            kept = np.sort(np.random.default_rng(1).choice(len(starts), MOST_WORDS, replace=False))
            starts, ends, has_new_run = starts[kept], ends[kept], has_new_run[kept]
        lengths = ends - starts
        spans, _ = gather(data, starts, lengths + 1)  # each word with the whitespace after it
        spans[np.cumsum(lengths + 1) - 1] = NEWLINE
        codes = np.frombuffer(spans.tobytes().decode("utf-8", "replace").encode("utf-32-le"), np.uint32)
        self._codes = np.concatenate([np.full(CONTEXT, NEWLINE, np.uint32), codes])
        letter = _is_letter(self._codes)
        self._inside_run = np.concatenate([[False], letter[:-1]]) & letter
        word_starts = np.flatnonzero(self._codes[CONTEXT - 1 : -1] == NEWLINE) + CONTEXT
        self._word_starts = {respelled: word_starts[has_new_run == respelled] for respelled in (False, True)}
        self._lengths = {respelled: lengths[has_new_run == respelled] for respelled in (False, True)}  # in bytes
        one, two, three = _before(self._codes)
        self._spelled_alike = Alternatives(one << np.uint64(42) | two << np.uint64(21) | three)
        # Between runs only the character before and the one before that matter; after a run not even its letters.
        one, two, _ = _before(np.where(letter, LETTER, self._codes))
        after_letter = self._inside_run.astype(np.uint64)
        self._joined_alike = Alternatives(np.where(one == LETTER, after_letter, one << np.uint64(21) | two))

    def make(self, count: int, random: np.random.Generator, *, respelled: bool) -> tuple[Array, Array]:
        """UTF-8 of words, each followed by a newline, and where each starts; `respelled`: they have a new run."""
        origins = self._word_starts[respelled]
        position = origins[random.integers(0, len(origins), count)] if len(origins) else origins
        count = len(position)
        letters = np.full((count, LONGEST_NEW_WORD + 1), NEWLINE, np.uint32)
        lengths = np.full(count, LONGEST_NEW_WORD, np.int64)
        active = np.arange(count)
        respells = np.full(count, respelled)
        for column in range(LONGEST_NEW_WORD):
            chance = random.random(len(active), np.float32)
            inside = self._inside_run[position]
            leaves = np.flatnonzero(~inside & (chance < RECOMBINE)) if column else active[:0]
            position[leaves] = self._joined_alike.choose(position[leaves], random)
            if respelled:
                leaves = np.flatnonzero(inside & respells & (chance < RESPELL))
                position[leaves] = self._spelled_alike.choose(position[leaves], random)
                respells[leaves] = False
            character = self._codes[position]
            goes_on = character != NEWLINE
            lengths[active[~goes_on]] = column
            active, position, respells = active[goes_on], position[goes_on] + 1, respells[goes_on]
            letters[active, column] = character[goes_on]
            if not len(active):
                break
        kept = np.arange(LONGEST_NEW_WORD + 1) <= lengths[:, None]
        text = letters[kept].astype("<u4").tobytes().decode("utf-32-le", "replace").encode()
        data = np.frombuffer(text, np.uint8)
        return data, np.concatenate([[0], np.flatnonzero(data == NEWLINE) + 1])

    def choose(self, lengths: Array, most: int, random: np.random.Generator, *, respelled: bool) -> Array:
        """Which words to take, `most` at most, so that their lengths are distributed as those of the rare words.

        Without it new words would be too long, since short words exist already.
        """
        wanted = np.bincount(random.choice(self._lengths[respelled], most), minlength=int(lengths.max(initial=0)) + 1)
        order = np.argsort(lengths, kind="stable")
        ordered = lengths[order]
        rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)  # among the words of its length
        return np.sort(order[rank < wanted[ordered]])


class Alternatives:
    """For each position those with the same key."""

    def __init__(self, keys: Array) -> None:
        order = np.argsort(keys, kind="stable").astype(np.int32)
        ordered = keys[order]
        starts = np.concatenate([[True], ordered[1:] != ordered[:-1]])
        self._order = order
        self._group = np.empty(len(order), np.int32)
        self._group[order] = np.cumsum(starts) - 1
        self._first = np.concatenate([np.flatnonzero(starts), [len(order)]])

    def choose(self, positions: Array, random: np.random.Generator) -> Array:
        group = self._group[positions]
        first = self._first[group]
        size = self._first[group + 1] - first
        choice = (random.random(len(positions), np.float32) * size).astype(np.int64)
        chosen: Array = self._order[first + np.minimum(choice, size - 1)]
        return chosen


def _before(codes: Array) -> list[Array]:
    """For each position the characters 1 to CONTEXT before it in its word. Before the word it has newlines."""
    found, ended = [], np.zeros(len(codes), bool)
    for back in range(1, CONTEXT + 1):
        character = np.concatenate([np.full(back, NEWLINE), codes[:-back].astype(np.uint64)])
        ended |= character == NEWLINE
        found.append(np.where(ended, NEWLINE, character))
    return found


def _is_letter(codes: Array) -> Array:
    present = np.unique(codes)
    letters = np.zeros(int(present[-1]) + 1, bool)
    letters[present] = [chr(code).isalpha() for code in present.tolist()]
    found: Array = letters[codes]
    return found
