"""The new words of one language: made in batches, handed out at the wanted rates, kept for their repetitions."""

import zlib

import numpy as np

from benchmarks.text_model import TextModel
from benchmarks.text_spans import Array, gather, hash_words, run_hashes

SEEN_SLOTS = 1 << 29
BATCH = 20_000
MOST_ATTEMPTS = 12


class Seen:
    """Which words and runs a language has, roughly: a few new ones are taken for known, known ones never for new."""

    _seen = np.zeros(SEEN_SLOTS, np.bool_)  # of all languages

    def __init__(self, language: str) -> None:
        self._salt = np.uint64(zlib.crc32(language.encode()) << 8)

    def add(self, hashes: Array) -> None:
        self._seen[self._slots(hashes)] = True

    def has(self, hashes: Array) -> Array:
        found: Array = self._seen[self._slots(hashes)]
        return found

    def _slots(self, hashes: Array) -> Array:
        slots: Array = (hashes ^ self._salt) % np.uint64(SEEN_SLOTS)
        return slots


class Arena:
    """The bytes of words, each followed by a newline."""

    def __init__(self) -> None:
        self.bytes = np.zeros(1 << 20, np.uint8)
        self.starts = np.zeros(1 << 16, np.int64)
        self.words = 0

    def add(self, data: Array, starts: Array, lengths: Array) -> None:
        taken, _ = gather(data, starts, lengths)
        used = int(self.starts[self.words])
        size, words = used + len(taken), self.words + len(lengths)
        if size > len(self.bytes):
            self.bytes = np.concatenate([self.bytes, np.zeros(max(size, len(self.bytes) // 2), np.uint8)])
        if words + 1 > len(self.starts):
            self.starts = np.concatenate([self.starts, np.zeros(max(words, len(self.starts) // 2), np.int64)])
        self.bytes[used:size] = taken
        self.starts[self.words + 1 : words + 1] = used + np.cumsum(lengths)
        self.words = words


class NewWords:
    """Hands out words that the language does not have; of these the wanted share has a new run of letters."""

    def __init__(self, name: str, model: TextModel, random: np.random.Generator) -> None:
        self.arena = Arena()
        self._rare = model.rare_words
        self._random = random
        self._seen = Seen(name)
        self._seen.add(model.known_hashes)
        self._seen.add(model.frequent_runs)
        # Numbers of words in the arena that are not handed out yet, and whether each had a new run when it was made.
        self._stock = {respelled: np.zeros((0, 2), np.int64) for respelled in (False, True)}
        self._runs_ahead = 0.0  # words handed out with a new run, less the wanted ones

    def take(self, count: int, share_of_new_runs: float) -> Array:
        """Numbers of words in the arena.

        The runs of the template's rare words are new, too, as long as no word with them was made. When most of them
        are used, new runs come from words that are spelled anew.
        """
        self._runs_ahead -= count * share_of_new_runs
        respelled = min(count, max(0, round(-self._runs_ahead)))
        taken = np.concatenate([self._take(respelled, respelled=True), self._take(count - respelled, respelled=False)])
        self._runs_ahead += int(taken[:, 1].sum())
        return self._random.permutation(taken[:, 0])

    def _take(self, count: int, *, respelled: bool) -> Array:
        stock = self._stock[respelled]
        if len(stock) < count:
            stock = np.concatenate([stock, self._make(count - len(stock) + BATCH, respelled=respelled)])
        self._stock[respelled] = stock[count:]
        return stock[:count] if len(stock) >= count else np.resize(stock, (count, 2))  # nothing new can be made

    def _make(self, count: int, *, respelled: bool) -> Array:
        made = [np.zeros((0, 2), np.int64)]
        missing = count
        for _ in range(MOST_ATTEMPTS):
            if missing <= BATCH // 4:  # the last ones would take as long as all others
                break
            data, starts = self._rare.make(2 * missing + 16, self._random, respelled=respelled)
            filled = np.diff(starts) > 1
            begins, ends = starts[:-1][filled], starts[1:][filled] - 1
            hashes = hash_words(data, begins, ends)
            new = np.zeros(len(hashes), bool)
            new[np.unique(hashes, return_index=True)[1]] = True
            new &= ~self._seen.has(hashes)
            has_new_run = self._have_new_run(data, begins, ends)
            index = np.flatnonzero(new & (has_new_run | (not respelled)))
            index = index[self._rare.choose((ends - begins)[index], missing, self._random, respelled=respelled)]
            begins, ends = begins[index], ends[index]
            self._seen.add(hashes[index])
            self._seen.add(run_hashes(data, begins, ends)[0])
            numbers = self.arena.words + np.arange(len(index))
            made.append(np.stack([numbers, has_new_run[index]], axis=1))
            self.arena.add(data, begins, ends - begins + 1)
            missing -= len(index)
        result: Array = self._random.permutation(np.concatenate(made))
        return result

    def _have_new_run(self, data: Array, starts: Array, ends: Array) -> Array:
        runs, word = run_hashes(data, starts, ends)
        found = np.zeros(len(starts), bool)
        found[word[~self._seen.has(runs)]] = True
        return found
