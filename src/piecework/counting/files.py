"""The files of counts: their names, their tables, and the columns of each table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from piecework.common.subset_name import SubsetName

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "COUNTS_FILE",
    "INPUTS_FILE",
    "KEYS",
    "SUBSETS_FILE",
    "TABLES",
    "column_types",
    "subsets_table",
    "table_file",
    "with_names",
]

COUNTS_FILE = "counts.json"
"""The manifest, written last: counts without it are not valid."""
INPUTS_FILE = "inputs.json"
SUBSETS_FILE = "subsets.parquet"

TABLES = ("train", "eval", "eval_plain")
KEYS: dict[str, tuple[str, ...]] = {
    "train": ("word",),
    "eval": ("bucket", "opens", "unit"),
    "eval_plain": ("bucket", "opens", "unit"),
}
"""The key of a row within its subset; the last column is the text. Where pre-tokens are counted, `context` stands in
place of `opens`: what the core needs to know of a pre-token's neighbours, as bits (core/count/pre_token_units.hpp)."""


def table_file(table: str) -> str:
    """The name of a table's file.

    >>> table_file("train")
    'train.parquet'
    """
    return f"{table}.parquet"


def column_types(table: str, *, pre_tokens: bool = False) -> pa.Schema:
    """The columns of train.parquet, eval.parquet or eval_plain.parquet, of words or of pre-tokens."""
    import pyarrow as pa

    types = {"word": pa.large_string(), "unit": pa.large_string(), "bucket": pa.uint8(), "opens": pa.bool_()}
    keys = [
        pa.field("context", pa.uint8(), nullable=False)
        if name == "opens" and pre_tokens
        else pa.field(name, types[name], nullable=False)
        for name in KEYS[table]
    ]
    names = [pa.field(name, pa.string(), nullable=False) for name in ("language", "category")]
    return pa.schema([*names, *keys, pa.field("count", pa.uint64(), nullable=False)])


def with_names(table: str, rows: pa.Table | pa.RecordBatch, subset: SubsetName) -> pa.Table:
    """The rows of one subset, with the columns language and category before the others."""
    import pyarrow as pa

    names = [pa.repeat(pa.scalar(name, pa.string()), len(rows)) for name in (subset.language, subset.category)]
    types = column_types(table, pre_tokens="context" in rows.schema.names)
    return pa.Table.from_arrays([*names, *rows.columns], schema=types)


def subsets_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """The rows of subsets.parquet: text, whole numbers, and fractions that are null where no document was read."""
    import pyarrow as pa

    types: dict[str, pa.DataType] = {"language": pa.string(), "category": pa.string(), "weight": pa.string()}
    for name in rows[0]:
        types.setdefault(name, pa.float64() if name.endswith(("_intended", "_achieved")) else pa.uint64())
    return pa.Table.from_pylist(list(map(dict, rows)), pa.schema(list(types.items())))
