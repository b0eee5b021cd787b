"""A balance as tables for people: weights, costs before and after, the frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from piecework.cli.output import new_table, stdout_console, titled_sections
from piecework.cli.wide_table import WideTable
from piecework.common.exact import format_exact

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from piecework.balancing.candidates import Candidate, GroupCost
    from piecework.balancing.result import Balance

__all__ = ["show"]


def show(balance: Balance) -> None:
    """Prints the result to stdout."""
    from rich.text import Text

    measure = f"{balance.metric}: {balance.formula}"
    if balance.pivot:
        measure += f"; pivot {balance.pivot}"
    sections: list[tuple[str, RenderableType]] = [
        (f"Costs on held-out text ({measure})", _costs(balance)),
        ("Frontier: total tokens against the most expensive language", _frontier(balance)),
    ]
    console = stdout_console()
    console.print(titled_sections(Text(_sentence(balance)), sections), soft_wrap=True)
    # Outside the indented sections, which cut a line at the width of the terminal: this one is copied into a file.
    console.print(Text.assemble("\n", ("For study.toml", "bold"), "\n", balance.toml()), soft_wrap=True)


def _sentence(balance: Balance) -> str:
    before, after = balance.before.spread - 1, balance.after.spread - 1
    return (
        f"Most expensive above cheapest {balance.by}: {before:.1%} with today's weights, {after:.1%} with the weights"
        f" found. Total tokens: {balance.loss:+.2%}."
    )


def _costs(balance: Balance) -> WideTable:
    table = WideTable(balance.by, ["weight ×", "today", "95 % interval", "balanced", "95 % interval"])
    for before, after in zip(balance.before.costs, balance.after.costs, strict=True):
        name = before.group if before.compared else f"{before.group} (relative to today)"
        factor = format_exact(balance.after.factors[before.group])
        table.add_row(name, factor, f"{before.value:.3f}", _reach(before), f"{after.value:.3f}", _reach(after))
    return table


def _reach(cost: GroupCost) -> str:
    return f"{cost.interval[0]:.3f}–{cost.interval[1]:.3f}" if cost.interval else "–"


def _frontier(balance: Balance) -> Table:
    table = new_table()
    for column in ("", "total tokens", "more", "most expensive", "cost", "above the cheapest"):
        table.add_column(column, justify="left" if column in ("", "most expensive") else "right")
    for point in balance.frontier:
        table.add_row(*_row(point, balance.before))
    return table


def _row(point: Candidate, before: Candidate) -> list[str]:
    more = point.total_tokens / before.total_tokens - 1 if before.total_tokens else 0.0
    return [
        point.name,
        f"{point.total_tokens:,}",
        f"{more:+.2%}",
        point.worst,
        f"{point.worst_value:.3f}",
        f"{point.spread - 1:.1%}",
    ]
