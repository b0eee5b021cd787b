"""Tables in all their forms."""

import csv
import io
import math
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import piecework as pw
from piecework.evaluation.tables import _csv_field


def test_csv_reads_back(evaluation: pw.Evaluation, tmp_path: Path) -> None:
    written = evaluation.metrics.to_csv(tmp_path / "metrics.csv")
    assert (tmp_path / "metrics.csv").read_text(encoding="utf-8") == written
    rows = list(csv.DictReader(io.StringIO(written)))
    for read, row in zip(rows, evaluation.metrics.rows(), strict=True):
        for name in ("value", "low", "high", "numerator", "denominator"):
            assert float(read[name]) == row[name]
        assert read["tokenizer"] == row["tokenizer"]


def test_csv_with_awkward_pieces() -> None:
    pieces = ['"', ",", "\n", "\r", " ", "", None]
    table = pw.Table.of(["piece"], [(piece,) for piece in pieces])
    assert [row[0] if row else "" for row in csv.reader(io.StringIO(table.to_csv(), newline=""))][1:] == [
        piece or "" for piece in pieces
    ]


def test_csv_of_numbers_flags_and_lists() -> None:
    values = [0.1, 1 / 3, 12.0, 1e-4, 9.99e-5, 1e-7, 9999999999.5, 1e10, 1e16, 1e22, 0.0, -0.0, -2.5, math.nan, None]
    written = ["0.1", "0.3333333333333333", "12", "0.0001", "9.99e-05", "1e-07", "9999999999.5", "10000000000"]
    written += ["10000000000000000", "10000000000000000000000", "0", "0", "-2.5", "nan", ""]
    rows = [(value, index % 2 == 0 or None, index or None, [index]) for index, value in enumerate(values)]
    lines = pw.Table.of(["value", "flag", "number", "list"], rows).to_csv().splitlines()
    assert lines[0] == "value,flag,number,list"
    assert [line.split(",")[0] for line in lines[1:]] == written
    assert lines[1:3] == ["0.1,True,,[0]", "0.3333333333333333,,1,[1]"]


@given(st.lists(st.floats()))
def test_csv_of_any_numbers(values: list[float]) -> None:
    text = pw.Table.of(["value"], [(value,) for value in values], types={"value": pa.float64()}).to_csv()
    assert text.splitlines()[1:] == [_csv_field(value) for value in values]


def test_arrow_and_parquet(evaluation: pw.Evaluation, tmp_path: Path) -> None:
    table = evaluation.sizes
    assert table.to_arrow().num_rows == len(table)
    table.to_parquet(tmp_path / "sizes.parquet")
    assert pq.read_table(tmp_path / "sizes.parquet").equals(table.to_arrow())


def test_pandas(evaluation: pw.Evaluation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(pw.PieceworkError, match="pip install pandas"):
        evaluation.metrics.to_pandas()
    monkeypatch.undo()
    pytest.importorskip("pandas")
    assert len(evaluation.metrics.to_pandas()) == len(evaluation.metrics)


def test_html(evaluation: pw.Evaluation) -> None:
    table = pw.Table.of(["piece", "value"], [("<b>", 0.5)] * 300, title="a & b")
    html = table._repr_html_()
    assert "&lt;b&gt;" in html
    assert "a &amp; b" in html
    assert "and 100 more rows" in html
    page = evaluation._repr_html_()
    assert page.count("<table") == len(evaluation.metric_list)
    assert "<b>" in page  # the best of a row


def test_where_and_columns() -> None:
    table = pw.Table.of(["a", "b"], [(1, "x"), (2, "y"), (1, "z")])
    assert table.where(a=1).column("b") == ["x", "z"]
    assert len(pw.Table.of(["a"], [])) == 0
    with pytest.raises(pw.InputError, match='no column "c"'):
        table.where(c=1)


def test_no_cell_of_a_csv_file_is_a_formula() -> None:
    texts = ["=1+2", "+1", "-1", "@x", "\tx", "'=1", "sv", "a-b", "'x"]
    table = pw.Table.of(["text", "number"], [(text, -0.5) for text in texts])
    rows = list(csv.reader(io.StringIO(table.to_csv())))[1:]
    assert [row[0] for row in rows] == ["'=1+2", "'+1", "'-1", "'@x", "'\tx", "''=1", "sv", "a-b", "'x"]
    assert {row[1] for row in rows} == {"-0.5"}
