"""Merges spill files into the Parquet files of the counts: the core merges, pyarrow writes.

Equal counts give equal files, byte for byte, whatever the spill files were: the rows have one order, and the end of a
row group depends on the rows alone.
"""

from __future__ import annotations

import shutil
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from piecework import _core
from piecework.common.files import replace_atomically, write_failure
from piecework.common.manifest import checksum_of_file
from piecework.common.subset_name import SubsetName
from piecework.counting.files import KEYS, SUBSETS_FILE, TABLES, column_types, subsets_table, table_file, with_names
from piecework.counting.spill_files import few_files
from piecework.counting.tables import units_to_arrow
from piecework.counting.words import words_to_arrow
from piecework.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "MergeJob",
    "SubsetTables",
    "merge_tables",
    "row_groups",
    "write_options",
    "write_subsets",
    "write_table",
]

# A row group is in memory while it is written. The second limit is for text without spaces, where a document is one
# unit.
GROUP_ROWS = 1 << 17
GROUP_TEXT_BYTES = 64 << 20
BATCH_TEXT_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class SubsetTables:
    """The spill files of a subset, by table."""

    subset: SubsetName
    files: Mapping[str, Sequence[Path]]


@dataclass(frozen=True, slots=True)
class MergeJob:
    """Which spill files to merge, and where to write the result."""

    subsets: tuple[SubsetTables, ...]
    """Sorted by language and category."""
    rows: tuple[Mapping[str, Any], ...]
    """The rows of subsets.parquet; empty if another job writes it."""
    folder: Path
    """The folder for `train.parquet` and the other tables."""
    temporary: Path
    """A folder for this job alone: files that are merged first, where there are too many to open together."""
    tables: tuple[str, ...] = TABLES
    """The tables that this job writes."""
    pre_tokens: bool = False
    """Whether they are of pre-tokens."""

    def __str__(self) -> str:
        return f"{self.folder}: merging"


def merge_tables(job: MergeJob, report: Callable[[int], None]) -> dict[str, dict[str, Any]]:
    """Write the tables; by table, its rows, size_bytes and checksum. `report` gets the number of spill files merged."""
    try:
        written = {
            table: write_table(job.folder, table, _merged(job, table, report), pre_tokens=job.pre_tokens)
            for table in job.tables
        }
        if job.rows:
            write_subsets(job.folder, job.rows)
    except _core.CountOverflowError as error:
        raise InputError(
            f"{job.folder}: a count is too large for 64 bits; sample less, or lower the weights"
        ) from error
    except _core.DamagedSpillError as error:
        raise InputError(
            f"{job.folder}: cannot merge the counts: {error}; remove the folder .partial and run the command again"
        ) from error
    except OSError as error:
        raise write_failure(job.folder, error) from error
    return written


def _merged(job: MergeJob, table: str, report: Callable[[int], None]) -> Iterator[pa.Table]:
    """The rows of all subsets, in order, in tables of any size."""
    for subset in job.subsets:
        files = subset.files.get(table, ())
        merger = _core.SpillMerger(few_files(files, job.temporary))
        while len(rows := _next_rows(merger, table, pre_tokens=job.pre_tokens)):
            yield with_names(table, rows, subset.subset)
        shutil.rmtree(job.temporary, ignore_errors=True)
        report(len(files))


def _next_rows(merger: _core.SpillMerger, table: str, *, pre_tokens: bool) -> pa.Table:
    if table == "train":
        return words_to_arrow(merger.words(GROUP_ROWS, BATCH_TEXT_BYTES))
    return units_to_arrow(merger.units(GROUP_ROWS, BATCH_TEXT_BYTES), pre_tokens=pre_tokens)


def write_table(folder: Path, name: str, tables: Iterable[pa.Table], *, pre_tokens: bool) -> dict[str, Any]:
    """Write sorted rows in row groups whose size depends on the rows alone; rows, size_bytes and checksum."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / table_file(name)
    rows = 0
    with (
        replace_atomically(path) as temporary,
        pq.ParquetWriter(temporary, column_types(name, pre_tokens=pre_tokens), **write_options(name)) as writer,
    ):
        for group in row_groups(tables, KEYS[name][-1]):
            # In one chunk: otherwise the end of a batch would show in the file.
            table = pa.Table.from_batches(group).combine_chunks()
            # Free the batches: a group full of text is in memory only once, while it is written and afterwards.
            group.clear()
            writer.write_table(table, row_group_size=GROUP_ROWS)
            rows += len(table)
            del table
    return {"rows": rows, "size_bytes": path.stat().st_size, "checksum": checksum_of_file(path)}


def row_groups(tables: Iterable[pa.Table], text: str) -> Iterator[list[pa.RecordBatch]]:
    """Group the rows: at most GROUP_ROWS rows and GROUP_TEXT_BYTES of text, except for a single longer text."""
    group: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in (batch for table in tables for batch in table.to_batches()):
        while len(batch):
            offsets = _offsets(batch.column(text))
            # n texts have n + 1 offsets.
            fitting = bisect_right(offsets, offsets[0] + GROUP_TEXT_BYTES - size) - 1
            taken = min(fitting, GROUP_ROWS - rows)
            if taken <= 0 and group:
                yield group
                group, rows, size = [], 0, 0
                continue
            taken = max(1, taken)  # a single text that is larger than a group
            group.append(batch.slice(0, taken))
            rows += taken
            size += offsets[taken] - offsets[0]
            batch = batch.slice(taken)
    if group:
        yield group


def _offsets(texts: Any) -> memoryview[int]:
    """The offsets of a large_string array: the start of each text, and the end of the last."""
    # Without pyarrow.compute: its import takes longer than this does for millions of rows.
    return memoryview(texts.buffers()[1]).cast("q")[texts.offset : texts.offset + len(texts) + 1]


def write_subsets(folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write subsets.parquet, for people and other programs: Piecework reads the same rows from counts.json."""
    import pyarrow.parquet as pq

    with replace_atomically(folder / SUBSETS_FILE) as temporary:
        pq.write_table(subsets_table(rows), temporary, compression="zstd", compression_level=3, version="2.6")


def write_options(table: str) -> dict[str, Any]:
    """All settings of the Parquet writer that affect the bytes, so that a new default of pyarrow changes nothing."""
    return {
        "version": "2.6",
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": ["language", "category"],
        # Sorted texts are stored as differences from the previous one, and most counts take a byte or two: less to
        # compress and to read.
        "column_encoding": {KEYS[table][-1]: "DELTA_BYTE_ARRAY", "count": "DELTA_BINARY_PACKED"},
        "data_page_version": "1.0",
        "data_page_size": 1 << 20,
        "write_statistics": ["language", "category"],
        "write_page_index": False,
        "store_schema": True,
    }
