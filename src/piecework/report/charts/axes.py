"""Parts that charts share: number formats, axes that outliers cannot squash, grid lines, a legend that wraps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal

from markupsafe import Markup

from piecework.report.palette import Look
from piecework.report.scales import Scale, format_number, format_share, nice_ticks, short_count
from piecework.report.svg import element, marker, text, text_width

__all__ = [
    "Format",
    "axis_limit",
    "axis_title",
    "break_mark",
    "fitted",
    "legend",
    "row_height",
    "tick_text",
    "value_axis",
    "value_text",
    "vertical_grid",
]

Format = Literal["number", "share", "count"]
SMALL = 11
MANY_ROWS = 12
"""With more rows than this, rows are lower."""
OUTLIER = 3.0
"""A value is an outlier if it is this many times as far from the floor as the median."""


def row_height(rows: int, *, usual: int, low: int) -> int:
    """The height of a row: lower if there are many."""
    return usual if rows <= MANY_ROWS else low


def value_text(value: float | None, kind: Format) -> str:
    """The label of a value beside its mark.

    >>> value_text(1.234, "number"), value_text(0.25, "share"), value_text(63736, "count"), value_text(None, "share")
    ('1.23', '25.0\xa0%', '63,736', '–')
    """
    if kind == "share":
        return format_share(value)
    return format_number(value, decimals=0 if kind == "count" else 2)


def tick_text(value: float, kind: Format, step: float) -> str:
    """The label of a value on an axis with this step.

    >>> tick_text(1.5, "number", 0.5), tick_text(0.25, "share", 0.25), tick_text(0.005, "share", 0.005)
    ('1.5', '25\xa0%', '0.5\xa0%')
    """
    if kind == "count":
        return short_count(value)
    number, distance, unit = (100 * value, 100 * step, "\u00a0%") if kind == "share" else (value, step, "")
    decimals = next((n for n in range(6) if abs(round(distance, n) - distance) < 1e-9), 6)
    return f"{format_number(number, decimals=decimals)}{unit}"


def axis_limit(values: Iterable[float | None], *, floor: float) -> float:
    """The highest value that an axis has to reach. Outliers are cut off if at most a quarter of the values are.

    >>> axis_limit([1.5, 1.6, 1.7, 1.8, 9.0], floor=1.0), axis_limit([1.5, 1.6, 9.0, 8.0], floor=1.0)
    (1.8, 9.0)
    """
    known = sorted(value for value in values if value is not None)
    if not known:
        return floor
    reach = floor + OUTLIER * (known[len(known) // 2] - floor)
    usual = [value for value in known if value <= reach]
    return usual[-1] if usual and 4 * len(usual) >= 3 * len(known) else known[-1]


def value_axis(low: float, highest: Iterable[float | None], *, count: int = 5) -> list[float]:
    """The ticks of an axis from its floor to the highest value."""
    values = [value for value in highest if value is not None]
    ticks = nice_ticks(low, max(values, default=low), count=count)
    return [low, *(tick for tick in ticks if tick > low)]


def vertical_grid(ticks: Sequence[float], scale: Scale, kind: Format, *, top: float, bottom: float) -> list[Markup]:
    """A line for each tick, the floor darker, and the numbers below."""
    step = min((after - before for before, after in pairwise(ticks)), default=1.0)
    parts = []
    for number, tick in enumerate(ticks):
        x = scale(tick)
        colour = "var(--rule)" if number else "var(--axis)"
        parts.append(element("path", d=f"M{x:.1f} {top:.1f}V{bottom:.1f}", stroke=colour))
        label = tick_text(tick, kind, step)
        parts.append(text(label, x, bottom + 16, anchor="middle", font_size=SMALL, fill="var(--soft)"))
    return parts


def break_mark(x: float, y: float, height: float) -> Markup:
    """Two slanted lines across the end of a bar that continues beyond the axis."""
    top, bottom = y - height / 2 - 2, y + height / 2 + 2
    lines = "".join(f"M{at - 3:.1f} {bottom:.1f}L{at + 3:.1f} {top:.1f}" for at in (x - 12, x - 7))
    return element("path", d=lines, stroke="var(--paper)", stroke_width=3)


def fitted(content: str, width: float, size: float = 12) -> str:
    """The text, shortened with an ellipsis if it is wider.

    >>> fitted("Icelandic", 100), fitted("Icelandic", 40)
    ('Icelandic', 'Icela…')
    """
    if text_width(content, size) <= width:
        return content
    while content and text_width(content + "…", size) > width:
        content = content[:-1]
    return content.rstrip() + "…"


def axis_title(content: str, left: float, width: float) -> Markup:
    """The title of an axis above its start; further left if it needs the room."""
    start = max(0.0, min(left, width - text_width(content, SMALL)))
    return text(fitted(content, width, SMALL), start, 13, font_size=SMALL, fill="var(--soft)")


def legend(entries: Sequence[tuple[str, Look]], *, width: float, top: float, left: float = 0) -> tuple[Markup, float]:
    """A legend in as many rows as needed, and the bottom of it."""
    parts, x, y = [], left, top + 10
    for name, look in entries:
        needed = 26 + text_width(name)
        if x > left and x + needed > width:
            x, y = left, y + 20
        parts.append(marker(look.marker, x + 6, y - 4, fill=look.colour))
        parts.append(text(name, x + 16, y))
        x += needed
    return Markup().join(parts), y + 8
