"""The files of counts: their names, their tables, and the columns of each table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from piecework.common.subset_name import SubsetName

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["COUNTS_FILE", "KEYS", "SUBSETS_FILE", "TABLES", "column_types", "table_file", "with_names"]

COUNTS_FILE = "counts.json"
"""The manifest, written last: counts without it are not valid."""
SUBSETS_FILE = "subsets.parquet"

TABLES = ("train", "eval", "eval_plain")
KEYS: dict[str, tuple[str, ...]] = {
    "train": ("word",),
    "eval": ("bucket", "opens", "unit"),
    "eval_plain": ("bucket", "opens", "unit"),
}
"""The key of a row within its subset; the last column is the text."""


def table_file(table: str) -> str:
    """The name of a table's file.

    >>> table_file("train")
    'train.parquet'
    """
    return f"{table}.parquet"


def column_types(table: str) -> pa.Schema:
    """The columns of train.parquet, eval.parquet or eval_plain.parquet."""
    import pyarrow as pa

    types = {"word": pa.large_string(), "unit": pa.large_string(), "bucket": pa.uint8(), "opens": pa.bool_()}
    keys = [pa.field(name, types[name], nullable=False) for name in KEYS[table]]
    names = [pa.field(name, pa.string(), nullable=False) for name in ("language", "category")]
    return pa.schema([*names, *keys, pa.field("count", pa.uint64(), nullable=False)])


def with_names(table: str, rows: pa.Table | pa.RecordBatch, subset: SubsetName) -> pa.Table:
    """The rows of one subset, with the columns language and category before the others."""
    import pyarrow as pa

    names = [pa.repeat(pa.scalar(name, pa.string()), len(rows)) for name in (subset.language, subset.category)]
    return pa.Table.from_arrays([*names, *rows.columns], schema=column_types(table))
