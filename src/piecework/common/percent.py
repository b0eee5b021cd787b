"""Shares as percentages, written one way everywhere."""

from __future__ import annotations

import math

__all__ = ["format_percent"]


def format_percent(share: float | None, *, decimals: int | None = None, sign: str = "") -> str:
    """Write a share with a number of decimals, or with three significant digits; a dash stands for no value.

    >>> format_percent(0.4312, decimals=1), format_percent(0.00213), format_percent(1.5), format_percent(None)
    ('43.1 %', '0.213 %', '150 %', '–')
    >>> format_percent(0.051, decimals=1, sign="+"), format_percent(12.5)
    ('+5.1 %', '1,250 %')
    """
    if share is None or not math.isfinite(share):
        return "–"
    percent = 100 * share
    if decimals is not None:
        return f"{percent:{sign},.{decimals}f} %"
    return f"{float(f'{percent:.3g}'):{sign},} %".replace(".0 %", " %")
