"""The values in titles and charts, computed a second time from the tables."""

import re
from pathlib import Path

import numpy as np
import pytest

from piecework.pipeline.results import StudyResults
from piecework.report.blocks import Heading, Sheet
from piecework.report.charts import BarChart, BarColumns, HeatChart, Histogram, LineChart, RangeChart
from piecework.report.page import study_figures
from piecework.report.sections.sizes import _gain
from report.studies import run_study

Charts = dict[str, BarChart | BarColumns | HeatChart | Histogram | LineChart | RangeChart]


@pytest.fixture(scope="module")
def charts(hostile: StudyResults) -> Charts:
    return {figure.name: figure.chart for figure in study_figures(hostile)}  # type: ignore[misc]


def values(results: StudyResults, metric: str, tokenizer: str = "multilingual") -> dict[str, float]:
    rows = results.tables["metrics"].where(tokenizer=tokenizer, metric=metric).rows()
    return {row["language"]: row["value"] for row in rows}


def test_cost_is_fertility_highest_first(hostile: StudyResults, charts: Charts) -> None:
    chart = charts["cost"]
    assert isinstance(chart, BarChart)
    # The words of code cannot be compared with the words of a language.
    expected = {name: value for name, value in values(hostile, "fertility").items() if name not in ("code", "overall")}
    assert [bar.value for bar in chart.bars] == sorted(expected.values(), reverse=True)
    assert chart.floor == 1.0
    rows = hostile.tables["metrics"].where(tokenizer="multilingual", metric="fertility").rows()
    assert {(bar.low, bar.high) for bar in chart.bars} == {
        (row["low"], row["high"]) for row in rows if row["language"] in expected
    }
    assert {f"{value:.2f}" for value in expected.values()} <= set(re.findall(r"\d+\.\d+", chart.title))


def test_languages_without_an_interval_are_named(tmp_path: Path) -> None:
    results = run_study(tmp_path, ["sv", "is"], texts={"is": ["en för til land og", "ska til på ver en"] * 4})
    cost = next(figure for figure in study_figures(results) if figure.name == "cost")
    assert isinstance(cost.chart, BarChart)
    assert [(bar.label, bar.low is None) for bar in cost.chart.bars if bar.low is None] == [("Icelandic", True)]
    assert "Icelandic has too few documents for an interval." in cost.how_to_read


def test_columns_are_the_metrics(hostile: StudyResults, charts: Charts) -> None:
    chart = charts["metrics"]
    assert isinstance(chart, BarColumns)
    fertility = values(hostile, "fertility")
    order = [*sorted((name for name in fertility if name not in ("code", "overall")), key=lambda n: -fertility[n])]
    order += ["code", "overall"]
    metrics = ["fertility", "continued_words", "word_fertility", "bytes_per_token", "characters_per_token"]
    for column, metric in zip(chart.columns, metrics, strict=True):
        assert [value.value for value in column.values] == [values(hostile, metric)[name] for name in order]
        assert column.floor == (1.0 if "fertility" in metric else 0.0)


def test_ranges_and_shades_are_the_same_estimates(hostile: StudyResults, charts: Charts) -> None:
    ranges, shades, cost = (charts[f"monolingual-{name}"] for name in ("fertility", "table", "cost"))
    assert isinstance(ranges, RangeChart)
    assert isinstance(shades, HeatChart)
    assert isinstance(cost, BarChart)
    by_tokenizer = {name: values(hostile, "fertility", name) for name in ("multilingual", *hostile.languages)}
    for language, row, cells in zip(hostile.languages, ranges.rows, shades.cells, strict=True):
        assert row.shared == by_tokenizer["multilingual"][language]
        assert row.own == by_tokenizer[language][language]
        others = [name for name in hostile.languages if name != language]
        assert [value for _, value in row.others] == [by_tokenizer[name][language] for name in others]
        wanted = [by_tokenizer[name][language] for name in ("multilingual", *hostile.languages)]
        assert [cell.value for cell in cells] == wanted
        assert [cell.marked for cell in cells] == [name == language for name in ("multilingual", *hostile.languages)]
        best = min(cell.value for cell in cells if cell.value is not None)
        assert all((cell.shade == 0) == (cell.value == best) for cell in cells)
    assert max(cell.shade for cells in shades.cells for cell in cells) == 1
    # Tokens for the same text: the inverse of bytes per token.
    shared = values(hostile, "bytes_per_token")
    extra = [values(hostile, "bytes_per_token", name)[name] / shared[name] - 1 for name in hostile.languages]
    summary = {row["topic"]: row["value"] for row in hostile.tables["summary"].rows()}
    assert summary["multilingual and monolingual"] == pytest.approx(sum(extra) / len(extra))
    assert [bar.value for bar in cost.bars] == sorted(extra, reverse=True)
    assert f"{100 * max(extra):.1f}\u00a0%" in cost.title
    assert f"{100 * min(extra):.1f}\u00a0%" in cost.title


def test_lengths_are_those_of_the_pieces(hostile: StudyResults, charts: Charts) -> None:
    chart = charts["lengths"]
    assert isinstance(chart, Histogram)
    pieces = [piece for piece in hostile.tokenizer("multilingual").pieces if piece.type == "normal"]
    lengths = [len(piece.text) for piece in pieces]
    assert [column.count for column in chart.columns] == np.bincount(lengths)[1:].tolist()
    lower, upper = (int(np.quantile(lengths, share, method="inverted_cdf")) for share in (0.25, 0.75))
    assert f"{lower} to {upper} characters" in chart.title
    assert f"the longest has {max(lengths)}" in chart.title


def test_curves_end_at_the_metric(hostile: StudyResults, charts: Charts) -> None:
    for name, metric in (("sizes-fertility", "fertility"), ("sizes-continued-words", "continued_words")):
        chart = charts[name]
        assert isinstance(chart, LineChart)
        ends = [float(line.y[-1]) for line in chart.lines]
        assert ends == pytest.approx([values(hostile, metric)[language] for language in hostile.languages])
        assert chart.marked == (400, 480, 560)


def test_overlap_is_between_0_and_1_and_largest_first(charts: Charts) -> None:
    pairs, multilingual = charts["overlap-pairs"], charts["overlap-multilingual"]
    assert isinstance(pairs, BarChart)
    assert isinstance(multilingual, BarColumns)
    for shares in (
        [bar.value for bar in pairs.bars if bar.value is not None],
        [each.value for each in multilingual.columns[0].values if each.value is not None],
    ):
        assert shares == sorted(shares, reverse=True)
        assert all(0 <= share <= 1 for share in shares)
        assert len(shares) == 3


def test_gain_of_a_curve_that_falls_evenly() -> None:
    # Every piece saves a thousandth of the rest, so a hundred pieces save 1 - 0.999^100 at every size.
    sizes = np.arange(500, 4500)
    at, gain = _gain(sizes, 3 * 0.999 ** np.arange(4000), 100)
    assert gain == pytest.approx(np.full(len(at), 1 - 0.999**100))
    assert at[0] == sizes[0] + 125
    assert at[-1] == sizes[-1] - 125


def test_gain_of_too_few_sizes() -> None:
    assert len(_gain(np.arange(2), np.ones(2), 100)[0]) == 0


def test_a_table_as_it_is_read_and_copied() -> None:
    kinds = ["text", "ids", "number", "plain", "share", "count", "bytes", "verdict"]
    row = ("a", "1-5, 7", 1.23456, 0.5, 0.12345, 63736, 1_234_567, True)
    sheet = Sheet.build("all", [Heading(kind, kind) for kind in kinds], [row, (None,) * 8])  # type: ignore[arg-type]
    first, second = sheet.cells()
    assert [cell.text.replace("\u2060", "") for cell in first] == [
        "a",
        "1–5, 7",
        "1.235",
        "0.5",
        "12.3\u00a0%",
        "63,736",
        "1.23 MB",
        "holds",
    ]
    assert [cell.raw for cell in first] == ["a", "1-5, 7", "1.23456", "0.5", "0.12345", "63736", "1234567", "1"]
    assert {cell.text for cell in second} == {"–"}
    assert {cell.raw for cell in second} == {""}
