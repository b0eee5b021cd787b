"""Writes Arrow and Parquet files with a row for each document: the column `input_ids`, a list of int32."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from itertools import accumulate
from pathlib import Path
from typing import Any

from piecework.dataset.raw_files import WrittenFile

__all__ = ["ArrowWriter", "ParquetWriter", "int32_width", "list_array"]

# About 8 MB of ids in memory, and as many in a record batch or row group.
GROUP_TOKENS = 2_000_000


def int32_width(_vocab_size: int) -> int:
    """The bytes of an id: training code wants int32, whatever the vocabulary."""
    return 4


def list_array(ids: bytes | memoryview, lengths: bytes) -> Any:
    """An Arrow array with a list of int32 for each document, on the memory of `ids`.

    >>> ids = array("i", [7, 8, 9]).tobytes()
    >>> list_array(ids, array("I", [2, 0, 1]).tobytes()).to_pylist()
    [[7, 8], [], [9]]
    """
    import pyarrow as pa

    offsets = array("i", accumulate(array("I", lengths), initial=0))
    values = pa.Array.from_buffers(pa.int32(), len(ids) // 4, [None, pa.py_buffer(ids)])
    buffers = [None, pa.py_buffer(offsets.tobytes())]
    return pa.Array.from_buffers(pa.list_(pa.int32()), len(offsets) - 1, buffers, children=[values])


class _TableWriter(ABC):
    """Collects documents into groups of about GROUP_TOKENS."""

    suffix = ""

    def __init__(self, stem: Path, _width: int, tokenizer: str) -> None:
        import pyarrow as pa

        self._path = Path(f"{stem}{self.suffix}")
        self._schema = pa.schema(
            [pa.field("input_ids", pa.list_(pa.int32()), nullable=False)], metadata={"tokenizer": tokenizer}
        )
        self._sink = pa.OSFile(str(self._path), "wb")
        self._writer = self._open()
        self._pending: list[Any] = []
        self._pending_tokens = 0

    @abstractmethod
    def _open(self) -> Any:
        """The writer of the format, on the open file."""

    @abstractmethod
    def _write(self, table: Any) -> None:
        """Write a group of documents."""

    def add(self, ids: bytes | memoryview, lengths: bytes) -> None:
        """Add documents."""
        self._pending.append(list_array(ids, lengths))
        self._pending_tokens += len(ids) // 4
        if self._pending_tokens >= GROUP_TOKENS:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._pending:
            rows = pa.concat_arrays(self._pending)
            self._write(pa.RecordBatch.from_arrays([rows], schema=self._schema))
        self._pending, self._pending_tokens = [], 0

    def close(self) -> list[WrittenFile]:
        """Finish the file."""
        self._flush()
        self._writer.close()
        self._sink.close()
        return [WrittenFile.at(self._path, self.suffix)]


class ArrowWriter(_TableWriter):
    """Writes an Arrow IPC file, which can be memory-mapped."""

    suffix = ".arrow"

    def _open(self) -> Any:
        import pyarrow as pa

        return pa.ipc.new_file(self._sink, self._schema)

    def _write(self, table: Any) -> None:
        self._writer.write_batch(table)


class ParquetWriter(_TableWriter):
    """Writes a Parquet file with zstd."""

    suffix = ".parquet"

    def _open(self) -> Any:
        import pyarrow.parquet as pq

        return pq.ParquetWriter(self._sink, self._schema, compression="zstd", use_dictionary=False)

    def _write(self, table: Any) -> None:
        self._writer.write_batch(table, row_group_size=max(1, len(table)))
