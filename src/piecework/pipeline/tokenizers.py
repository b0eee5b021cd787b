"""Trains the tokenizers of a study: the multilingual one, its smaller sizes, and one per language."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from piecework._core import return_freed_memory
from piecework.common.subset_name import SubsetName
from piecework.common.terms import MULTILINGUAL
from piecework.counting.pre_tokens import PreTokenCounts
from piecework.counting.store import Counts
from piecework.counting.stream import WordStream
from piecework.counting.words import WordCounts
from piecework.errors import InputError, StudyError, VocabularyTooLargeError
from piecework.evaluation.curves import Sizes
from piecework.pipeline.counts import StudyCounts
from piecework.results.folder import TOKENIZERS_FOLDER
from piecework.results.state import State, key_of
from piecework.study.recipe import Recipe
from piecework.study.study import Study
from piecework.tokenizer.byte_level import SAVED_FILES, ByteLevelTokenizer
from piecework.tokenizer.export import export_both
from piecework.tokenizer.tokenizer import Tokenizer
from piecework.tokenizer.trained import TrainedTokenizer, load_trained
from piecework.training.base import Base
from piecework.training.extended_files import save_extended
from piecework.training.frequencies import merge_frequencies, read_frequencies, write_frequencies
from piecework.training.new_piece import Extended
from piecework.training.trainer import train_any

__all__ = ["Trained", "Training"]

# Raise this when the same counts and recipe give different files.
TRAINING_FORMAT = 1

Progress = Callable[[int, int], None]
Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Trained:
    """The tokenizers of a study, in the order of the results."""

    folder: Path
    stages: dict[str, str]
    """By tokenizer, the name of its stage."""
    made: dict[str, TrainedTokenizer]
    """The tokenizers trained in this run: they need not be loaded, and keep their caches."""

    def load(self) -> dict[str, TrainedTokenizer]:
        """Every tokenizer, loaded if it was trained in an earlier run."""
        return {name: self.made.get(name) or load_trained(self.folder / name) for name in self.stages}


class Training:
    """Trains the tokenizers that are not done yet."""

    def __init__(
        self,
        study: Study,
        counted: StudyCounts,
        state: State,
        *,
        base: Base | None = None,
        threads: int,
        progress: Progress,
        warn: Warn,
        meanwhile: Callable[[], None],
    ) -> None:
        """Trains from nothing, or extends `base`.

        `meanwhile` runs on its own thread if there is something to train; later stages need its result.
        """
        self._study, self._state = study, state
        self._base = base
        self._extended: dict[str, Extended[Any]] = {}
        self._meanwhile = meanwhile
        self._counts: Counts = counted.counts
        self._counts_key = counted.key
        self._threads, self._progress, self._warn = threads, progress, warn
        self._made: dict[str, TrainedTokenizer] = {}
        self._done: dict[str, int] = {}
        self._wanted = 0
        self._lock = threading.Lock()
        self._stopped = False

    def run(self) -> Trained:
        """Trains and saves."""
        languages = self._languages()
        size = self._study.recipe.vocab_size
        keys = {name: self._key(name) for name in (MULTILINGUAL, *languages)}
        left = {name: key for name, key in keys.items() if not self._state.is_done(_stage(name), key)}
        self._wanted = size * len(left)
        sizes = self._train_left(left)
        if self._made:
            return_freed_memory()
        stages = {MULTILINGUAL: _stage(MULTILINGUAL)} | sizes | {language: _stage(language) for language in languages}
        return Trained(self._state.folder / TOKENIZERS_FOLDER, stages, self._made)

    def _languages(self) -> list[str]:
        """The languages with training text; each gets a tokenizer."""
        if not self._study.analysis.monolingual:
            return []
        weights = self._counts.weights
        trained: dict[str, int] = {}
        for row in self._counts.subset_rows:
            acts = self._counts.weighting == "documents" or weights[SubsetName(row["category"], row["language"])] > 0
            trained[row["language"]] = trained.get(row["language"], 0) + (row["train_bytes"] if acts else 0)
        for language in (language for language, size in trained.items() if not size):
            self._warn(f'the language "{language}" has no text to train on, so it gets no tokenizer of its own')
        return [language for language in self._counts.languages if trained[language]]

    def _key(self, name: str) -> str:
        weights = {}
        if self._counts.weighting == "counts":
            weights = {str(name): str(weight) for name, weight in self._counts.weights.items()}
        recipe = self._study.recipe
        settings: list[Any] = [recipe.model_dump(mode="json"), sorted(recipe.model_fields_set)]
        if self._base:
            settings += [self._base.checksum, self._base.settings.model_dump()]
        return key_of("train", TRAINING_FORMAT, name, self._counts_key, weights, settings)

    def _extend(self, name: str, counts: WordCounts | PreTokenCounts, base: Base) -> TrainedTokenizer:
        extended = base.extend(counts, progress=self._reporter(name))
        wanted = self._study.recipe.vocab_size - base.tokenizer.vocab_size
        if len(extended.added) < wanted:
            found = f"{len(extended.added):,} new pieces, not {wanted:,}"
            self._warn(f'"{name}": the text allows only {found}')
        self._extended[name] = extended
        tokenizer: TrainedTokenizer = extended.tokenizer
        return tokenizer

    def _smaller_extension(self, tokenizer: TrainedTokenizer, base: Base) -> Extended[Any]:
        """A smaller size of the extended tokenizer, with its new pieces. A later run extends once more to know them."""
        if MULTILINGUAL not in self._extended:
            self._extend(MULTILINGUAL, self._counts.training(), base)
        pieces = self._extended[MULTILINGUAL].added
        return Extended(tokenizer, base.tokenizer, tuple(piece for piece in pieces if piece.id < tokenizer.vocab_size))

    def _train_multilingual(self) -> TrainedTokenizer:
        if self._base:
            return self._extend(MULTILINGUAL, self._counts.training(), self._base)
        try:
            return train_any(self._words(), self._study.recipe, progress=self._reporter(MULTILINGUAL))
        except VocabularyTooLargeError as error:
            raise StudyError([self._study.mistake(("recipe", "vocab_size"), str(error))]) from error

    def _words(self, language: str | None = None) -> WordCounts | WordStream | PreTokenCounts:
        """What to train on. Where a stream will do, no table of all words is in memory."""
        recipe = self._study.recipe
        streams = isinstance(recipe, Recipe) and not recipe.parity
        return self._counts.training_stream(language) if streams else self._counts.training(language)

    def _resize(self) -> dict[str, str]:
        """Makes the smaller sizes that the study asks for; returns their stages."""
        full: TrainedTokenizer | None = None
        stages = {}
        folder = self._state.folder / TOKENIZERS_FOLDER
        source = self._state.outputs([_stage(MULTILINGUAL)])
        for size in sorted(self._study.analysis.vocab_sizes):
            if size == self._study.recipe.vocab_size:
                continue
            name = f"{MULTILINGUAL}-{size}"
            key = key_of("resize", TRAINING_FORMAT, size, source)
            if not self._state.is_done(_stage(name), key):
                full = full or self._made.get(MULTILINGUAL) or _load(folder / MULTILINGUAL)
                if size >= full.vocab_size:
                    self._warn(f"size {size:,} is left out: the text allows only {full.vocab_size:,} pieces")
                    continue
                self._check_size(full, size)
                self._save(name, key, *_timed(partial(full.resize, size)))
                # Evaluation derives the metrics of a smaller size from the pass of the full one.
                self._made[name].frequencies = None
                if isinstance(made := self._made[name], Tokenizer):
                    made._forget_encoder()
            stages[name] = _stage(name)
        return stages

    def _check_size(self, full: TrainedTokenizer, size: int) -> None:
        try:
            Sizes.of(full, [size], name=MULTILINGUAL)
        except InputError as error:
            index = self._study.analysis.vocab_sizes.index(size)
            key = ("analysis", "vocab_sizes", index)
            raise StudyError([self._study.mistake(key, f"vocab_sizes in [analysis]: {error}")]) from error

    def _train_left(self, left: dict[str, str]) -> dict[str, str]:
        """Trains several at a time, the multilingual one first, since it takes longest. Returns the stages of sizes.

        A tokenizer is saved while others train. All languages together have about as many words as the whole corpus.
        """
        sizes = {} if MULTILINGUAL in left else self._resize()
        pool = ThreadPoolExecutor(max_workers=min(self._threads, len(left) + 1))
        try:
            futures: dict[Future[tuple[TrainedTokenizer, float]], str] = {}
            beside: Future[None] | None = None
            for name in left:
                futures[pool.submit(_timed, partial(self._train, name))] = name
                # Runs beside the first and longest training. At the end, the other threads would be idle.
                beside = beside or pool.submit(self._meanwhile)
            pending = set(futures)
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED, timeout=0.2)
                for future in done:
                    name = futures[future]
                    self._save(name, left[name], *future.result())
                    if name == MULTILINGUAL:
                        sizes = self._resize()
                    self._made[name].frequencies = None  # saved, and no later stage needs them
            if beside:
                beside.result()
        finally:
            # Training checks this when it reports progress, so it ends soon after an error or Ctrl-C.
            self._stopped = True
            pool.shutdown(cancel_futures=True)
            self._stopped = False
        return sizes

    def _train(self, name: str) -> TrainedTokenizer:
        return self._train_multilingual() if name == MULTILINGUAL else self._train_language(name)

    def _train_language(self, language: str) -> TrainedTokenizer:
        if self._base:
            return self._extend(language, self._counts.training(language), self._base)
        recipe, words = self._study.recipe, self._words(language)
        try:
            return train_any(words, recipe, progress=self._reporter(language))
        except VocabularyTooLargeError as error:
            self._warn(
                f'the language "{language}" has text for only {error.largest:,} pieces, not {recipe.vocab_size:,}: '
                "its own tokenizer has that size"
            )
            settings = {name: getattr(recipe, name) for name in recipe.model_fields_set}
            smaller = type(recipe)(**{**settings, "vocab_size": error.largest})
            return train_any(words, smaller, progress=self._reporter(language))
        except InputError as error:
            raise InputError(f'the language "{language}": {error}') from error

    def _reporter(self, name: str) -> Progress:
        def report(done: int, wanted: int) -> None:
            if self._stopped:
                raise InterruptedError("training was stopped")
            with self._lock:
                # Progress counts pieces, training counts merges: the last merge completes the vocabulary.
                self._done[name] = self._study.recipe.vocab_size * done // max(wanted, 1)
                self._progress(sum(self._done.values()), self._wanted)

        return report

    def _save(self, name: str, key: str, tokenizer: TrainedTokenizer, spent_s: float) -> None:
        with self._state.doing(_stage(name), key, spent_s=spent_s) as outputs:
            folder = self._state.folder / TOKENIZERS_FOLDER / name
            if self._base is None:
                outputs += _save_all(tokenizer, folder)
            else:
                extended = self._extended.get(name) or self._smaller_extension(tokenizer, self._base)
                outputs += save_extended(extended, folder, original=self._base.original, force=True)
        self._made[name] = tokenizer


def _save_all(tokenizer: TrainedTokenizer, folder: Path) -> list[Path]:
    """Writes a tokenizer in every format; returns the files."""
    if isinstance(tokenizer, ByteLevelTokenizer):
        tokenizer.save(folder, force=True)
        files = {folder / name for name in SAVED_FILES}
    else:
        files = {*export_both(tokenizer, folder, force=True)}
    if (frequencies := merge_frequencies(tokenizer)) is not None:
        files.add(write_frequencies(frequencies, folder))
    return sorted(files)


def _load(folder: Path) -> TrainedTokenizer:
    """Loads a tokenizer with the frequencies of its merges."""
    tokenizer = load_trained(folder)
    frequencies = read_frequencies(folder)
    if isinstance(tokenizer, Tokenizer):
        tokenizer.frequencies = frequencies
    elif frequencies is not None:
        tokenizer.frequencies = list(frequencies.values())
    return tokenizer


def _timed(make: Callable[[], TrainedTokenizer]) -> tuple[TrainedTokenizer, float]:
    started = time.monotonic()
    return make(), time.monotonic() - started


def _stage(name: str) -> str:
    return f"tokenizer {name}"
