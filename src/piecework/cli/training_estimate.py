"""Time and memory of a training, estimated from a small sample of the input."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from piecework.cli.terminal import Terminal, format_bytes
from piecework.corpus import Batch, InputFile, open_batches
from piecework.counting.machine import free_memory_bytes
from piecework.errors import InputError

if TYPE_CHECKING:
    from piecework.counting.pre_tokens import PreTokenCounter
    from piecework.counting.words import WordCounter
    from piecework.study.recipe import AnyRecipe

__all__ = [
    "TrainingEstimate",
    "check_memory",
    "check_text_memory",
    "counted_units",
    "estimate_training",
    "loaded_training_bytes",
    "recipe_counter",
    "streamed_training_bytes",
]

SAMPLE_BATCHES = 8
SAMPLE_BATCH_BYTES = 1_000_000
SAMPLE_SECONDS = 1.0

# Fitted to 20, 100 and 400 MB of text in five languages and code (0.35, 1.1 and 4.0 million distinct words): 149, 184
# and 399 MB at the peak for 64,000 pieces; 0.3 and 0.8 s for 1,000 pieces of the first two, 0.4 and 1.5 s for 64,000.
BASE_BYTES = 110_000_000
BYTES_PER_WORD = 72
# Of counts that are read from disk: docs/scale.md has the measured points.
STREAMED_BASE_BYTES = 190_000_000
STREAMED_BYTES_PER_ROW = 24
BASE_TRAINING_S = 0.1
TRAINING_S_PER_WORD = 0.6e-6


@dataclass(frozen=True, slots=True)
class TrainingEstimate:
    """Roughly what counting and training take."""

    sample_bytes: int
    """Bytes of the input, as stored, that the estimate is based on."""
    distinct_words: int
    memory_bytes: int
    counting_s: float
    training_s: float


def estimate_training(
    files: Sequence[InputFile], *, recipe: "AnyRecipe", text_field: str, threads: int
) -> TrainingEstimate | None:
    """Count at most 8 MB, for at most a second, and extrapolate; None if the sample has no text.

    The number of distinct words or pre-tokens is extrapolated by Heaps' law from half of the sample and all of it.
    """
    from piecework.counting.heaps import HeapsLaw

    halves = (recipe_counter(recipe, threads=threads), recipe_counter(recipe, threads=threads))
    half_bytes = [0, 0]
    started = time.monotonic()
    for index, batch in enumerate(_sample(files, text_field)):
        halves[index % 2].add(batch.documents)
        half_bytes[index % 2] += batch.read_bytes
        if time.monotonic() - started > SAMPLE_SECONDS:
            break
    elapsed_s = time.monotonic() - started
    first: Any
    first, second = (half.finish() for half in halves)
    sample = first + second
    if not len(sample):
        return None
    sample_bytes = max(1, sum(half_bytes))
    factor = max(1.0, sum(file.size_bytes for file in files) / sample_bytes)
    law = HeapsLaw.through((half_bytes[0], len(first)), (sample_bytes, len(sample)))
    distinct_words = round(law.words(factor * sample_bytes))
    return TrainingEstimate(
        sample_bytes=sample_bytes,
        distinct_words=distinct_words,
        memory_bytes=loaded_training_bytes(distinct_words),
        counting_s=elapsed_s * factor,
        training_s=BASE_TRAINING_S + distinct_words * TRAINING_S_PER_WORD * (1 + recipe.vocab_size / 64_000),
    )


def recipe_counter(recipe: "AnyRecipe", *, threads: int) -> "WordCounter | PreTokenCounter":
    """What counts texts as the recipe needs them."""
    from piecework.counting.pre_tokens import PreTokenCounter
    from piecework.counting.words import WordCounter

    settings = recipe.count_settings()
    if settings.pre_tokenizer is not None:
        return PreTokenCounter(settings.pre_tokenizer, threads=threads)
    return WordCounter(
        threads=threads,
        max_sentence_length=settings.max_sentence_length,
        normalization=settings.normalization,
        split=settings.split,
        clean_up=settings.clean_up,
    )


def counted_units(recipe: "AnyRecipe") -> str:
    """What is counted for the recipe."""
    return "words" if recipe.count_settings().pre_tokenizer is None else "pre-tokens"


def loaded_training_bytes(rows: int) -> int:
    """What training needs at its peak for this many distinct words in memory."""
    return BASE_BYTES + rows * BYTES_PER_WORD


def streamed_training_bytes(rows: int) -> int:
    """What training needs at its peak for this many rows that are read from disk, not held in memory.

    >>> streamed_training_bytes(0) == STREAMED_BASE_BYTES
    True
    """
    return STREAMED_BASE_BYTES + round(rows * STREAMED_BYTES_PER_ROW)


def check_memory(terminal: Terminal, needed_bytes: int, limit_bytes: int | None, *, fix: str) -> None:
    """Refuse before anything is done, if it would need more than the limit; warn if the machine has less free."""
    if limit_bytes is not None and needed_bytes > limit_bytes:
        raise InputError(
            f"training would need about {format_bytes(needed_bytes)} of memory, and --memory allows"
            f" {format_bytes(limit_bytes)}; raise --memory, or {fix}"
        )
    free = free_memory_bytes()
    if needed_bytes > free:
        terminal.warn(
            f"this machine has {format_bytes(free)} of memory free; training needs {format_bytes(needed_bytes)}"
        )


def check_text_memory(
    terminal: Terminal,
    files: Sequence[InputFile],
    limit_bytes: int,
    *,
    recipe: "AnyRecipe",
    text_field: str,
    threads: int,
) -> None:
    """Say what counting and training these files will need, and refuse if it is above the limit."""
    estimate = estimate_training(files, recipe=recipe, text_field=text_field, threads=threads)
    if estimate is None:
        return
    terminal.say(
        f"counting and training need about {format_bytes(estimate.memory_bytes)} of memory"
        f" for {estimate.distinct_words:,} distinct {counted_units(recipe)}"
    )
    fix = "count to disk first (piecework count STUDY.toml) and train with --counts, which needs less"
    check_memory(terminal, estimate.memory_bytes, limit_bytes, fix=fix)


def _sample(files: Sequence[InputFile], text_field: str) -> Iterator[Batch]:
    """Read a few batches from the starts of files, spread evenly over the input."""
    # Pipes are left out: they can be read only once.
    readable = [file for file in files if file.size_bytes]
    count = min(len(readable), SAMPLE_BATCHES)
    open_files = [
        open_batches([file], text_field=text_field, batch_bytes=SAMPLE_BATCH_BYTES)
        for file in (readable[index * len(readable) // count] for index in range(count))
    ]
    taken = 0
    while open_files and taken < SAMPLE_BATCHES:
        for batches in open_files.copy():
            batch = next(batches, None)
            if batch is None:
                open_files.remove(batches)
            elif taken < SAMPLE_BATCHES:
                taken += 1
                yield batch
