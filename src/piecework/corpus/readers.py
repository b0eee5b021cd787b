"""Reads documents from files, in batches of bounded size. Records that cannot be used are counted and skipped."""

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from piecework import _core
from piecework.common.storage import Location, RemotePath, arrow_source
from piecework.corpus.clean_up import clean_documents
from piecework.corpus.inputs import InputFile, Slice, find_files
from piecework.corpus.languages import UNDETERMINED
from piecework.corpus.limits import MAX_DOCUMENT_BYTES, MAX_WORD_BYTES, Limits, has_long_word
from piecework.corpus.record_languages import RecordLanguages
from piecework.corpus.skipped import LOCATIONS_KEPT, Reason, Skipped
from piecework.corpus.streams import ByteStream, line_blocks
from piecework.errors import InputError

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

from piecework.common.terms import CleanUp

__all__ = ["Batch", "Documents", "TextUnit", "open_batches", "open_parquet"]

Documents: TypeAlias = "Sequence[str | bytes] | pyarrow.Array[Any]"
TextUnit = Literal["block", "line", "file"]
"""The unit of plain text: a block of many lines as unchecked bytes, a line, or the whole file."""

BATCH_BYTES = 1 << 20
"""A batch stays in the processor's cache while it is counted. With 16 MiB, counting took a sixth more CPU time."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# pyarrow's own default. If rows are long, batches are limited by their bytes instead.
PARQUET_BATCH_ROWS = 65_536
# With this buffer, column chunks are read in parts, and one page is in memory at a time.
PARQUET_BUFFER_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents of one file, and the number of stored bytes that were read for them.

    The documents are strings (from JSONL and text), an Arrow string array (from Parquet), or one block of
    bytes that holds many lines (from text, where counting looks at lines only). If all were skipped, there are none.
    """

    file: InputFile
    documents: Documents
    read_bytes: int
    lines: int = 0
    """The number of line feeds in these bytes; 0 for Parquet, and for text in blocks or whole files."""
    by_language: Mapping[str, Documents] | None = None
    """Instead of `documents`, if a field has the language of each record."""


def open_batches(
    paths: Iterable[str | os.PathLike[str] | RemotePath | InputFile | Slice],
    *,
    text_field: str = "text",
    text_unit: TextUnit = "block",
    batch_bytes: int = BATCH_BYTES,
    skipped: Skipped | None = None,
    clean_up: CleanUp | None = None,
    limits: Limits | None = None,
    languages: RecordLanguages | None = None,
    lines_as_arrow: bool = False,
) -> Iterator[Batch]:
    """Read text, JSONL and Parquet files; folders and globs mean the files in them.

    All files are looked up first, so that a missing file is an error before any file is read. Records that cannot be
    used are counted in `skipped`; the lines of a slice are counted from its first one. With `clean_up` documents are
    cleaned as that client cleans them. Longer documents and words than `limits` are skipped; by default these are the
    limits of counting. With `languages`, records are sorted by language, and skipped records are counted by language
    too. With `lines_as_arrow`, documents that are lines of text or of JSONL come as an Arrow array if possible: no
    Python object is made for a line.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "greetings.jsonl")
    >>> _ = path.write_text('{"text": "hej"}\\n{"text": 1}\\n{"text": "hallå"}')
    >>> skipped = Skipped()
    >>> [document for batch in open_batches([path], skipped=skipped) for document in batch.documents]
    ['hej', 'hallå']
    >>> skipped.by_reason()
    {<Reason.NOT_A_STRING: 'not a string'>: 1}
    """
    slices: list[Slice] = []
    for path in paths:
        if isinstance(path, Slice):
            slices.append(path)
        else:
            slices += map(Slice, [path] if isinstance(path, InputFile) else find_files([path]))
    if skipped is None:
        skipped = Skipped() if languages is None else languages.skipped_of(UNDETERMINED)
    limits = limits or Limits(MAX_DOCUMENT_BYTES, MAX_WORD_BYTES)
    reading = _Reading(text_field, batch_bytes, skipped, limits, languages, lines_as_arrow=lines_as_arrow)
    batches = _read_slices(slices, text_unit, reading)
    return batches if clean_up is None else map(_cleaned, batches)


def _cleaned(batch: Batch) -> Batch:
    if batch.by_language is None:
        return replace(batch, documents=clean_documents(batch.documents))
    return replace(batch, by_language={name: clean_documents(each) for name, each in batch.by_language.items()})


@dataclass(frozen=True, slots=True)
class _Reading:
    """What all files of one call share."""

    text_field: str
    batch_bytes: int
    skipped: Skipped
    limits: Limits
    languages: RecordLanguages | None = None
    lines_as_arrow: bool = False

    def has_long_word(self, text: str) -> bool:
        # A text with at most this many characters has no word that is too long.
        short = self.limits.word_bytes // 4
        return len(text) > short and has_long_word(text.encode(), self.limits.word_bytes)


def _read_slices(slices: list[Slice], text_unit: TextUnit, reading: _Reading) -> Iterator[Batch]:
    for part in slices:
        if part.file.format == "jsonl":
            yield from _read_jsonl(part, reading)
        elif part.file.format == "parquet":
            yield from _read_parquet(part, reading)
        elif text_unit == "block":
            yield from _read_text(part, reading)
        elif text_unit == "line":
            yield from _read_lines(part, reading)
        else:
            yield _read_whole(part.file, reading)
        _check_unchanged(part.file)


def _check_unchanged(file: InputFile) -> None:
    """Raise an InputError if a file is not the one that was found: what was read of it may be of two versions."""
    try:
        status = file.path.stat_now() if isinstance(file.path, RemotePath) else file.path.stat()
    except OSError as error:
        raise InputError(f"{file.path}: cannot read: {error.strerror or error}") from error
    if isinstance(status, os.stat_result) and not stat.S_ISREG(status.st_mode):
        return  # the time of a named pipe changes with every write
    if (status.st_size, status.st_mtime_ns) != (file.size_bytes, file.modified_ns):
        raise InputError(f"{file.path}: changed while it was read; run the command again when nothing writes to it")


@dataclass(slots=True)
class _Block:
    """Whole lines without the byte order mark, how many stored bytes they took, and how many lines came before."""

    data: bytes
    read_bytes: int
    lines_before: int
    known_lines: int | None = None
    """Set by a reader that has counted them."""

    @property
    def lines(self) -> int:
        if self.known_lines is None:
            self.known_lines = _core.count_newlines(self.data)  # bytes.count took 0.15 s for 400 MB
        return self.known_lines


def _blocks(part: Slice, reading: _Reading) -> Iterator[_Block]:
    """The blocks of a slice.

    Lines that are too long are counted as skipped, and empty in the block.
    """
    file = part.file
    lines_before = 0
    blocks = line_blocks(
        file.path,
        file.compression,
        reading.batch_bytes,
        start=part.start,
        stop=part.stop,
        max_line_bytes=reading.limits.document_bytes,
    )
    for index, block in enumerate(blocks):
        if block.long_lines:
            reading.skipped.add(str(file.path), Reason.TOO_LONG, [lines_before + line + 1 for line in block.long_lines])
        starts_file = index == part.start == 0
        data = block.data.removeprefix(BYTE_ORDER_MARK) if starts_file else block.data
        found = _Block(data, block.read_bytes, lines_before)
        yield found
        lines_before += found.lines


def _read_text(part: Slice, reading: _Reading) -> Iterator[Batch]:
    longest = reading.limits.word_bytes
    for block in _blocks(part, reading):
        data = block.data
        if has_long_word(data, longest):
            lines = data.split(b"\n")
            for number, line in enumerate(lines, block.lines_before + 1):
                if has_long_word(line, longest):
                    reading.skipped.add(str(part.file.path), Reason.WORD_TOO_LONG, [number])
                    lines[number - block.lines_before - 1] = b""
            data = b"\n".join(lines)
        yield Batch(part.file, [data] if data else [], block.read_bytes)


def _read_lines(part: Slice, reading: _Reading) -> Iterator[Batch]:
    """Yields the lines that are not blank, without a final carriage return."""
    name = str(part.file.path)
    skipped = reading.skipped
    for block in _blocks(part, reading):
        if reading.lines_as_arrow and not has_long_word(block.data, reading.limits.word_bytes):
            columns = _core.line_documents(block.data)
            if columns is not None:
                offsets, data, block.known_lines = columns
                yield Batch(part.file, _strings(offsets, data), block.read_bytes, block.lines)
                continue
        try:
            texts: Iterable[str | None] = block.data.decode().split("\n")
        except UnicodeDecodeError:
            texts = map(_decoded, block.data.split(b"\n"))
        documents: list[str | bytes] = []
        for line_number, text in enumerate(texts, block.lines_before + 1):
            if text is None:
                skipped.add(name, Reason.INVALID_UTF8, [line_number])
            elif text and not text.isspace():
                if reading.has_long_word(text):
                    skipped.add(name, Reason.WORD_TOO_LONG, [line_number])
                else:
                    documents.append(text.removesuffix("\r"))
        yield Batch(part.file, documents, block.read_bytes, block.lines)


def _strings(offsets: memoryview, data: memoryview) -> "pyarrow.Array[Any]":
    import pyarrow as pa

    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)


def _read_whole(file: InputFile, reading: _Reading) -> Batch:
    skipped = reading.skipped
    stream = ByteStream(file.path, file.compression)
    chunks: list[bytes] = []
    size_bytes = 0
    for chunk in stream:
        chunks.append(chunk)
        size_bytes += len(chunk)
        if size_bytes > reading.limits.document_bytes:
            skipped.add(str(file.path), Reason.TOO_LONG, [0])
            return Batch(file, [], file.size_bytes)
    data = b"".join(chunks).removeprefix(BYTE_ORDER_MARK)
    text = _decoded(data)
    if text and not has_long_word(data, reading.limits.word_bytes):
        return Batch(file, [text], stream.consumed_bytes)
    reason = Reason.INVALID_UTF8 if text is None else Reason.WORD_TOO_LONG if text else Reason.EMPTY
    skipped.add(str(file.path), reason, [0])
    return Batch(file, [], stream.consumed_bytes)


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _read_jsonl(part: Slice, reading: _Reading) -> Iterator[Batch]:
    import orjson

    name = str(part.file.path)
    text_field, skipped, languages = reading.text_field, reading.skipped, reading.languages
    short = reading.limits.word_bytes // 4
    in_core = reading.lines_as_arrow and languages is None
    for block in _blocks(part, reading):
        if in_core:
            # A text of at most so many bytes has no word that is too long.
            columns = _core.json_documents(block.data, text_field, longest=reading.limits.word_bytes)
            if columns is not None:
                offsets, data, block.known_lines = columns
                yield Batch(part.file, _strings(offsets, data), block.read_bytes, block.lines)
                continue
        documents: list[str | bytes] = []
        for line_number, line in enumerate(block.data.split(b"\n"), block.lines_before + 1):
            # An exception of orjson takes 5 µs: too slow for blank lines.
            if len(line) < 8 and not line.strip():
                continue
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError:
                if not line.strip():
                    continue
                record, text = _second_opinion(line, text_field)
            else:
                text = _text_of(record, text_field)
            if languages is not None:
                sorted_record = languages.sort(record, text)
                if sorted_record is None:
                    continue
                documents, skipped, text = sorted_record
            if not isinstance(text, Reason) and len(text) > short and reading.has_long_word(text):
                text = Reason.WORD_TOO_LONG
            if isinstance(text, Reason):
                skipped.add(name, text, [line_number])
            else:
                documents.append(text)
        if languages is None:
            yield Batch(part.file, documents, block.read_bytes, block.lines)
        else:
            yield Batch(part.file, [], block.read_bytes, block.lines, languages.take())


_MISSING = object()


def _text_of(record: Any, text_field: str) -> str | Reason:
    if not isinstance(record, dict):
        return Reason.NOT_AN_OBJECT
    text = record.get(text_field, _MISSING)
    if isinstance(text, str):
        return text or Reason.EMPTY
    if text is _MISSING:
        return Reason.FIELD_MISSING
    return Reason.FIELD_NULL if text is None else Reason.NOT_A_STRING


def _second_opinion(line: bytes, text_field: str) -> tuple[Any, str | Reason]:
    """The record of a line that orjson refuses, and its text or the reason to skip it.

    orjson also refuses harmless records, for example with a large number, or a lone surrogate in another field. So the
    standard library decides. It accepts NaN and Infinity, which are not JSON; they are refused here.
    """

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        record = json.loads(line.decode(), parse_constant=refuse, parse_int=float)
    except UnicodeDecodeError:
        return None, Reason.INVALID_UTF8
    except (ValueError, RecursionError):
        return None, Reason.MALFORMED_JSON
    text = _text_of(record, text_field)
    if not isinstance(text, Reason):
        try:
            text.encode()
        except UnicodeEncodeError:
            return record, Reason.LONE_SURROGATE
    return record, text


def _read_parquet(part: Slice, reading: _Reading) -> Iterator[Batch]:
    file = part.file
    text_field, skipped, languages = reading.text_field, reading.skipped, reading.languages
    name = str(file.path)
    with open_parquet(file.path) as parquet:
        # The footer does not say where in the file a batch is. The number of rows is a good estimate.
        group_bounds = [0, *accumulate(parquet.metadata.row_group(i).num_rows for i in range(parquet.num_row_groups))]
        groups = range(parquet.num_row_groups)[part.start : part.stop]
        done_rows, stop_rows = group_bounds[groups.start], group_bounds[groups.stop]
        reported = _position(file, done_rows, group_bounds[-1])
        columns = [text_field] if languages is None else [text_field, languages.field.name]
        if missing := [column for column in columns if column not in parquet.schema_arrow.names]:
            if stop_rows > done_rows:
                first = list(range(done_rows + 1, stop_rows + 1)[:LOCATIONS_KEPT])
                reason = Reason.FIELD_MISSING if text_field in missing else Reason.NO_LANGUAGE
                skipped.add(name, reason, first, count=stop_rows - done_rows)
            yield Batch(file, [], _position(file, stop_rows, group_bounds[-1]) - reported)
            return
        for group in groups:
            batch_rows = _batch_rows(parquet.metadata.row_group(group), reading.batch_bytes)
            for table in parquet.iter_batches(batch_rows, row_groups=[group], columns=columns, use_threads=False):
                numbers = range(done_rows + 1, done_rows + 1 + len(table))
                done_rows += len(table)
                position = _position(file, done_rows, group_bounds[-1])
                if languages is None:
                    documents = _usable(table.column(text_field), name, numbers, reading)
                    yield Batch(file, documents, position - reported)
                else:
                    by_language = _usable_by_language(table, name, numbers, reading, languages)
                    yield Batch(file, [], position - reported, by_language=by_language)
                reported = position


def _position(file: InputFile, done_rows: int, rows: int) -> int:
    return file.size_bytes * done_rows // rows if rows else file.size_bytes


@contextmanager
def open_parquet(path: Location) -> "Iterator[pyarrow.parquet.ParquetFile]":
    """Opens a Parquet file. If it is damaged, at the start or later, an InputError names it."""
    import pyarrow
    import pyarrow.parquet

    try:
        # A row group can have gigabytes. A store is asked for few large parts instead of many small ones.
        buffer_bytes = 0 if isinstance(path, RemotePath) else PARQUET_BUFFER_BYTES
        with pyarrow.parquet.ParquetFile(arrow_source(path), buffer_size=buffer_bytes, pre_buffer=False) as parquet:
            yield parquet
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(
            f"{path}: not a valid Parquet file, or truncated ({reason}); fetch or write it again"
        ) from error


def _batch_rows(group: Any, batch_bytes: int) -> int:
    # The size of all columns, not of one: pyarrow 26 aborts the process if the metadata of a column is damaged.
    rows: int = group.num_rows * batch_bytes // max(1, group.total_byte_size)
    return max(1, min(PARQUET_BATCH_ROWS, rows))


def _usable_by_language(
    table: Any, name: str, numbers: Sequence[int], reading: _Reading, languages: RecordLanguages
) -> dict[str, Documents]:
    """The usable texts of each language; `numbers` are the numbers of the rows."""
    rows: dict[str | Reason | None, list[int]] = {}
    for index, value in enumerate(table.column(languages.field.name).to_pylist()):
        rows.setdefault(languages.field.language_of(value), []).append(index)
    documents: dict[str, Documents] = {}
    for language, indices in rows.items():
        chosen = [numbers[index] for index in indices]
        if isinstance(language, Reason):
            languages.skipped_of(UNDETERMINED).add(name, language, chosen)
        elif language is not None:
            column = table.column(reading.text_field).take(indices)
            of_language = replace(reading, skipped=languages.skipped_of(language))
            documents[language] = _usable(column, name, chosen, of_language)
    return documents


def _usable(column: Any, name: str, numbers: Sequence[int], reading: _Reading) -> "pyarrow.Array[Any]":
    """The usable texts of a column; the others are counted as skipped, under the numbers of their rows."""
    import pyarrow
    from pyarrow import compute, types

    def leave_out(rows: "pyarrow.BooleanArray", reason: Reason) -> None:
        indices = compute.indices_nonzero(rows)
        if len(indices):
            first = [numbers[index.as_py()] for index in indices[:LOCATIONS_KEPT]]
            reading.skipped.add(name, reason, first, count=len(indices))

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    leave_out(column.is_null(), Reason.FIELD_NULL)
    text = _as_text(column)
    if text is None:
        leave_out(column.is_valid(), Reason.NOT_A_STRING)
        return pyarrow.array([], pyarrow.string())
    lengths = compute.binary_length(text)
    empty = compute.equal(lengths, pyarrow.scalar(0)).fill_null(False)
    leave_out(empty, Reason.EMPTY)
    unusable = compute.or_(empty, text.is_null())
    longest, longest_word = reading.limits.document_bytes, reading.limits.word_bytes
    if (compute.max(lengths).as_py() or 0) > min(longest, longest_word):
        values = text.cast(pyarrow.large_binary()).to_pylist()
        sizes = [len(value or b"") for value in values]
        too_long = pyarrow.array([size > longest for size in sizes], pyarrow.bool_())
        leave_out(too_long, Reason.TOO_LONG)
        has_word = [
            longest_word < size <= longest and has_long_word(value, longest_word)
            for value, size in zip(values, sizes, strict=True)
        ]
        long_word = pyarrow.array(has_word, pyarrow.bool_())
        leave_out(long_word, Reason.WORD_TOO_LONG)
        unusable = compute.or_(unusable, compute.or_(too_long, long_word))
    try:
        text.validate(full=True)
    except pyarrow.ArrowInvalid:
        values = text.cast(pyarrow.large_binary())
        invalid = pyarrow.array([not _is_utf8(value.as_buffer()) for value in values], pyarrow.bool_())
        leave_out(invalid, Reason.INVALID_UTF8)
        unusable = compute.or_(unusable, invalid)
    usable: pyarrow.Array[Any] = text.filter(compute.invert(unusable)) if unusable.true_count else text
    return usable


def _as_text(column: Any) -> Any:
    """The column as strings with unchecked UTF-8; None if it holds something else."""
    import pyarrow
    from pyarrow import types

    if types.is_string(column.type) or types.is_large_string(column.type):
        return column
    # Impala and old Spark do not annotate strings: they write plain binary columns.
    if types.is_binary(column.type):
        return column.view(pyarrow.string())
    if types.is_large_binary(column.type):
        return column.view(pyarrow.large_string())
    if types.is_string_view(column.type):
        return column.cast(pyarrow.large_string())
    return None


def _is_utf8(data: "pyarrow.Buffer | None") -> bool:
    if data is None:
        return True
    try:
        str(data, "utf-8")
    except UnicodeDecodeError:
        return False
    return True
