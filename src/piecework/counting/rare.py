"""Leaves rare words out of training to save memory, with a bound on what that can change.

Consider a pair of pieces (a, b) at any moment of training. Wherever it occurs in a word, the last character of a is
followed by the first character of b. So in the words that were left out, the pair occurs at most as often as that
bigram of characters. Its frequency is lower by at most that much, and never higher. Let B be the largest count of any
bigram in the words that were left out. A merge whose frequency exceeds that of every other pair by more than B is also
chosen when all words are there.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from piecework import _core
from piecework.common.terms import Split
from piecework.counting.machine import free_memory_bytes
from piecework.counting.spill_files import few_files
from piecework.errors import InputError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["RareWords", "WordForms", "add_up"]

MAX_PENDING_BIGRAMS = 1 << 22
SMALLEST_MEMORY_BYTES = 200_000_000
BATCH_ROWS = 1 << 16
BATCH_TEXT_BYTES = 4 << 20
_SPACE_MARK = "\u2581"
_FORMS = ("opening", "other")


@dataclass(frozen=True, slots=True)
class WordForms:
    """Words without ▁, and the counts of their two forms, as Arrow columns of the same length."""

    words: Any
    opening: Any
    """How often the word opens a line."""
    other: Any
    """How often the word comes after a space."""


@dataclass(slots=True)
class RareWords:
    """The words that were left out of a table because they occur fewer than `min_count` times.

    A word may open a line or come after a space. The counts of these two forms are added up before it is called rare.
    Pre-tokens have one form, which is called opening; their bigrams are of bytes, and not of characters.

    >>> import pyarrow as pa
    >>> rare = RareWords(2)
    >>> words = pa.array(["hus", "▁mus", "▁ros", "ros"], pa.large_string())
    >>> rows = add_up([(words, pa.array([1, 1, 1, 1], pa.uint64()))])
    >>> [kept.to_pylist() for kept, _ in rare.leave_out(rows)]
    [['ros'], ['▁ros']]
    >>> rare.distinct, rare.occurrences, rare.largest_change
    (2, 2, (2, 'us'))
    """

    min_count: int
    """In the unit of the table's counts."""
    pre_tokens: bool = False
    distinct: int = 0
    """Distinct words that were left out; a word with both forms counts once."""
    occurrences: int = 0
    _bigrams: dict[int, int] = field(default_factory=dict)
    _pending: list[tuple[Any, Any]] = field(default_factory=list)
    _pending_bigrams: int = 0

    def leave_out(self, batches: Iterable[WordForms]) -> Iterator[tuple[Any, Any]]:
        """The words that are not rare, with ▁ unless they open a line, and their counts."""
        import pyarrow as pa
        from pyarrow import compute

        mark, nothing = (pa.scalar(text, pa.large_string()) for text in (_SPACE_MARK, ""))
        for forms in batches:
            totals = compute.add_checked(forms.opening, forms.other)
            rare = compute.less(totals, pa.scalar(self.min_count, pa.uint64()))
            dropped = totals.filter(rare)
            self.distinct += len(dropped)
            self.occurrences += int(compute.sum(dropped).as_py() or 0)
            self._count_bigrams(forms.words.filter(rare), dropped)
            kinds = [(forms.words, forms.opening)]
            if not self.pre_tokens:
                kinds.append((compute.binary_join_element_wise(mark, forms.words, nothing), forms.other))
            for words, counts in kinds:
                kept = compute.and_not(compute.greater(counts, pa.scalar(0, pa.uint64())), rare)
                yield words.filter(kept), counts.filter(kept)

    @property
    def largest_change(self) -> tuple[int, str]:
        """The bound B, and the bigram that has it."""
        self._add_up_pending()
        if not self._bigrams:
            return 0, ""
        # Of equal bigrams the smallest, so that the result is deterministic.
        bigram, change = max(self._bigrams.items(), key=lambda item: (item[1], -item[0]))
        if self.pre_tokens:
            return change, bytes([bigram >> 32, bigram & 0xFF]).decode("utf-8", "backslashreplace")
        return change, chr(bigram >> 32) + chr(bigram & 0xFFFFFFFF)

    def _count_bigrams(self, words: Any, counts: Any) -> None:
        import numpy as np
        from pyarrow import compute

        if not len(words):
            return
        if self.pre_tokens:
            lengths = compute.binary_length(words).to_numpy()
            units = np.frombuffer("".join(words.to_pylist()).encode(), dtype=np.uint8).astype(np.uint64)
        else:
            # Every word is counted with ▁. A word that opens a line has one only with add_dummy_prefix; else the bound
            # is larger than needed.
            lengths = compute.utf8_length(words).to_numpy() + 1
            joined = "".join(_SPACE_MARK + word for word in words.to_pylist())
            units = np.frombuffer(joined.encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
        if len(units) < 2:
            return
        pairs = (units[:-1] << np.uint64(32)) | units[1:]
        inside = np.ones(len(pairs), dtype=bool)
        inside[np.cumsum(lengths)[:-1] - 1] = False  # from a word to the next
        weights = np.repeat(counts.to_numpy(), lengths)[:-1]
        self._pending.append(_summed(pairs[inside], weights[inside]))
        self._pending_bigrams += len(self._pending[-1][0])
        if self._pending_bigrams > MAX_PENDING_BIGRAMS:
            self._add_up_pending()

    def _add_up_pending(self) -> None:
        """Add up the bigrams of the batches. All scripts together have a few million bigrams at most."""
        import numpy as np

        if not self._pending:
            return
        pairs, sums = _summed(*(np.concatenate(columns) for columns in zip(*self._pending, strict=True)))
        for pair, total in zip(pairs.tolist(), sums.tolist(), strict=True):
            self._bigrams[pair] = self._bigrams.get(pair, 0) + total
        self._pending, self._pending_bigrams = [], 0


def _summed(pairs: np.ndarray[Any, Any], weights: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    """The distinct pairs, and the sum of the weights of each."""
    import numpy as np

    order = np.argsort(pairs, kind="stable")
    pairs, weights = pairs[order], weights[order]
    starts = np.flatnonzero(np.concatenate(([True], pairs[1:] != pairs[:-1]))) if len(pairs) else np.array([], int)
    return pairs[starts], np.add.reduceat(weights, starts) if len(pairs) else weights


def add_up(
    batches: Iterable[tuple[Any, Any]],
    *,
    split: Split = "words",
    pre_tokens: bool = False,
    memory_bytes: int | None = None,
) -> Iterator[WordForms]:
    """Add up the counts of each word over all batches, and bring its two forms together. Pre-tokens have one form.

    Takes at most about `memory_bytes` (by default a quarter of the free memory): a larger table goes to spill files.

    >>> import pyarrow as pa
    >>> words = pa.array(["hus", "▁hus", "▁mus"], pa.large_string())
    >>> forms = list(add_up([(words, pa.array([1, 2, 3], pa.uint64())), (words[:1], pa.array([4], pa.uint64()))]))
    >>> forms[0].words.to_pylist(), forms[0].opening.to_pylist(), forms[0].other.to_pylist()
    (['hus', 'mus'], [5, 0], [2, 3])
    """
    limit = memory_bytes if memory_bytes is not None else max(SMALLEST_MEMORY_BYTES, free_memory_bytes() // 4)
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            files = _write_spill_files(batches, folder, split=None if pre_tokens else split, memory_bytes=limit)
            merger = _core.WordFormMerger(*(few_files(files[form], folder / form) for form in _FORMS))
            while len((forms := _next_forms(merger)).words):
                yield forms
    except _core.CountOverflowError as error:
        raise InputError("the counts of a word add up to more than 64 bits hold; lower the weights") from error
    except OSError as error:
        folder = Path(tempfile.gettempdir())
        raise InputError(f"{folder}: cannot add up the counts here: {error}; set TMPDIR to another folder") from error


def _write_spill_files(
    batches: Iterable[tuple[Any, Any]], folder: Path, *, split: Split | None, memory_bytes: int
) -> dict[str, list[Path]]:
    """Write the words to spill files, by form; pre-tokens have no split.

    A file is written when the table in memory exceeds the limit.
    """
    files: dict[str, list[Path]] = {form: [] for form in _FORMS}
    table = _core.WordTable()

    def write() -> None:
        paths = [folder / f"{form}-{len(files[form])}.spill" for form in _FORMS]
        table.write_word_forms(*map(os.fsencode, paths))
        for form, path in zip(_FORMS, paths, strict=True):
            files[form].append(path)

    for words, counts in batches:
        if split is None:
            table.add_pre_tokens(words, counts)
        else:
            table.add_columns(words, counts, split=_core.Split[split])
        if table.memory_bytes > memory_bytes:
            write()
            table = _core.WordTable()
    write()
    return files


def _next_forms(merger: _core.WordFormMerger) -> WordForms:
    import pyarrow as pa

    columns = merger.words(BATCH_ROWS, BATCH_TEXT_BYTES)
    rows = len(columns[2])
    offsets, data, *counts = map(pa.py_buffer, columns)
    opening, other = (pa.Array.from_buffers(pa.uint64(), rows, [None, column]) for column in counts)
    return WordForms(pa.Array.from_buffers(pa.large_string(), rows, [None, offsets, data]), opening, other)
