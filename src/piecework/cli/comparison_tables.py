"""A comparison for people: a table a metric, the best of each row marked, then vocabularies and words."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from piecework.evaluation.compare import Comparison
    from piecework.evaluation.metrics import Metric

__all__ = ["describe", "grid", "show"]

PLAIN_WIDTH = 130
COLUMNS_WITH_INTERVALS = 5
WORDS_SHOWN = 8

Cell = tuple[str, bool]
"""A figure as text, and whether it is the best of its row."""


def describe(metric: "Metric | None", first: str) -> tuple[str, str]:
    """The title of a metric, and what it is; none stands for the sequence length."""
    better = {"lower": "; lower is better", "higher": "; higher is better"}
    if metric is None:
        return "Sequence length", f"tokens / tokens of {first}; lower is better"
    return metric.title, metric.formula + better.get(metric.direction, "")


def grid(done: "Comparison", metric: "Metric | None") -> list[tuple[str, list[Cell]]]:
    """Of each language, the figures of all tokenizers."""
    from piecework.cli.evaluation_tables import decimals_of, format_value
    from piecework.evaluation.compare import LENGTH

    rows = done.metrics.where(metric=LENGTH if metric is None else metric.name).rows()
    found = {(row["language"], row["tokenizer"]): row for row in rows}
    decimals = decimals_of(rows)
    with_interval = len(done.tokenizers) <= COLUMNS_WITH_INTERVALS
    lines = []
    for language in done.languages:
        of_language = [found[language, name] for name in done.tokenizers]
        best = _best([row["value"] for row in of_language], metric)
        cells = [
            (format_value(row, decimals=decimals, with_interval=with_interval), number in best)
            for number, row in enumerate(of_language)
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


def show(done: "Comparison") -> None:
    """Write the comparison to stdout."""
    from rich.console import Console, Group
    from rich.padding import Padding
    from rich.text import Text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)
    first = next(iter(done.tokenizers))
    sections: list[tuple[str, str, RenderableType]] = [("Tokenizers", "", _tokenizers(done))]
    zero = []
    for metric in (*done.metric_list, None):
        title, formula = describe(metric, first)
        if metric is not None and not any(done.metrics.where(metric=metric.name).column("numerator")):
            zero.append(f"{title}: 0 throughout")
            continue
        sections.append((title, formula, _figures(done, metric)))
    if len(done.tokenizers) > 1:
        formula = "share of the row's learnt tokens that the column has too, spelt as text"
        sections.append(("Vocabulary overlap", formula, _overlap(done)))
    if len(done.words):
        sections.append(("Words that are not cut alike", "the most frequent ones", _words(done)))
    parts: list[RenderableType] = []
    for title, formula, table in sections:
        heading = Text.assemble((title, "bold"), (f"  {formula}", "dim"))
        parts += [heading, Padding(table, (0, 0, 0, 2), expand=False), ""]
    notes = [*zero, "* the best of the row   ± how far the 95 % interval reaches   words are what whitespace separates"]
    console.print(Group(*parts, *(Text(note, style="dim") for note in notes)))


def _new_table(*columns: str, right: bool = True) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for number, name in enumerate(columns):
        table.add_column(name, justify="right" if right and number else "left", no_wrap=True)
    return table


def _tokenizers(done: "Comparison") -> "RenderableType":
    table = _new_table("", "tokens", "kind")
    table.columns[2].justify = "left"
    for name, tokenizer in done.tokenizers.items():
        table.add_row(name, f"{tokenizer.vocab_size:,}", tokenizer.kind)
    return table


def _figures(done: "Comparison", metric: "Metric | None") -> "RenderableType":
    from rich.text import Text

    table = _new_table("language", *done.tokenizers)
    for language, cells in grid(done, metric):
        texts = [Text(f"{text} *", style="bold green") if best else Text(f"{text}  ") for text, best in cells]
        table.add_row(language, *texts)
    return table


def _overlap(done: "Comparison") -> "RenderableType":
    table = _new_table("", *done.tokenizers)
    shares = {(row["first"], row["second"]): row["relative"] for row in done.overlap.rows()}
    for first in done.tokenizers:
        cells = [shares.get((first, second)) for second in done.tokenizers]
        table.add_row(first, *("–" if share is None else f"{100 * share:.1f} %" for share in cells))
    return table


def _words(done: "Comparison") -> "RenderableType":
    table = _new_table("language", "word", "count", *done.tokenizers, right=False)
    table.columns[2].justify = "right"
    shown: dict[str, int] = {}
    for language, word, count, cuts in word_rows(done):
        shown[language] = shown.get(language, 0) + 1
        if shown[language] <= WORDS_SHOWN:
            table.add_row(language if shown[language] == 1 else "", word, f"{count:,}", *cuts)
    return table


def word_rows(done: "Comparison") -> list[tuple[str, str, int, list[str]]]:
    """Language, word, count, and how each tokenizer cuts it."""
    rows = done.words.rows()
    step = len(done.tokenizers)
    groups = (rows[start : start + step] for start in range(0, len(rows), step))
    return [
        (group[0]["language"], group[0]["word"], group[0]["count"], [row["cut"] for row in group]) for group in groups
    ]
