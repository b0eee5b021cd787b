"""Writes tables into files: Parquet with every row, CSV for people."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from piecework.evaluation.tables import Table

__all__ = ["write_table"]

CSV_STEP = 100
"""CSV files list every hundredth vocabulary size; Parquet files list all."""


def write_table(table: Table, path: Path) -> list[Path]:
    """Writes Parquet with all rows, and CSV with fewer vocabulary sizes."""
    table.to_parquet(path.with_suffix(".parquet"))
    if path.name in ("sizes", "overlap_sizes", "size_costs"):
        table = _thinned(table)
    table.to_csv(path.with_suffix(".csv"))
    return [path.with_suffix(".parquet"), path.with_suffix(".csv")]


def _thinned(table: Table) -> Table:
    arrow = table.to_arrow()
    sizes = arrow.column("vocab_size").to_numpy()
    if not len(sizes):
        return table
    listed = (sizes % CSV_STEP == 0) | (sizes == sizes.min()) | (sizes == sizes.max())
    return Table(arrow.take(np.flatnonzero(listed)), title=table.title)
