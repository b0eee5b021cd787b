"""Words that are too rare to be worth their memory: left out of training, with a bound on what that can change.

Let a pair of pieces (a, b) be given, at any moment of training. Wherever it stands in a word, the last character of a
is followed by the first of b. So it stands in the words that were left out at most as often as that bigram of
characters does there, and its frequency is lower by at most as much; it is never higher. With B the largest count of
any bigram in what was left out: a merge that is ahead of every other pair by more than B is chosen with all words too.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from piecework.counting.machine import free_memory_bytes
from piecework.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["RareWords", "add_up"]

MOST_PENDING = 1 << 22
SMALLEST_MEMORY_BYTES = 200_000_000
BATCH_ROWS = 1 << 16
_BEFORE_WORD = "\u2581"


@dataclass(slots=True)
class RareWords:
    """What was left out of a table because it was counted fewer than `min_count` times.

    >>> import pyarrow as pa
    >>> rare = RareWords(2)
    >>> words = pa.array(["▁hus", "▁mus", "▁ros"], pa.large_string())
    >>> [kept.to_pylist() for kept, _ in rare.leave_out([(words, pa.array([5, 1, 1], pa.uint64()))])]
    [['▁hus']]
    >>> rare.distinct, rare.occurrences, rare.largest_change
    (2, 2, (1, 'mu'))
    """

    min_count: int
    """In units of the table's counts."""
    distinct: int = 0
    occurrences: int = 0
    _bigrams: dict[int, int] = field(default_factory=dict)
    _pending: list[tuple[Any, Any]] = field(default_factory=list)
    _pending_size: int = 0

    def leave_out(self, batches: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
        """The words that are not rare, with their counts; each word is in one batch only."""
        import pyarrow as pa
        from pyarrow import compute

        for words, counts in batches:
            rare = compute.less(counts, pa.scalar(self.min_count, pa.uint64()))
            dropped = counts.filter(rare)
            if len(dropped):
                self.distinct += len(dropped)
                self.occurrences += int(compute.sum(dropped).as_py() or 0)
                self._count_bigrams(words.filter(rare), dropped)
                rest = compute.invert(rare)
                words, counts = words.filter(rest), counts.filter(rest)
            yield words, counts

    @property
    def largest_change(self) -> tuple[int, str]:
        """By how much the frequency of a pair can be lower at most, and between which characters."""
        self._settle()
        if not self._bigrams:
            return 0, ""
        # Of equal ones the first by its characters, so that it is the same every time.
        bigram, change = max(self._bigrams.items(), key=lambda item: (item[1], -item[0]))
        return change, chr(bigram >> 32) + chr(bigram & 0xFFFFFFFF)

    def _count_bigrams(self, words: Any, counts: Any) -> None:
        import numpy as np
        from pyarrow import compute

        # A word that opens a line has no ▁, but may get one in training: reckoned as if it did.
        joined = "".join(word if word.startswith(_BEFORE_WORD) else _BEFORE_WORD + word for word in words.to_pylist())
        opens = compute.invert(compute.starts_with(words, _BEFORE_WORD)).to_numpy(zero_copy_only=False)
        lengths = compute.utf8_length(words).to_numpy() + opens
        characters = np.frombuffer(joined.encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
        if len(characters) < 2:
            return
        pairs = (characters[:-1] << np.uint64(32)) | characters[1:]
        inside = np.ones(len(pairs), dtype=bool)
        ends = np.cumsum(lengths)[:-1]
        inside[ends - 1] = False
        weights = np.repeat(counts.to_numpy(), lengths)[:-1]
        self._pending.append(_summed(pairs[inside], weights[inside]))
        self._pending_size += len(self._pending[-1][0])
        if self._pending_size > MOST_PENDING:
            self._settle()

    def _settle(self) -> None:
        """Add up what batches gave; the bigrams of all scripts together are some millions at most."""
        import numpy as np

        if not self._pending:
            return
        pairs, sums = _summed(*(np.concatenate(columns) for columns in zip(*self._pending, strict=True)))
        for pair, total in zip(pairs.tolist(), sums.tolist(), strict=True):
            self._bigrams[pair] = self._bigrams.get(pair, 0) + total
        self._pending, self._pending_size = [], 0


def _summed(pairs: np.ndarray[Any, Any], weights: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    """The distinct pairs, and the sum of the weights of each."""
    import numpy as np

    order = np.argsort(pairs, kind="stable")
    pairs, weights = pairs[order], weights[order]
    starts = np.flatnonzero(np.concatenate(([True], pairs[1:] != pairs[:-1]))) if len(pairs) else np.array([], int)
    return pairs[starts], np.add.reduceat(weights, starts) if len(pairs) else weights


def add_up(batches: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """Words of several subsets, each once with the sum of its counts, in bounded memory: DuckDB goes to disk."""
    import duckdb
    import pyarrow as pa

    types: dict[str, pa.DataType] = {"word": pa.large_string(), "count": pa.uint64()}
    schema = pa.schema(types)

    def rows() -> Iterator[pa.RecordBatch]:
        for words, counts in batches:
            yield pa.RecordBatch.from_arrays([words, counts], schema=schema)

    with tempfile.TemporaryDirectory() as folder:
        settings: dict[str, Any] = {
            "memory_limit": f"{max(SMALLEST_MEMORY_BYTES, free_memory_bytes() // 4)}B",
            "temp_directory": folder,
            "threads": 1,
            "arrow_large_buffer_size": True,
        }
        with duckdb.connect(config=settings) as connection:
            try:
                connection.register("counted", pa.RecordBatchReader.from_batches(schema, rows()))
                query = "SELECT word, CAST(sum(count) AS UBIGINT) AS count FROM counted GROUP BY word"
                for batch in connection.sql(query).to_arrow_reader(BATCH_ROWS):
                    yield batch.column("word").cast(pa.large_string()), batch.column("count")
            except duckdb.ConversionException as error:
                raise InputError("the counts of a word add up to more than 64 bits hold; lower the weights") from error
            except duckdb.Error as error:
                raise InputError(f"cannot add up the counts: {str(error).splitlines()[0]}") from error
