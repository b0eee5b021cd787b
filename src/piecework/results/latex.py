"""The paper's tables as LaTeX. They need the package booktabs and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from piecework.common.files import prepare_output, replace_atomically
from piecework.common.terms import MULTILINGUAL, OVERALL
from piecework.corpus.languages import language_name
from piecework.evaluation.tables import Table

__all__ = ["write_latex"]

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "▁": r"\textvisiblespace{}",
}


def write_latex(tables: Mapping[str, Table], folder: Path) -> list[Path]:
    """Writes a file for each table of the paper; returns the files."""
    prepare_output(folder, [])
    texts = {
        "vocabulary": _vocabulary(tables["vocabulary"]),
        "fertility": _by_tokenizer(tables["metrics"], "fertility", "Fertility"),
        "continued_words": _by_tokenizer(tables["metrics"], "continued_words", "Continued words"),
        "fertility_by_size": _by_size(tables["metrics"], "fertility", "Fertility"),
        "continued_words_by_size": _by_size(tables["metrics"], "continued_words", "Continued words"),
        "overlap": _overlap(tables["overlap"]),
    }
    written = []
    for name, text in texts.items():
        path = folder / f"{name}.tex"
        with replace_atomically(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def _vocabulary(table: Table) -> str:
    rows = table.where(tokenizer=MULTILINGUAL).rows()
    body = [[row["group"], f"{row['pieces']:,}", row["ids"].replace("-", "--")] for row in rows]
    return _tabular(["group", "pieces", "ids"], body, caption="The vocabulary of the multilingual tokenizer, by group.")


def _by_tokenizer(metrics: Table, metric: str, title: str) -> str:
    """A row for each language, a column for the multilingual tokenizer and for each monolingual one."""
    names = [name for name in dict.fromkeys(metrics.column("tokenizer")) if not name.startswith(f"{MULTILINGUAL}-")]
    caption = f"{title} of the multilingual tokenizer and of the monolingual ones, by language. The best in bold."
    return _values(metrics.where(metric=metric), names, list(names), caption=caption)


def _by_size(metrics: Table, metric: str, title: str) -> str:
    """A row for each language, a column for each size of the multilingual tokenizer."""
    rows = metrics.where(metric=metric).rows()
    sizes = {row["vocab_size"]: row["tokenizer"] for row in rows if row["tokenizer"].startswith(MULTILINGUAL)}
    order = sorted(sizes)
    caption = f"{title} of the multilingual tokenizer by vocabulary size."
    return _values(
        metrics.where(metric=metric), [sizes[size] for size in order], [f"{n:,}" for n in order], caption=caption
    )


def _values(metrics: Table, tokenizers: Sequence[str], titles: Sequence[str], *, caption: str) -> str:
    values = {(row["language"], row["tokenizer"]): row["value"] for row in metrics.rows()}
    body = []
    for language in dict.fromkeys(metrics.column("language")):
        of_language = [values.get((language, tokenizer)) for tokenizer in tokenizers]
        best = min((value for value in of_language if value is not None), default=None)
        cells = [_number(value, bold=value == best) for value in of_language]
        body.append(["all" if language == OVERALL else language_name(language), *cells])
    return _tabular(["", *titles], body, caption=caption, raw=True)


def _overlap(table: Table) -> str:
    """A row and a column for each tokenizer."""
    names = list(dict.fromkeys(table.column("first")))
    shares = {(row["first"], row["second"]): row["relative"] for row in table.rows()}
    body = [[first, *(_number(shares.get((first, second)), digits=2) for second in names)] for first in names]
    caption = "Share of the pieces of the row's tokenizer that are also in the column's."
    return _tabular(["", *names], body, caption=caption, raw=True)


def _number(value: float | None, *, bold: bool = False, digits: int = 3) -> str:
    if value is None:
        return "--"
    return rf"\textbf{{{value:.{digits}f}}}" if bold else f"{value:.{digits}f}"


def _tabular(titles: Sequence[str], body: Sequence[Sequence[Any]], *, caption: str, raw: bool = False) -> str:
    """A table; with `raw`, all columns but the first are LaTeX already."""
    cell: Callable[[Any], str] = str if raw else _escape
    lines = [
        r"% Needs \usepackage{booktabs}.",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escape(caption)}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(titles) - 1)}}}",
        r"\toprule",
        " & ".join(map(_escape, titles)) + r" \\",
        r"\midrule",
        *(" & ".join([_escape(row[0]), *map(cell, row[1:])]) + r" \\" for row in body),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _escape(text: object) -> str:
    r"""Text with LaTeX's special characters escaped.

    >>> print(_escape("<|python|> 50 %"))
    \textless{}\textbar{}python\textbar{}\textgreater{} 50 \%
    """
    return "".join(_SPECIAL.get(character, character) for character in str(text))
