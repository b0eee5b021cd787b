"""Files to documents, in batches of bounded size; what cannot be used is counted and never ends the run."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from piecework.corpus.inputs import InputFile, find_files
from piecework.corpus.skipped import Reason, Skipped
from piecework.corpus.streams import line_blocks
from piecework.errors import InputError

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Batch", "Documents", "open_batches"]

Documents: TypeAlias = "Sequence[str | bytes] | pyarrow.Array[Any]"

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# pyarrow's own default. Few but long rows are limited by their bytes instead.
PARQUET_BATCH_ROWS = 65_536


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents of one file, and how many of its bytes, as stored, were read to get them.

    The documents are strings (from JSONL), an Arrow string array (from Parquet), or one block of bytes that
    holds many lines (from text, where counting looks at lines only). Where all were skipped, there are none.
    """

    file: InputFile
    documents: Documents
    read_bytes: int


def open_batches(
    paths: Iterable[str | os.PathLike[str] | InputFile],
    *,
    text_field: str = "text",
    batch_bytes: int = 16 << 20,
    skipped: Skipped | None = None,
) -> Iterator[Batch]:
    """Read text, JSONL and Parquet files; folders and globs stand for the files in them.

    The files are looked up at once, so that one that is missing is an error before any is read. Records that
    cannot be used are counted in `skipped`.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "greetings.jsonl")
    >>> _ = path.write_text('{"text": "hej"}\\n{"text": 1}\\n{"text": "hallå"}')
    >>> skipped = Skipped()
    >>> [document for batch in open_batches([path], skipped=skipped) for document in batch.documents]
    ['hej', 'hallå']
    >>> skipped.by_reason()
    {<Reason.NOT_A_STRING: 'not a string'>: 1}
    """
    files: list[InputFile] = []
    for path in paths:
        files += [path] if isinstance(path, InputFile) else find_files([path])
    return _read_files(files, text_field, batch_bytes, Skipped() if skipped is None else skipped)


def _read_files(
    files: list[InputFile], text_field: str, batch_bytes: int, skipped: Skipped
) -> Iterator[Batch]:
    for file in files:
        if file.format == "text":
            yield from _read_text(file, batch_bytes)
        elif file.format == "jsonl":
            yield from _read_jsonl(file, text_field, batch_bytes, skipped)
        else:
            yield from _read_parquet(file, text_field, batch_bytes, skipped)


def _blocks(file: InputFile, batch_bytes: int) -> Iterator[tuple[bytes, int]]:
    """Blocks of whole lines, without the byte order mark, and how many bytes each took in the file."""
    blocks = line_blocks(file.path, file.compression, batch_bytes)
    for index, (block, read_bytes) in enumerate(blocks):
        yield block if index else block.removeprefix(BYTE_ORDER_MARK), read_bytes


def _read_text(file: InputFile, batch_bytes: int) -> Iterator[Batch]:
    for block, read_bytes in _blocks(file, batch_bytes):
        yield Batch(file, [block] if block else [], read_bytes)


def _read_jsonl(file: InputFile, text_field: str, batch_bytes: int, skipped: Skipped) -> Iterator[Batch]:
    import orjson

    name = str(file.path)
    first_line = 1
    for block, read_bytes in _blocks(file, batch_bytes):
        documents: list[str | bytes] = []
        for line_number, line in enumerate(block.split(b"\n"), first_line):
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError:
                if not line.strip():
                    continue
                text = _second_opinion(line, text_field)
            else:
                text = _text_of(record, text_field)
            if isinstance(text, Reason):
                skipped.add(name, text, location=f"{name}:{line_number}")
            else:
                documents.append(text)
        first_line += block.count(b"\n")
        yield Batch(file, documents, read_bytes)


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


def _second_opinion(line: bytes, text_field: str) -> str | Reason:
    """The text of a line that orjson refuses, or why there is none.

    orjson also refuses what does no harm here, such as a number too large, or a lone surrogate in another
    field. The standard library takes these, so it decides; NaN and Infinity, which are no JSON, it refuses.
    """

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        record = json.loads(line.decode(), parse_constant=refuse, parse_int=float)
    except UnicodeDecodeError:
        return Reason.INVALID_UTF8
    except (ValueError, RecursionError):
        return Reason.MALFORMED_JSON
    text = _text_of(record, text_field)
    if not isinstance(text, Reason):
        try:
            text.encode()
        except UnicodeEncodeError:
            return Reason.LONE_SURROGATE
    return text


def _read_parquet(file: InputFile, text_field: str, batch_bytes: int, skipped: Skipped) -> Iterator[Batch]:
    import pyarrow
    import pyarrow.parquet

    name = str(file.path)
    try:
        with pyarrow.parquet.ParquetFile(file.path) as parquet:
            rows = parquet.metadata.num_rows
            if text_field not in parquet.schema_arrow.names:
                if rows:
                    skipped.add(name, Reason.FIELD_MISSING, location=f"{name}: row 1", count=rows)
                yield Batch(file, [], file.size_bytes)
                return
            done_rows = reported = 0
            for group in range(parquet.num_row_groups):
                batch_rows = _batch_rows(parquet.metadata.row_group(group), batch_bytes)
                for table in parquet.iter_batches(batch_rows, row_groups=[group], columns=[text_field]):
                    documents = _usable(table.column(0), name, done_rows, skipped)
                    done_rows += len(table)
                    # The footer does not say how far in the file a batch lies; rows tell it well enough.
                    position = file.size_bytes * done_rows // rows
                    yield Batch(file, documents, position - reported)
                    reported = position
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(
            f"{file.path}: not a valid Parquet file, or truncated ({reason}); fetch or write it again"
        ) from error


def _batch_rows(group: Any, batch_bytes: int) -> int:
    # The size of all columns, where that of one would do: pyarrow 26 aborts the process when the metadata of
    # a single column is damaged.
    rows: int = group.num_rows * batch_bytes // max(1, group.total_byte_size)
    return max(1, min(PARQUET_BATCH_ROWS, rows))


def _usable(column: Any, name: str, rows_before: int, skipped: Skipped) -> "pyarrow.Array[Any]":
    """The texts of a column that are neither null, nor empty, nor invalid UTF-8; the others are counted."""
    import pyarrow
    from pyarrow import compute, types

    def leave_out(rows: "pyarrow.BooleanArray", reason: Reason) -> None:
        indices = compute.indices_nonzero(rows)
        if len(indices):
            row = rows_before + indices[0].as_py() + 1
            skipped.add(name, reason, location=f"{name}: row {row}", count=len(indices))

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    leave_out(column.is_null(), Reason.FIELD_NULL)
    text = _as_text(column)
    if text is None:
        leave_out(column.is_valid(), Reason.NOT_A_STRING)
        return pyarrow.array([], pyarrow.string())
    empty = compute.equal(compute.binary_length(text), pyarrow.scalar(0)).fill_null(False)
    leave_out(empty, Reason.EMPTY)
    unusable = compute.or_(empty, text.is_null())
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
    """The column as strings, its UTF-8 unchecked, or None where it holds something else."""
    import pyarrow
    from pyarrow import types

    if types.is_string(column.type) or types.is_large_string(column.type):
        return column
    # Writers that do not annotate their strings, such as Impala and old Spark, leave plain binary columns.
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
