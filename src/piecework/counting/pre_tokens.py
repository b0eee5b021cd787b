"""Counts of pre-tokens: the table from which byte-level tokenizers of every size are trained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import orjson

from piecework import _core
from piecework.common.files import replace_atomically
from piecework.common.pre_tokenizer import PreTokenizer
from piecework.common.terms import MOST_THREADS
from piecework.counting.words import text_batches, words_to_arrow
from piecework.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from piecework.counting.rare import RareWords

__all__ = ["PreTokenCounter", "PreTokenCounts", "as_pre_tokenizer", "check_threads", "count_pre_tokens"]

_METADATA = b"piecework.pre_tokenizer"


class PreTokenCounts:
    """How often each pre-token occurs, and what cut the text into them.

    >>> counts = count_pre_tokens(["Hej på dig, hej på er"], pre_tokenizer="gpt2")
    >>> list(counts.items())
    [(' dig', 1), (' er', 1), (' hej', 1), (' på', 2), (',', 1), ('Hej', 1)]
    """

    def __init__(self, table: _core.WordTable, pre_tokenizer: PreTokenizer, *, invalid_bytes: int = 0) -> None:
        """Use `count_pre_tokens`, `load` or `from_mapping` instead."""
        self._table = table
        self.pre_tokenizer = pre_tokenizer
        """What cut the text."""
        self.invalid_bytes = invalid_bytes
        """Bytes that were not UTF-8 and were counted as U+FFFD."""
        self.rare: RareWords | None = None
        """The pre-tokens that were left out because they are rare, if the counts were loaded with a `min_count`."""

    @classmethod
    def from_mapping(cls, counts: Mapping[str, int], *, pre_tokenizer: str | PreTokenizer) -> Self:
        """Counts from a mapping."""
        import pyarrow as pa

        for pre_token, count in counts.items():
            if not isinstance(count, int) or not 0 <= count < 1 << 64:
                raise InputError(
                    f"the count of {pre_token!r} must be a whole number from 0 to 2**64 - 1, not {count!r}"
                )
        try:
            pre_tokens = pa.array(counts.keys(), pa.large_string())
        except (pa.ArrowException, UnicodeEncodeError) as error:
            raise InputError(f"a pre-token must be a str that UTF-8 can hold: {error}") from error
        columns = [(pre_tokens, pa.array(counts.values(), pa.uint64()))]
        return cls.from_columns(columns, pre_tokenizer=as_pre_tokenizer(pre_tokenizer), source="the mapping")

    @classmethod
    def from_columns(cls, batches: Iterable[tuple[Any, Any]], *, pre_tokenizer: PreTokenizer, source: str) -> Self:
        """Counts from batches of Arrow columns, pre-tokens and uint64 counts; `source` is what errors name."""
        table = _core.WordTable()
        for pre_tokens, counts in batches:
            try:
                table.add_pre_tokens(pre_tokens, counts)
            except (ValueError, OverflowError) as error:
                raise InputError(f"{source}: {error}") from error
        return cls(table, pre_tokenizer)

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
        """Pre-tokens with their counts, sorted by their UTF-8."""
        for batch in self.to_arrow().to_batches(max_chunksize=65536):
            yield from zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)

    def to_arrow(self) -> pa.Table:
        """An Arrow table with the columns `pre_token` and `count`, sorted, and the pre-tokenizer in its metadata."""
        table = words_to_arrow(self._table.columns()).rename_columns(["pre_token", "count"])
        return table.replace_schema_metadata({_METADATA: orjson.dumps(asdict(self.pre_tokenizer))})

    def save(self, path: str | Path) -> None:
        """Writes a Parquet file. Equal counts give equal files."""
        import pyarrow.parquet as pq

        with replace_atomically(Path(path)) as temporary:
            pq.write_table(self.to_arrow(), temporary, compression="zstd", row_group_size=1 << 20)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads what `save` wrote, a row group at a time."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = _core.WordTable()
        try:
            with pq.ParquetFile(path) as file:
                metadata = file.schema_arrow.metadata or {}
                if _METADATA not in metadata or file.schema_arrow.names != ["pre_token", "count"]:
                    raise InputError(
                        f"{path}: not counts of pre-tokens; its columns are {', '.join(file.schema_arrow.names)}"
                    )
                for batch in file.iter_batches():
                    table.add_pre_tokens(batch.column(0), batch.column(1))
        except FileNotFoundError as error:
            raise InputError(f"{path}: no such file") from error
        except (OSError, pa.ArrowException, ValueError) as error:
            raise InputError(f"{path}: not a readable file of pre-token counts ({error})") from error
        return cls(table, PreTokenizer.restored(orjson.loads(metadata[_METADATA])))

    def __add__(self, other: PreTokenCounts) -> PreTokenCounts:
        if not isinstance(other, PreTokenCounts):
            return NotImplemented
        if other.pre_tokenizer != self.pre_tokenizer:
            raise InputError(
                f"counts of two pre-tokenizers cannot be added: {self.pre_tokenizer} and {other.pre_tokenizer}"
            )
        invalid_bytes = self.invalid_bytes + other.invalid_bytes
        merged = PreTokenCounts(_core.WordTable(), self.pre_tokenizer, invalid_bytes=invalid_bytes)
        try:
            merged._table.merge(self._table)
            merged._table.merge(other._table)
        except OverflowError as error:
            raise InputError(f"adding counts of pre-tokens: {error}") from error
        return merged

    def scale(self, factor: int) -> PreTokenCounts:
        """The same pre-tokens, each counted `factor` times.

        >>> list(count_pre_tokens(["hus"], pre_tokenizer="gpt2").scale(3).items())
        [('hus', 3)]
        """
        if factor < 1:
            raise InputError(f"counts can be scaled by 1 and more, not by {factor}")
        scaled = PreTokenCounts(_core.WordTable(), self.pre_tokenizer, invalid_bytes=self.invalid_bytes)
        scaled._table.merge(self._table)
        try:
            scaled._table.scale(min(factor, 1 << 64))
        except (OverflowError, TypeError) as error:  # the latter where the factor alone is too large
            raise InputError(f"scaling by {factor:,}: a count does not fit in 64 bits") from error
        return scaled

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PreTokenCounts):
            return NotImplemented
        return self.pre_tokenizer == other.pre_tokenizer and self._table.columns() == other._table.columns()

    __hash__ = None  # type: ignore[assignment]  # a table that is compared by what it holds

    def __repr__(self) -> str:
        return f"PreTokenCounts({len(self):,} pre-tokens of {self.pre_tokenizer.name})"


class PreTokenCounter:
    """Counts pre-tokens batch by batch. A custom pattern runs on one thread, whatever `threads` says.

    >>> counter = PreTokenCounter(PreTokenizer("gpt2"))
    >>> counter.add(["Hej på dig", b"Hej"])
    >>> list(counter.finish().items())
    [(' dig', 1), (' på', 1), ('Hej', 2)]
    """

    def __init__(self, pre_tokenizer: PreTokenizer, *, threads: int = 1) -> None:
        self._pre_tokenizer = pre_tokenizer
        self._counter: _core.PreTokenCounter | _PatternCounter = (
            _core.PreTokenCounter(pre_tokenizer._native, threads)
            if pre_tokenizer.is_native
            else _PatternCounter(pre_tokenizer)
        )

    def add(self, texts: Any) -> None:
        """Adds a batch: a sequence of str or bytes, or an Arrow array of strings. Each text is a document."""
        try:
            if hasattr(texts, "__arrow_c_array__"):
                self._counter.add_arrow(texts)
            elif hasattr(texts, "iterchunks"):
                for chunk in texts.iterchunks():
                    self._counter.add_arrow(chunk)
            else:
                self._counter.add_texts(texts)
        except OverflowError as error:
            raise InputError(f"counting: {error}") from error

    def add_lines(self, block: bytes) -> None:
        """Adds the lines of a block, each with its newline and each a document."""
        self._counter.add_lines(block)

    def finish(self) -> PreTokenCounts:
        """The counts of all that was added."""
        invalid_bytes = self._counter.invalid_bytes
        try:
            table = self._counter.finish()
        except OverflowError as error:
            raise InputError(f"counting: {error}") from error
        return PreTokenCounts(table, self._pre_tokenizer, invalid_bytes=invalid_bytes)


def count_pre_tokens(texts: Any, *, pre_tokenizer: str | PreTokenizer, threads: int = 1) -> PreTokenCounts:
    """Counts the pre-tokens of `texts`, an iterable of str or bytes or an Arrow array of strings.

    A text is a document: a pre-token never reaches from one into the next, and newlines are part of the text.

    >>> list(count_pre_tokens(["ett träd\\ntvå träd"], pre_tokenizer="llama3").items())
    [('\\n', 1), (' träd', 2), ('ett', 1), ('två', 1)]
    """
    if isinstance(texts, str | bytes):
        raise InputError("count_pre_tokens takes an iterable of texts; for a single one write [text]")
    check_threads(threads)
    pre_tokenizer = as_pre_tokenizer(pre_tokenizer)
    counter = PreTokenCounter(pre_tokenizer, threads=threads)
    if hasattr(texts, "__arrow_c_array__") or hasattr(texts, "iterchunks"):
        counter.add(texts)
    else:
        for batch in text_batches(texts):
            counter.add(batch)
    return counter.finish()


class _PatternCounter:
    """What `_core.PreTokenCounter` does, for a custom pattern."""

    def __init__(self, pre_tokenizer: PreTokenizer) -> None:
        self._counter = _core.DocumentCounter(cut=pre_tokenizer.split)

    def add_texts(self, texts: Sequence[str | bytes]) -> None:
        self._counter.add_training(texts, 1)

    def add_arrow(self, array: Any) -> None:
        import pyarrow as pa

        self.add_texts(pa.array(array).to_pylist())

    def add_lines(self, block: bytes) -> None:
        self.add_texts(block.splitlines(keepends=True))

    @property
    def invalid_bytes(self) -> int:
        return self._counter.statistics.invalid_bytes

    def finish(self) -> _core.WordTable:
        return self._counter.take_training()


def check_threads(threads: int) -> None:
    """Refuses numbers of threads that no machine has."""
    if not 1 <= threads <= MOST_THREADS:
        raise InputError(f"threads must be 1 to {MOST_THREADS}, not {threads}")


def as_pre_tokenizer(pre_tokenizer: str | PreTokenizer) -> PreTokenizer:
    """The pre-tokenizer of this name, or the one that is given."""
    return PreTokenizer(pre_tokenizer) if isinstance(pre_tokenizer, str) else pre_tokenizer
