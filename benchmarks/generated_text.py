"""Makes text of any size with the statistics of real text, at more than 50 MB a second.

Usage: python -m benchmarks.generated_text --work DIR --mix 100 --size 12000 --out text.txt

The models are fitted on the largest real text of the work folder (benchmarks.text), one for each language and one for
program text; the languages are mixed as in the real text of `--mix` MB.
"""

import argparse
import json
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import IO

import numpy as np

from benchmarks.new_words import NewWords
from benchmarks.text import DEFAULT_WORK, SIZES_MB, read_documents, read_kinds, text_path
from benchmarks.text_model import TextModel
from benchmarks.text_spans import Array, gather

LANGUAGES = ("da", "en", "is", "no", "sv")
BLOCK_BYTES = 500_000
MOST_HISTORY = 1 << 23
REPEATED_SOON = 0.2  # of the words that are repeated, this share is new in the same block
MOST_TEMPLATE_BYTES = 40_000_000


def language_of(kind: str) -> str:
    """
    >>> language_of("law sv"), language_of("Python packages")
    ('sv', 'code')
    """
    last = kind.rpartition(" ")[2]
    return last if last in LANGUAGES else "code"


class Writer:
    """Writes the text of one language, block by block."""

    def __init__(self, name: str, model: TextModel, seed: int) -> None:
        self.name = name
        self.size_bytes = 0
        self._model = model
        self._random = np.random.default_rng(seed)
        self._new_words = NewWords(name, model, self._random)
        self._blocks = self._cut_blocks()
        self._next_block = 0
        self._words = 0  # of the text so far
        self._distinct = 0.0
        self._history = np.zeros(MOST_HISTORY, np.int32)  # new words that were written, or a sample of them
        self._written = 0

    def _cut_blocks(self) -> list[tuple[int, int]]:
        data = self._model.bytes
        line_ends = np.flatnonzero(data == 10) + 1
        wanted = np.arange(BLOCK_BYTES, len(data), BLOCK_BYTES)
        cuts = [0, *line_ends[np.searchsorted(line_ends, wanted)].tolist(), len(data)]
        return [(a, b) for a, b in pairwise(cuts) if a < b]

    def write_block(self, out: IO[bytes]) -> None:
        model = self._model
        if self._next_block % len(self._blocks) == 0 and self._next_block:
            self._random.shuffle(self._blocks)
        start, stop = self._blocks[self._next_block % len(self._blocks)]
        first_pass = self._next_block < len(self._blocks)
        self._next_block += 1
        low, high = np.searchsorted(model.slot_starts, [start, stop])
        starts, ends = model.slot_starts[low:high], model.slot_ends[low:high]
        words = int(np.diff(np.searchsorted(model.word_starts, [start, stop]))[0])
        if first_pass:
            new = model.slot_is_first[low:high].copy()
            share_of_new_runs = model.share_of_new_runs
            self._distinct = model.curve.distinct * min(1.0, (self._words + words) / model.curve.words)
        else:
            added = model.curve.new_words(self._words, self._words + words, self._distinct)
            self._distinct += added
            new = self._random.random(len(starts)) < added / max(1, len(starts))
            share_of_new_runs = model.runs.share_at(self._distinct)
        self._words += words
        chosen = self._fill_slots(new, share_of_new_runs)
        arena = self._new_words.arena
        # What is copied: text up to a slot, a word, text up to the next slot, ...
        sources = np.empty(2 * len(starts) + 1, np.int64)
        lengths = np.empty(2 * len(starts) + 1, np.int64)
        sources[0::2] = np.concatenate([[start], ends])
        lengths[0::2] = np.concatenate([starts, [stop]]) - sources[0::2]
        sources[1::2] = len(model.bytes) + arena.starts[chosen]
        lengths[1::2] = arena.starts[chosen + 1] - arena.starts[chosen] - 1
        out.write(self._copy(sources, lengths))
        self.size_bytes += int(lengths.sum())

    def _copy(self, sources: Array, lengths: Array) -> bytes:
        """The template's text and, in the gaps, new words."""
        model = self._model
        result = np.empty(int(lengths.sum()), np.uint8)
        at = np.cumsum(lengths) - lengths
        start, stop = int(sources[0]), int(sources[-1] + lengths[-1])
        kept, _ = gather(model.bytes[start:stop], sources[0::2] - start, lengths[0::2])
        words, inside = gather(self._new_words.arena.bytes, sources[1::2] - len(model.bytes), lengths[1::2])
        is_word = np.zeros(len(result), bool)
        is_word[np.repeat(at[1::2], lengths[1::2]) + inside] = True
        result[is_word] = words
        result[~is_word] = kept
        return result.tobytes()

    def _fill_slots(self, new: Array, share_of_new_runs: float) -> Array:
        """The word of each slot: a new word, or an earlier one with a probability in proportion to its frequency."""
        if not self._written and len(new):
            new[0] = True
        chosen = np.empty(len(new), np.int64)
        fresh = self._new_words.take(int(new.sum()), share_of_new_runs)
        chosen[new] = fresh
        known = min(self._written, MOST_HISTORY)
        old = int((~new).sum())
        if known:
            chosen[~new] = self._history[self._random.integers(0, known, old)]
        soon = ~new & (self._random.random(len(new)) < (REPEATED_SOON if known else 1.0))
        if len(fresh):
            chosen[soon] = fresh[self._random.integers(0, len(fresh), int(soon.sum()))]
        self._remember(chosen)
        return chosen

    def _remember(self, chosen: Array) -> None:
        room = max(0, min(len(chosen), MOST_HISTORY - self._written))
        self._history[self._written : self._written + room] = chosen[:room]
        rest = chosen[room:]
        if len(rest):  # a reservoir: each word written is kept with the same probability
            kept = self._random.random(len(rest)) < MOST_HISTORY / (self._written + len(chosen))
            self._history[self._random.integers(0, MOST_HISTORY, int(kept.sum()))] = rest[kept]
        self._written += len(chosen)


def fit_models(text: Path) -> dict[str, TextModel]:
    """A model for each language of a real text, and one for program text."""
    by_language: dict[str, list[bytes]] = {}
    for kind, document in zip(read_kinds(text), read_documents(text), strict=True):
        by_language.setdefault(language_of(kind), []).append(document)
    return {language: TextModel(_sample(by_language[language])) for language in sorted(by_language)}


def _sample(documents: list[bytes]) -> list[bytes]:
    """Documents in random order, so that any prefix has the same mix; MOST_TEMPLATE_BYTES at most."""
    chosen, size_bytes = [], 0
    for number in np.random.default_rng(1).permutation(len(documents)).tolist():
        chosen.append(documents[number])
        size_bytes += len(documents[number])
        if size_bytes > MOST_TEMPLATE_BYTES:
            break
    return chosen


def shares_of(text: Path) -> dict[str, float]:
    shares: dict[str, float] = {}
    for kind, share in json.loads(text.with_suffix(".json").read_text())["shares"].items():
        shares[language_of(kind)] = shares.get(language_of(kind), 0.0) + share
    return shares


def generate(models: dict[str, TextModel], shares: dict[str, float], size_bytes: int, out: Path, seed: int = 1) -> None:
    """Write a text of about this size. The languages alternate, so that each prefix has the same mix."""
    writers = [Writer(name, models[name], seed + number) for number, name in enumerate(sorted(shares))]
    total = 0
    with out.open("wb") as file:
        while total < size_bytes:
            behind = min(writers, key=lambda writer: writer.size_bytes / shares[writer.name])
            before = behind.size_bytes
            behind.write_block(file)
            total += behind.size_bytes - before


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generated_text", description=__doc__)
    parser.add_argument("--work", type=Path, default=DEFAULT_WORK, help="folder of the real texts (benchmarks.text)")
    parser.add_argument("--model", type=int, default=max(SIZES_MB), metavar="MB", help="the real text to fit to")
    parser.add_argument("--mix", type=int, default=100, metavar="MB", help="the real text whose mix is taken")
    parser.add_argument("--size", type=float, required=True, metavar="MB")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    started = time.monotonic()
    models = fit_models(text_path(arguments.work, arguments.model))
    fitted = time.monotonic()
    for name, model in models.items():
        curve = model.curve
        print(
            f"{name}: {len(model.bytes) / 1e6:.0f} MB, {curve.distinct:,} of {curve.words:,} words,"
            f" exponent {curve.exponent(curve.words):.3f}, bend {curve.bend:.4f}, {len(model.slot_starts):,} slots",
            file=sys.stderr,
        )
    size_bytes = round(arguments.size * 1e6)
    generate(models, shares_of(text_path(arguments.work, arguments.mix)), size_bytes, arguments.out)
    elapsed = time.monotonic() - fitted
    rate = size_bytes / 1e6 / elapsed
    print(f"fitted in {fitted - started:.0f} s; {elapsed:.0f} s to write, {rate:.0f} MB/s", file=sys.stderr)


if __name__ == "__main__":
    main()
