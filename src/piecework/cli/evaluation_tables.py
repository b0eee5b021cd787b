"""An evaluation for people: one table per metric with the best of each row marked."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from piecework.cli.output import indented, stdout_console
from piecework.cli.wide_table import WideTable

if TYPE_CHECKING:
    from rich.console import RenderableType

    from piecework.evaluation.evaluation import Evaluation
    from piecework.evaluation.metrics import Metric
    from piecework.evaluation.tables import Table

__all__ = ["decimals_of", "format_value", "parallel_table", "premium_rows", "show"]

COLUMNS_WITH_INTERVALS = 6
BETTER = {"lower": "lower is better", "higher": "higher is better"}

Row = dict[str, Any]


def show(evaluation: "Evaluation", parallel: "Table | None" = None) -> None:
    """Write the evaluation to stdout."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    notes: list[str] = []
    if parallel is not None:
        parts += parallel_table(parallel)
    if len(evaluation.tokenizers) == 1:
        parts += _one_tokenizer(evaluation)
    else:
        for metric in evaluation.metric_list:
            rows = evaluation.metrics.where(metric=metric.name).rows()
            if all(row["value"] in (0, None) for row in rows):
                notes.append(f"{metric.title}: 0 everywhere")
                continue
            columns = {(name,): name for name in evaluation.tokenizers}
            table = _table(evaluation, metric, rows, columns, ("tokenizer",))
            parts += [_heading(metric), indented(table), ""]
    parts += _sizes(evaluation)
    compared = len(evaluation.tokenizers) > 1 or len(evaluation.sizes)
    notes.append(f"{'* best of the row   ' if compared else ''}± reach of the 95 % interval")
    stdout_console().print(Group(*parts, *(Text(note, style="dim") for note in notes)))


def _heading(metric: "Metric", suffix: str = "") -> "RenderableType":
    from rich.text import Text

    better = f"; {BETTER[metric.direction]}" if metric.direction in BETTER else ""
    return Text.assemble((metric.title + suffix, "bold"), (f"  {metric.formula}{better}", "dim"))


def _one_tokenizer(evaluation: "Evaluation") -> "list[RenderableType]":
    """Show all metrics of a single tokenizer in one table."""
    from rich.text import Text

    name, tokenizer = next(iter(evaluation.tokenizers.items()))
    table = WideTable("", evaluation.groups)
    with_intervals = len(evaluation.groups) <= COLUMNS_WITH_INTERVALS
    for metric in evaluation.metric_list:
        rows = evaluation.metrics.where(metric=metric.name).rows()
        decimals = decimals_of(rows)
        values = (format_value(row, decimals=decimals, with_interval=with_intervals) for row in rows)
        table.add_row(metric.title, *values)
    title = Text.assemble((name, "bold"), f"  {tokenizer.vocab_size:,} pieces")
    many = len(evaluation.groups) > COLUMNS_WITH_INTERVALS
    return [title, indented(table.transposed(evaluation.by) if many else table), ""]


def _table(
    evaluation: "Evaluation",
    metric: "Metric",
    rows: Iterable[Row],
    columns: dict[tuple[Any, ...], str],
    keys: Sequence[str],
) -> "RenderableType":
    """One row per language (or subset); `columns` maps the values of `keys` to titles."""
    from rich.text import Text

    found = {(row[evaluation.by], *(row[key] for key in keys)): row for row in rows}
    table = WideTable(evaluation.by, list(columns.values()))
    with_intervals = len(columns) <= COLUMNS_WITH_INTERVALS
    decimals = decimals_of(found.values())
    for group in evaluation.groups:
        rows_of_group = [found[(group, *column)] for column in columns]
        best = metric.best([row["value"] for row in rows_of_group])
        cells = []
        for number, row in enumerate(rows_of_group):
            text = format_value(row, decimals=decimals, with_interval=with_intervals)
            cells.append(Text(f"{text} *", style="bold green") if number in best else Text(f"{text}  "))
        table.add_row(group, *cells)
    return table


def _sizes(evaluation: "Evaluation") -> "list[RenderableType]":
    parts: list[RenderableType] = []
    rows = evaluation.sizes.rows()
    for name in evaluation.tokenizers:
        tokenizer_rows = [row for row in rows if row["tokenizer"] == name]
        sizes = sorted({row["vocab_size"] for row in tokenizer_rows})
        for metric in evaluation.metric_list if sizes else []:
            if metric.has_curve:
                chosen = [row for row in tokenizer_rows if row["metric"] == metric.name]
                table = _table(evaluation, metric, chosen, {(size,): f"{size:,}" for size in sizes}, ("vocab_size",))
                heading = _heading(metric, suffix=f" of {name} by vocabulary size")
                parts += [heading, indented(table), ""]
    return parts


def premium_rows(parallel: "Table") -> dict[str, list[Row]]:
    """Return the rows of the premiums by label, each in the order of the tokenizers."""
    labels = {"premium": "premium of {}", "worst_premium": "highest premium", "gini": "Gini coefficient"}
    by_label: dict[str, list[Row]] = {}
    for row in parallel.rows():
        by_label.setdefault(labels[row["metric"]].format(row["language"]), []).append(row)
    return by_label


def parallel_table(parallel: "Table") -> "list[RenderableType]":
    """Show the premiums: a row for each language, a column for each tokenizer."""
    from rich.text import Text

    names = list(dict.fromkeys(parallel.column("tokenizer")))
    table = WideTable("", names)
    for label, rows in premium_rows(parallel).items():
        best = min((row["value"] for row in rows if row["value"] is not None), default=None)
        decimals = decimals_of(rows)
        cells = []
        for row in rows:
            text = format_value(row, decimals=decimals, with_interval=len(names) <= COLUMNS_WITH_INTERVALS)
            cells.append(f"{text} {'*' if len(rows) > 1 and row['value'] == best else ' '}")
        table.add_row(label, *cells)
    return [Text(parallel.title, style="bold"), indented(table), ""]


def decimals_of(rows: Iterable[Row]) -> int:
    """Return the decimals that give the largest value four digits: the same for all values, so that they align."""
    from math import floor, log10

    largest = max((abs(row["value"] or 0) for row in rows), default=0)
    return min(max(3 - floor(log10(largest)), 0), 6) if largest else 0


def format_value(row: Row, *, decimals: int, with_interval: bool) -> str:
    """Write a value with the reach of its interval.

    >>> format_value({"value": 1.52341, "low": 1.5, "high": 1.535}, decimals=3, with_interval=True)
    '1.523 ±0.023'
    >>> format_value({"value": None, "low": None}, decimals=3, with_interval=True)
    '–'
    """
    value = row["value"]
    if value is None:
        return "–"
    if not with_interval or row["low"] is None:
        return f"{value:.{decimals}f}"
    reach = max(value - row["low"], row["high"] - value)
    return f"{value:.{decimals}f} ±{reach:.{decimals}f}"
