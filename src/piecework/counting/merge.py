"""Partial tables, which are sorted runs, to one table of each kind: the core merges them, pyarrow writes.

Equal counts are equal files, to the byte, however they were cut into partial tables: the rows have one order, and where
a row group ends depends on the rows alone.
"""

from __future__ import annotations

import os
import shutil
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from piecework import _core
from piecework.common.files import replace_atomically, write_error
from piecework.common.subset_name import SubsetName
from piecework.counting.files import KEYS, SUBSETS_FILE, TABLES, column_types, table_file, with_names
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

# A row group is held in memory while it is written. Text without spaces is one unit a document, hence the second limit.
GROUP_ROWS = 1 << 17
GROUP_TEXT_BYTES = 64 << 20
BATCH_TEXT_BYTES = 4 << 20
# Each run that is open takes a file descriptor, of which a process often has 1,024, a buffer, and its current text.
MAX_OPEN_FILES = 128


@dataclass(frozen=True, slots=True)
class SubsetTables:
    """The partial tables of a subset: by table, the runs."""

    subset: SubsetName
    files: Mapping[str, tuple[Path, ...]]


@dataclass(frozen=True, slots=True)
class MergeJob:
    """What to merge, and where to."""

    subsets: tuple[SubsetTables, ...]
    """Sorted by language and category."""
    rows: tuple[Mapping[str, Any], ...]
    """Of subsets.parquet; none where another job writes it."""
    folder: Path
    """Where `train.parquet` and the others are written."""
    temporary: Path
    """A folder of this job alone, for runs merged from more runs than can be open together."""
    tables: tuple[str, ...] = TABLES
    """Those that this job writes."""

    def __str__(self) -> str:
        return f"{self.folder}: merging"


def merge_tables(job: MergeJob, report: Callable[[int], None]) -> dict[str, dict[str, int]]:
    """Write the tables; by table, how many rows and bytes each has. `report` is told of each run done."""
    try:
        written = {table: write_table(job.folder, table, _merged(job, table, report)) for table in job.tables}
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
        raise write_error(job.folder, error) from error
    return written


def _merged(job: MergeJob, table: str, report: Callable[[int], None]) -> Iterator[pa.Table]:
    """The rows of all subsets, in order, in tables of no particular size."""
    for subset in job.subsets:
        runs = subset.files.get(table, ())
        merger = _core.SpillMerger(_few_files(runs, job.temporary))
        while len(rows := _next_rows(merger, table)):
            yield with_names(table, rows, subset.subset)
        shutil.rmtree(job.temporary, ignore_errors=True)
        report(len(runs))


def _next_rows(merger: _core.SpillMerger, table: str) -> pa.Table:
    if table == "train":
        return words_to_arrow(merger.words(GROUP_ROWS, BATCH_TEXT_BYTES))
    return units_to_arrow(merger.units(GROUP_ROWS, BATCH_TEXT_BYTES))


def _few_files(runs: Sequence[Path], folder: Path) -> list[bytes]:
    """The runs, or where they are too many to be open together, some of them merged into the folder."""
    paths = deque(map(os.fsencode, runs))
    while len(paths) > MAX_OPEN_FILES:
        folder.mkdir(parents=True, exist_ok=True)
        together = min(MAX_OPEN_FILES, len(paths) - MAX_OPEN_FILES + 1)
        first = [paths.popleft() for _ in range(together)]
        merged = os.fsencode(folder / f"{len(list(folder.iterdir()))}.run")
        _core.merge_spill_files(first, merged)
        paths.append(merged)
    return list(paths)


def write_table(folder: Path, name: str, tables: Iterable[pa.Table]) -> dict[str, int]:
    """Write sorted rows, in row groups of a size that depends on the rows alone; how many rows and bytes there are."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / table_file(name)
    rows = 0
    with (
        replace_atomically(path) as temporary,
        pq.ParquetWriter(temporary, column_types(name), **write_options(name)) as writer,
    ):
        for group in row_groups(tables, KEYS[name][-1]):
            # In one piece: the writer would else see, and write, where batches end.
            table = pa.Table.from_batches(group).combine_chunks()
            # Of a group full of text there is no second one in memory, neither while it is written nor afterwards.
            group.clear()
            writer.write_table(table, row_group_size=GROUP_ROWS)
            rows += len(table)
            del table
    return {"rows": rows, "size_bytes": path.stat().st_size}


def row_groups(tables: Iterable[pa.Table], text: str) -> Iterator[list[pa.RecordBatch]]:
    """The rows in groups of at most GROUP_ROWS rows and, but for a single long text, GROUP_TEXT_BYTES of text."""
    group: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in (batch for table in tables for batch in table.to_batches()):
        while len(batch):
            ends = _offsets(batch.column(text))
            # Of the texts, not of the offsets, of which there is one more.
            fitting = bisect_right(ends, ends[0] + GROUP_TEXT_BYTES - size) - 1
            taken = min(fitting, GROUP_ROWS - rows)
            if taken <= 0 and group:
                yield group
                group, rows, size = [], 0, 0
                continue
            taken = max(1, taken)  # a single text that is larger than a group
            group.append(batch.slice(0, taken))
            rows += taken
            size += ends[taken] - ends[0]
            batch = batch.slice(taken)
    if group:
        yield group


def _offsets(texts: Any) -> memoryview[int]:
    """Where each text of a large_string array starts, and where the last one ends."""
    # Not with functions of pyarrow.compute, which takes longer to import than this takes for millions of rows.
    return memoryview(texts.buffers()[1]).cast("q")[texts.offset : texts.offset + len(texts) + 1]


def write_subsets(folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write subsets.parquet: text, whole numbers, and fractions that are null where no document was read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types: dict[str, pa.DataType] = {"language": pa.string(), "category": pa.string(), "weight": pa.string()}
    for name in rows[0]:
        types.setdefault(name, pa.float64() if name.endswith(("_intended", "_achieved")) else pa.uint64())
    table = pa.Table.from_pylist(list(map(dict, rows)), pa.schema(list(types.items())))
    with replace_atomically(folder / SUBSETS_FILE) as temporary:
        pq.write_table(table, temporary, compression="zstd", compression_level=3, version="2.6")


def write_options(table: str) -> dict[str, Any]:
    """Settings of the Parquet writer, all that bear on the bytes: no default that another version may change."""
    return {
        "version": "2.6",
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": ["language", "category"],
        # Sorted text: each is stored as what differs from the one before; and few numbers need more than a byte or two,
        # which leaves less to compress, and to read again.
        "column_encoding": {KEYS[table][-1]: "DELTA_BYTE_ARRAY", "count": "DELTA_BINARY_PACKED"},
        "data_page_version": "1.0",
        "data_page_size": 1 << 20,
        "write_statistics": ["language", "category"],
        "write_page_index": False,
        "store_schema": True,
    }
