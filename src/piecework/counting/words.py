"""Word counts: the one table from which tokenizers of every size and recipe are trained."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from piecework import _core
from piecework.common.files import replace_atomically
from piecework.common.terms import MOST_THREADS, CleanUp, Split
from piecework.errors import InputError
from piecework.study.normalization import Normalization, describe_normalization

if TYPE_CHECKING:
    import pyarrow as pa

    from piecework.counting.rare import RareWords

__all__ = ["WordCounter", "WordCounts", "add_columns", "count_words"]


_MADE = b"piecework.counted"
_PLAINLY: dict[str, Any] = {"normalization": None, "split": "words", "max_sentence_length": None, "clean_up": None}

_BATCH_TEXTS = 4096
_BATCH_BYTES = 16 << 20


class WordCounts:
    """How often each word occurs.

    Words are kept as they are in the text: a word at the start of a line has no ▁, any other word has one for the space
    before it. So one table serves recipes with and without `add_dummy_prefix`.

    >>> counts = WordCounts.from_mapping({"Hej": 1, "▁på": 2})
    >>> counts += WordCounts.from_mapping({"▁på": 3})
    >>> list(counts.items())
    [('Hej', 1), ('▁på', 5)]
    """

    def __init__(
        self,
        table: _core.WordTable,
        *,
        dropped_lines: int = 0,
        long_lines: int = 0,
        invalid_bytes: int = 0,
        normalization: Mapping[str, Any] | None = None,
        split: Split = "words",
        max_sentence_length: int | None = None,
        clean_up: CleanUp | None = None,
    ):
        """Use `count_words`, `load` or `from_mapping` instead."""
        self._table = table
        self.normalization = normalization
        """How text was normalised before it was counted, as `Normalization.settings` gives it; None if it was not."""
        self.split: Split = split
        """What a row is. In rows that are not words, a further ▁ of a whitespace run is a space."""
        self.max_sentence_length = max_sentence_length
        """Longer lines (in bytes) were left out; None if there was no limit."""
        self.clean_up = clean_up
        """How the documents were cleaned before they were counted."""
        self.dropped_lines = dropped_lines
        """Lines left out because they contain ▅ (U+2585), SentencePiece's own mark."""
        self.long_lines = long_lines
        """Lines left out because they are longer than the limit that was given."""
        self.invalid_bytes = invalid_bytes
        """Bytes that were not UTF-8 and were counted as U+FFFD."""
        self.rare: RareWords | None = None
        """The words that `min_count` left out; None without it."""

    @property
    def _made(self) -> dict[str, Any]:
        """How the text was counted."""
        return {name: getattr(self, name) for name in _PLAINLY}

    @classmethod
    def from_mapping(
        cls, counts: Mapping[str, int], *, normalization: Normalization | None = None, split: Split = "words"
    ) -> Self:
        """Counts from a mapping, of text that was normalised in this way."""
        import pyarrow as pa

        for word, count in counts.items():
            if not isinstance(word, str) or not _is_text(word):
                raise InputError(f"a word must be a str that UTF-8 can hold, not {word!r}")
            if not isinstance(count, int) or not 0 <= count < 1 << 64:
                raise InputError(f"the count of {word!r} must be a whole number from 0 to 2**64 - 1, not {count!r}")
        table = _core.WordTable()
        words = pa.array(counts.keys(), pa.large_string())
        add_columns(table, words, pa.array(counts.values(), pa.uint64()), split=split, source="the mapping")
        return cls(table, normalization=normalization.settings() if normalization else None, split=split)

    @classmethod
    def from_columns(
        cls,
        batches: Iterable[tuple[Any, Any]],
        *,
        source: str,
        dropped_lines: int = 0,
        normalization: Mapping[str, Any] | None = None,
        split: Split = "words",
        max_sentence_length: int | None = None,
        clean_up: CleanUp | None = None,
    ) -> Self:
        """Counts from batches of Arrow columns, words and uint64 counts; `source` is what errors name."""
        table = _core.WordTable()
        for words, counts in batches:
            add_columns(table, words, counts, split=split, source=source)
        return cls(
            table,
            dropped_lines=dropped_lines,
            normalization=normalization,
            split=split,
            max_sentence_length=max_sentence_length,
            clean_up=clean_up,
        )

    def __len__(self) -> int:
        return len(self._table)

    @property
    def total(self) -> int:
        """The sum of all counts."""
        try:
            return self._table.total
        except OverflowError as error:
            raise InputError("the counts add up to more than 64 bits hold") from error

    @property
    def memory_bytes(self) -> int:
        """The memory that the table takes."""
        return self._table.memory_bytes

    def items(self) -> Iterator[tuple[str, int]]:
        """Words with their counts, sorted by their UTF-8."""
        table = self.to_arrow()
        for batch in table.to_batches(max_chunksize=65536):
            yield from zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)

    def to_arrow(self) -> pa.Table:
        """An Arrow table with the columns `word` and `count`, sorted by word."""
        return words_to_arrow(self._table.columns())

    def save(self, path: str | Path) -> None:
        """Writes a Parquet file. Equal counts give equal files."""
        import pyarrow.parquet as pq

        table = self.to_arrow()
        if self._made != _PLAINLY:
            table = table.replace_schema_metadata({_MADE: json.dumps(self._made, sort_keys=True)})
        with replace_atomically(Path(path)) as temporary:
            pq.write_table(table, temporary, compression="zstd", row_group_size=1 << 20)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads a Parquet file with the columns `word` and `count`, a row group at a time."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = _core.WordTable()
        try:
            file = pq.ParquetFile(path)
        except FileNotFoundError as error:
            raise InputError(f"{path}: no such file") from error
        except (OSError, pa.ArrowInvalid) as error:
            raise InputError(f"{path}: not a readable Parquet file ({error})") from error
        with file:
            names = file.schema_arrow.names
            if not {"word", "count"} <= set(names):
                raise InputError(f"{path}: word counts have the columns word and count; here: {', '.join(names)}")
            try:
                made = {**_PLAINLY, **json.loads((file.schema_arrow.metadata or {}).get(_MADE, b"{}"))}
                for batch in file.iter_batches(columns=["word", "count"]):
                    words, counts = (
                        batch.column("word").cast(pa.large_string()),
                        batch.column("count").cast(pa.uint64()),
                    )
                    if words.null_count or counts.null_count:
                        raise InputError(f"{path}: a word or a count is null")
                    add_columns(table, words, counts, split=made["split"], source=str(path))
            except (OSError, ValueError, pa.ArrowException) as error:
                raise InputError(f"{path}: word must be text and count a whole number ({error})") from error
        return cls(table, **made)

    def __add__(self, other: WordCounts) -> WordCounts:
        if not isinstance(other, WordCounts):
            return NotImplemented
        return self._merged([self, other])

    def scale(self, factor: int) -> WordCounts:
        """The same words, each counted `factor` times.

        >>> list(WordCounts.from_mapping({"hus": 2}).scale(3).items())
        [('hus', 6)]
        """
        if factor < 1:
            raise InputError(f"counts can be scaled by 1 and more, not by {factor}")
        scaled = self._merged([self])
        try:
            scaled._table.scale(min(factor, 1 << 64))
        except (OverflowError, TypeError) as error:  # the latter where the factor alone is too large
            raise InputError(f"scaling by {factor:,}: a count does not fit in 64 bits") from error
        return scaled

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WordCounts):
            return NotImplemented
        if self._made != other._made:
            return False
        return len(self) == len(other) and self._table.columns() == other._table.columns()

    __hash__ = None  # type: ignore[assignment]  # a table that is compared by what it holds

    def __repr__(self) -> str:
        try:
            return f"WordCounts({len(self):,} words, {self.total:,} in all)"
        except InputError:
            return f"WordCounts({len(self):,} words, more than 2**64 in all)"

    @staticmethod
    def _merged(parts: Iterable[WordCounts]) -> WordCounts:
        parts = list(parts)
        first = parts[0]
        merged = WordCounts(_core.WordTable(), **first._made)
        for part in parts:
            for name, value in part._made.items():
                if value == first._made[name]:
                    continue
                one, other = first._made[name], value
                if name == "normalization":
                    one, other = map(describe_normalization, (one, other))
                raise InputError(
                    f"counts that were made in different ways cannot be added: {name} is {one} in one and {other}"
                    " in the other"
                )
            try:
                merged._table.merge(part._table)
            except OverflowError as error:
                raise InputError(f"adding word counts: {error}") from error
            merged.dropped_lines += part.dropped_lines
            merged.long_lines += part.long_lines
            merged.invalid_bytes += part.invalid_bytes
        return merged


class WordCounter:
    """Counts words batch by batch.

    >>> counter = WordCounter()
    >>> counter.add(["Hej på dig", b"Hej"])
    >>> list(counter.finish().items())
    [('Hej', 2), ('▁dig', 1), ('▁på', 1)]
    """

    def __init__(
        self,
        *,
        threads: int = 1,
        max_sentence_length: int | None = None,
        normalization: Normalization | None = None,
        split: Split = "words",
        clean_up: CleanUp | None = None,
    ) -> None:
        """`max_sentence_length` drops longer lines (in bytes), as SentencePiece does; by default none is dropped.

        `normalization` and `split` are those of a recipe: `recipe.normalization()`, `recipe.split()`. `clean_up` says
        how the texts were cleaned; it is only noted.
        """
        if not 1 <= threads <= MOST_THREADS:
            raise InputError(f"threads must be 1 to {MOST_THREADS}, not {threads}")
        self._made: dict[str, Any] = {
            "normalization": normalization.settings() if normalization else None,
            "split": split,
            "max_sentence_length": max_sentence_length,
            "clean_up": clean_up,
        }
        self._counter = _core.WordCounter(
            threads,
            max_line_bytes=max_sentence_length or 0,
            normalizer=normalization.normalizer() if normalization else None,
            split=_core.Split[split],
        )

    def add(self, texts: Any, *, copies: int = 1) -> None:
        """Adds a batch: a sequence of str or bytes, or an Arrow array of strings (of any library, in any layout).

        Each text of a sequence counts `copies` times.
        """
        if hasattr(texts, "__arrow_c_array__"):
            self._add_arrow(texts)
        elif hasattr(texts, "iterchunks"):
            for chunk in texts.iterchunks():
                self._add_arrow(chunk)
        else:
            self._counter.add_texts(texts, copies)

    def _add_arrow(self, array: Any) -> None:
        try:
            self._counter.add_arrow(array)
        except ValueError as error:
            raise InputError(str(error)) from error

    @property
    def memory_bytes(self) -> int:
        """The memory that the tables take so far."""
        return self._counter.memory_bytes

    def finish(self) -> WordCounts:
        """The counts of all that was added."""
        statistics = self._counter.statistics
        return WordCounts(
            self._counter.finish(),
            dropped_lines=statistics.marked_lines,
            long_lines=statistics.long_lines,
            invalid_bytes=statistics.invalid_bytes,
            **self._made,
        )


def count_words(
    texts: Any,
    *,
    threads: int = 1,
    max_sentence_length: int | None = None,
    normalization: Normalization | None = None,
    split: Split = "words",
    clean_up: CleanUp | None = None,
) -> WordCounts:
    """Counts the words of `texts`, an iterable of str or bytes or an Arrow array of strings.

    `normalization` is that of a recipe: `recipe.normalization()`.

    >>> list(count_words(["ett träd\\ntvå träd"]).items())
    [('ett', 1), ('två', 1), ('▁träd', 2)]
    """
    counter = WordCounter(
        threads=threads,
        max_sentence_length=max_sentence_length,
        normalization=normalization,
        split=split,
        clean_up=clean_up,
    )
    if isinstance(texts, (str, bytes)):
        raise InputError("count_words takes an iterable of texts; for a single one write count_words([text])")
    if hasattr(texts, "__arrow_c_array__") or hasattr(texts, "iterchunks"):
        counter.add(texts)
    else:
        for batch in text_batches(texts):
            counter.add(batch)
    return counter.finish()


def words_to_arrow(columns: tuple[memoryview, memoryview, memoryview]) -> pa.Table:
    """Wraps the arrays of the core as an Arrow table of words and counts."""
    import pyarrow as pa

    n = len(columns[2])
    offsets, data, counts = map(pa.py_buffer, columns)
    words = pa.Array.from_buffers(pa.large_string(), n, [None, offsets, data])
    return pa.table({"word": words, "count": pa.Array.from_buffers(pa.uint64(), n, [None, counts])})


def text_batches(texts: Iterable[str | bytes]) -> Iterator[list[str | bytes]]:
    """Batches of bounded length and size, so that huge documents do not fill the memory."""
    iterator = iter(texts)
    batch: list[str | bytes] = []
    size = 0
    while few := list(islice(iterator, 64)):
        batch += few
        size += sum(map(len, few))
        if size >= _BATCH_BYTES or len(batch) >= _BATCH_TEXTS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _is_text(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def add_columns(table: _core.WordTable, words: Any, counts: Any, *, split: Split, source: str) -> None:
    """Adds Arrow columns of words and counts to a table; `source` is what errors name."""
    try:
        table.add_columns(words, counts, split=_core.Split[split])
    except (ValueError, OverflowError) as error:
        raise InputError(f"{source}: {error}") from error
