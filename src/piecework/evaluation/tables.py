"""Result tables: rows with named columns, as CSV, Parquet, Arrow, pandas or HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from piecework.common.files import replace_atomically
from piecework.errors import InputError, PieceworkError

__all__ = ["Table", "format_value"]

SHOWN_ROWS = 200

# Text that needs quotes in CSV: the empty string, since an empty field is None, or text with one of these characters.
_IN_QUOTES = r'^$|[,"\r\n]'
# Text that a spreadsheet would run as a formula, also with apostrophes in front: it gets one more apostrophe.
_FORMULA = r"^'*[=+@\t-]"

_STYLE = (
    "<style>.piecework td,.piecework th{padding:.15em .7em;text-align:left;border-bottom:1px solid #8884}"
    ".piecework .n{text-align:right;font-variant-numeric:tabular-nums}"
    ".piecework{border-collapse:collapse}.piecework caption{text-align:left;padding:.3em 0}</style>"
)


class Table:
    """Rows with named columns; an undefined value, such as a metric without text, is None.

    >>> table = Table.of(["language", "value"], [("da", 1.5), ("sv", 1.25)], title="Fertility")
    >>> table.where(language="sv").rows()
    [{'language': 'sv', 'value': 1.25}]
    >>> print(table.to_csv(), end="")
    language,value
    da,1.5
    sv,1.25
    """

    def __init__(self, arrow: pa.Table, *, title: str = "") -> None:
        self._arrow = arrow
        self.title = title

    @classmethod
    def of(
        cls, columns: Iterable[str], rows: Iterable[tuple[Any, ...]], *, title: str = "", types: Any = None
    ) -> Table:
        """Makes a table; `types` are Arrow types by column, for columns whose values do not show it."""
        names = list(columns)
        by_column = list(zip(*rows, strict=True)) or [()] * len(names)
        wanted = dict(types or {})
        arrays = {name: pa.array(values, wanted.get(name)) for name, values in zip(names, by_column, strict=True)}
        return cls(pa.table(arrays), title=title)

    def __len__(self) -> int:
        return self._arrow.num_rows

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._arrow.column_names)

    def column(self, name: str) -> list[Any]:
        """The values of a column, top to bottom."""
        self._check_column(name)
        return list(self._arrow.column(name).to_pylist())

    def rows(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return list(self._arrow.to_pylist())

    def where(self, **equal: Any) -> Table:
        """The rows where these columns have these values."""
        from pyarrow import compute

        chosen = self._arrow
        for name, value in equal.items():
            self._check_column(name)
            chosen = chosen.filter(compute.equal(chosen.column(name), value))
        return Table(chosen, title=self.title)

    def _check_column(self, name: str) -> None:
        if name not in self.columns:
            raise InputError(f'no column "{name}" in this table; it has {", ".join(self.columns)}')

    def to_arrow(self) -> pa.Table:
        """The table as a pyarrow table."""
        return self._arrow

    def to_pandas(self) -> Any:
        """The table as a data frame; needs pandas."""
        try:
            import pandas  # type: ignore[import-untyped]  # noqa: F401
        except ImportError as error:
            raise PieceworkError(
                "to_pandas() needs pandas, which is not installed: pip install pandas; or use to_arrow() or rows()"
            ) from error
        return self._arrow.to_pandas()

    def to_csv(self, path: str | Path | None = None) -> str:
        """The table as CSV with a header, also written to `path` if given. Numbers have all their digits."""
        # Not pyarrow's writer, which quotes every string, and not Python's, which does not quote "\r".
        from pyarrow import compute

        text = ",".join(map(_csv_field, self.columns)) + "\n"
        if len(self):
            comma, newline = pa.array([",", "\n"], pa.large_string())
            fields = [_csv_fields(column.combine_chunks()) for column in self._arrow.columns]
            rows: Any = compute.binary_join_element_wise(*fields, comma)
            together: Any = compute.binary_join(pa.LargeListArray.from_arrays(pa.array([0, len(rows)]), rows), newline)
            text += together[0].as_py() + "\n"
        if path is not None:
            with replace_atomically(path) as temporary:
                temporary.write_bytes(text.encode())
        return text

    def to_parquet(self, path: str | Path) -> None:
        """Writes a Parquet file."""
        # Dictionaries for text only: numbers hardly repeat.
        names = [field.name for field in self._arrow.schema if pa.types.is_string(field.type)]
        with replace_atomically(path) as temporary:
            # The stubs of pyarrow allow a bool only.
            pq.write_table(self._arrow, temporary, compression="zstd", use_dictionary=names)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        title = f"{self.title}: " if self.title else ""
        return f"Table({title}{len(self):,} rows; {', '.join(self.columns)})"

    def _repr_html_(self) -> str:
        rows = self._arrow.slice(0, SHOWN_ROWS).to_pylist()
        more = f"<tr><td colspan={len(self.columns)}>and {len(self) - SHOWN_ROWS:,} more rows</td></tr>"
        return html_table(
            self.columns, [list(row.values()) for row in rows], title=self.title, foot=more * (len(self) > SHOWN_ROWS)
        )


def _csv_fields(column: Any) -> Any:
    """The CSV fields of a column. Arrow formats most values as `_csv_field` does; `_csv_field` formats the others."""
    from pyarrow import compute

    if pa.types.is_integer(column.type):
        return column.cast(pa.large_string()).fill_null("")
    if pa.types.is_boolean(column.type):
        return compute.if_else(column, *pa.array(["True", "False"], pa.large_string())).fill_null("")
    is_odd: Any
    if pa.types.is_string(column.type):
        is_odd = compute.match_substring_regex(column, f"{_IN_QUOTES}|{_FORMULA}")
    elif pa.types.is_float64(column.type):
        # In this range both write the fewest digits that read back as the same number; outside, exponents differ.
        size: Any = compute.abs(column)
        usual: Any = compute.and_(compute.greater_equal(size, pa.scalar(1e-4)), compute.less(size, pa.scalar(1e10)))
        is_odd = compute.invert(usual)
    else:
        return pa.array(map(_csv_field, column.to_pylist()), pa.large_string())
    is_odd = is_odd.fill_null(True)
    odd = pa.array(map(_csv_field, column.filter(is_odd).to_pylist()), pa.large_string())
    return compute.replace_with_mask(column.cast(pa.large_string()), is_odd, odd)


def _csv_field(value: Any) -> str:
    """A CSV field: numbers read back exactly, text is quoted where necessary, None is empty.

    Text that a spreadsheet would run as a formula starts with an apostrophe; Parquet has all text unchanged.

    >>> [_csv_field(value) for value in (None, 12.0, 0.1, -0.5, "sv", "a,b", "", "=1+2")]
    ['', '12', '0.1', '-0.5', 'sv', '"a,b"', '""', "'=1+2"]
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return str(int(value) if value.is_integer() else value)
    text = f"'{value}" if isinstance(value, str) and re.search(_FORMULA, value) else str(value)
    return '"' + text.replace('"', '""') + '"' if re.search(_IN_QUOTES, text) else text


def html_table(
    columns: Iterable[str],
    rows: Iterable[Iterable[Any]],
    *,
    title: str = "",
    best: Mapping[int, Iterable[int]] | None = None,
    foot: str = "",
) -> str:
    """A table for notebooks; `best` lists, by row, the columns to print in bold."""

    def cell(value: Any, marked: bool) -> str:
        text = html.escape(format_value(value))
        kind = ' class="n"' if isinstance(value, (int, float)) else ""
        return f"<td{kind}>{f'<b>{text}</b>' if marked else text}</td>"

    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = ""
    for number, row in enumerate(rows):
        marked = set((best or {}).get(number, ()))
        body += f"<tr>{''.join(cell(value, column in marked) for column, value in enumerate(row))}</tr>"
    caption = f"<caption>{html.escape(title)}</caption>" if title else ""
    return f'{_STYLE}<table class="piecework">{caption}<tr>{head}</tr>{body}{foot}</table>'


def format_value(value: Any) -> str:
    """A value for people: four significant digits, whole numbers in full, a dash for None.

    >>> [format_value(value) for value in (1.23456, 0.000123456, 12345.0, 63_736, None, "sv")]
    ['1.235', '0.0001235', '12,345', '63,736', '–', 'sv']
    """
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
