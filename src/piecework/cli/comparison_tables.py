"""A comparison for people: one table per metric with the best of each row marked, then vocabularies and words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from piecework.cli.output import indented, new_table, stdout_console
from piecework.cli.wide_table import WideTable
from piecework.common.percent import format_percent

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from piecework.evaluation.compare import Comparison
    from piecework.evaluation.metrics import Metric

__all__ = ["describe", "grid", "show"]

COLUMNS_WITH_INTERVALS = 5
WORDS_PER_LANGUAGE = 8

Cell = tuple[str, bool]
"""A value as text, and whether it is the best of its row."""


def describe(metric: "Metric | None", first: str) -> tuple[str, str]:
    """Return the title and the formula of a metric; None is the sequence length."""
    better = {"lower": "; lower is better", "higher": "; higher is better"}
    if metric is None:
        return "Sequence length", f"tokens / tokens of {first}; lower is better"
    return metric.title, metric.formula + better.get(metric.direction, "")


def grid(comparison: "Comparison", metric: "Metric | None") -> list[tuple[str, list[Cell]]]:
    """Return for each language the values of all tokenizers."""
    from piecework.cli.evaluation_tables import decimals_of, format_value
    from piecework.evaluation.compare import LENGTH

    rows = comparison.metrics.where(metric=LENGTH if metric is None else metric.name).rows()
    found = {(row["language"], row["tokenizer"]): row for row in rows}
    decimals = decimals_of(rows)
    with_interval = len(comparison.tokenizers) <= COLUMNS_WITH_INTERVALS
    lines = []
    for language in comparison.languages:
        language_rows = [found[language, name] for name in comparison.tokenizers]
        best = _best([row["value"] for row in language_rows], metric)
        cells = [
            (format_value(row, decimals=decimals, with_interval=with_interval), number in best)
            for number, row in enumerate(language_rows)
        ]
        lines.append((language, cells))
    return lines


def _best(values: Sequence[float | None], metric: "Metric | None") -> list[int]:
    known = [value for value in values if value is not None]
    if len(set(known)) < 2:
        return []
    if metric is not None:
        return metric.best(values)
    return [number for number, value in enumerate(values) if value == min(known)]


def show(comparison: "Comparison") -> None:
    """Write the comparison to stdout."""
    from rich.console import Group
    from rich.text import Text

    from piecework.cli.evaluation_tables import parallel_table

    first = next(iter(comparison.tokenizers))
    sections: list[tuple[str, str, RenderableType]] = [("Tokenizers", "", _tokenizers(comparison))]
    zero = []
    for metric in (*comparison.metric_list, None):
        title, formula = describe(metric, first)
        if metric is not None and not any(comparison.metrics.where(metric=metric.name).column("numerator")):
            zero.append(f"{title}: 0 everywhere")
            continue
        sections.append((title, formula, _values(comparison, metric)))
    if len(comparison.tokenizers) > 1:
        formula = "share of the row's learned tokens that the column also has, compared as text"
        sections.append(("Vocabulary overlap", formula, _overlap(comparison)))
    if len(comparison.words):
        sections.append(("Words that are split differently", "the most frequent ones", _words(comparison)))
    parts: list[RenderableType] = []
    for title, formula, table in sections:
        heading = Text.assemble((title, "bold"), (f"  {formula}", "dim"))
        parts += [heading, indented(table), ""]
        if title == "Tokenizers" and comparison.parallel is not None:
            parts += parallel_table(comparison.parallel)
    notes = [*zero, "* best of the row   ± reach of the 95 % interval   words are separated by whitespace"]
    stdout_console().print(Group(*parts, *(Text(note, style="dim") for note in notes)))


def _table(*columns: str, number: str) -> "Table":
    """A table with columns of text and one column of numbers. Text that is too long is folded; numbers are not."""
    table = new_table()
    for name in columns:
        if name == number:
            table.add_column(name, justify="right", no_wrap=True)
        else:
            table.add_column(name, overflow="fold")
    return table


def _tokenizers(comparison: "Comparison") -> "RenderableType":
    table = _table("", "tokens", "kind", number="tokens")
    for name, tokenizer in comparison.tokenizers.items():
        table.add_row(name, f"{tokenizer.vocab_size:,}", tokenizer.kind)
    return table


def _values(comparison: "Comparison", metric: "Metric | None") -> "RenderableType":
    from rich.text import Text

    table = WideTable("language", list(comparison.tokenizers))
    for language, cells in grid(comparison, metric):
        texts = [Text(f"{text} *", style="bold green") if best else Text(f"{text}  ") for text, best in cells]
        table.add_row(language, *texts)
    return table


def _overlap(comparison: "Comparison") -> "RenderableType":
    table = WideTable("", list(comparison.tokenizers))
    shares = {(row["first"], row["second"]): row["relative"] for row in comparison.overlap.rows()}
    for first in comparison.tokenizers:
        cells = [shares.get((first, second)) for second in comparison.tokenizers]
        table.add_row(first, *(format_percent(share, decimals=1) for share in cells))
    return table


def _words(comparison: "Comparison") -> "RenderableType":
    table = _table("language", "word", "count", *comparison.tokenizers, number="count")
    rows_per_language: dict[str, int] = {}
    for language, word, count, cuts in word_rows(comparison):
        rows_per_language[language] = rows_per_language.get(language, 0) + 1
        if rows_per_language[language] <= WORDS_PER_LANGUAGE:
            table.add_row(language if rows_per_language[language] == 1 else "", word, f"{count:,}", *cuts)
    return table


def word_rows(comparison: "Comparison") -> list[tuple[str, str, int, list[str]]]:
    """Return language, word, count, and the tokens of the word in each tokenizer."""
    rows = comparison.words.rows()
    step = len(comparison.tokenizers)
    groups = (rows[start : start + step] for start in range(0, len(rows), step))
    return [
        (group[0]["language"], group[0]["word"], group[0]["count"], [row["cut"] for row in group]) for group in groups
    ]
