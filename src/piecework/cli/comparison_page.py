"""A comparison as one self-contained HTML page, in light and dark."""

from html import escape
from typing import TYPE_CHECKING

from piecework.cli.comparison_tables import describe, grid, word_rows
from piecework.cli.evaluation_tables import premium_rows
from piecework.common.percent import format_percent
from piecework.common.terms import CUT

if TYPE_CHECKING:
    from piecework.evaluation.compare import Comparison

__all__ = ["page"]

FOLDED_ROWS = 40
"""A longer table opens on request."""

STYLE = """
:root { color-scheme: light dark; }
body { background: var(--paper); color: var(--ink); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .2rem; }
p { margin: .2rem 0 .6rem; opacity: .75; }
div.wide { overflow-x: auto; } summary { cursor: pointer; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .9rem .25rem 0; text-align: left; border-bottom: 1px solid #8884; }
.n { text-align: right; } b { color: light-dark(#0a6b2f, #6ddc93); }
code i { font-style: normal; opacity: .45; padding: 0 .1em; }
@media print { body { max-width: none; margin: 0; } }
"""


def page(comparison: "Comparison") -> str:
    """Return the page as HTML."""
    from piecework.report.comparison import CHART_STYLE, comparison_charts

    first = next(iter(comparison.tokenizers))
    names = list(comparison.tokenizers)
    kinds = [[escape(name), f"{each.vocab_size:,}", escape(each.kind)] for name, each in comparison.tokenizers.items()]
    parts = [_section("Tokenizers", "", ["", "tokens", "kind"], kinds, numbers={1}), comparison_charts(comparison)]
    if comparison.parallel is not None:
        values = [
            [escape(label), *("–" if row["value"] is None else f"{row['value']:.3f}" for row in rows)]
            for label, rows in premium_rows(comparison.parallel).items()
        ]
        title, numbers = comparison.parallel.title, set(range(1, len(names) + 1))
        parts.append(_section(title, "Lower is better", ["", *names], values, numbers=numbers))
    for metric in (*comparison.metric_list, None):
        title, formula = describe(metric, first)
        rows = [
            [escape(language), *(f"<b>{escape(text)}</b>" if best else escape(text) for text, best in cells)]
            for language, cells in grid(comparison, metric)
        ]
        parts.append(_section(title, formula, ["language", *names], rows, numbers=set(range(1, len(names) + 1))))
    if len(names) > 1:
        shares = {(row["first"], row["second"]): row["relative"] for row in comparison.overlap.rows()}
        rows = [
            [escape(name), *(format_percent(shares.get((name, other)), decimals=1) for other in names)]
            for name in names
        ]
        formula = "Share of the row's learned tokens that the column also has, compared as text"
        parts.append(_section("Vocabulary overlap", formula, ["", *names], rows, numbers=set(range(1, len(names) + 1))))
    if len(comparison.words):
        rows = [
            [escape(language), f'<code dir="auto">{escape(word)}</code>', f"{count:,}", *map(_cut, cuts)]
            for language, word, count, cuts in word_rows(comparison)
        ]
        parts.append(
            _section(
                "Words that are split differently",
                "The most frequent ones",
                ["language", "word", "count", *names],
                rows,
                numbers={2},
            )
        )
    title = f"{len(names)} tokenizers compared"
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}{CHART_STYLE}</style>\n<h1>{title}</h1>\n"
        "<p>Words are separated by whitespace; ± is the reach of the 95 % interval; "
        f"the best of each row is bold.</p>\n{''.join(parts)}</html>\n"
    )


def _section(title: str, formula: str, columns: list[str], rows: list[list[str]], *, numbers: set[int]) -> str:
    def cells(tag: str, values: list[str]) -> str:
        return "".join(
            f'<{tag} class="n">{value}</{tag}>' if number in numbers else f"<{tag}>{value}</{tag}>"
            for number, value in enumerate(values)
        )

    head = cells("th", [escape(column) for column in columns])
    body = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    about = f"<p>{escape(formula)}</p>" if formula else ""
    table = f'<div class="wide"><table>\n<tr>{head}</tr>\n{body}\n</table></div>'
    if len(rows) > FOLDED_ROWS:
        table = f"<details><summary>Show the table ({len(rows):,} rows)</summary>{table}</details>"
    return f"<h2>{escape(title)}</h2>{about}\n{table}\n"


def _cut(cut: str) -> str:
    return f"<code dir='auto'>{escape(cut).replace(CUT, f'<i>{CUT}</i>')}</code>"
