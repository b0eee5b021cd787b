"""A table in LaTeX: escaped text, and the environment around rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["escape", "number", "tabular"]

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


def tabular(
    titles: Sequence[str], body: Sequence[Sequence[Any]], *, caption: str, columns: str = "", raw: bool = False
) -> str:
    """A table; with `raw`, all columns but the first are LaTeX already."""
    cell: Callable[[Any], str] = str if raw else escape
    lines = [
        r"% Needs \usepackage{booktabs}.",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape(caption)}}}",
        rf"\begin{{tabular}}{{{columns or 'l' + 'r' * (len(titles) - 1)}}}",
        r"\toprule",
        " & ".join(map(escape, titles)) + r" \\",
        r"\midrule",
        *(" & ".join([escape(row[0]), *map(cell, row[1:])]) + r" \\" for row in body),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def number(value: float | None, *, bold: bool = False, digits: int = 3) -> str:
    """A number with `digits` decimals; a dash for None.

    >>> print(number(1.25, bold=True), number(None))
    \\textbf{1.250} --
    """
    if value is None:
        return "--"
    return rf"\textbf{{{value:.{digits}f}}}" if bold else f"{value:.{digits}f}"


def escape(text: object) -> str:
    r"""Text with LaTeX's special characters escaped.

    >>> print(escape("<|python|> 50 %"))
    \textless{}\textbar{}python\textbar{}\textgreater{} 50 \%
    """
    return "".join(_SPECIAL.get(character, character) for character in str(text))
