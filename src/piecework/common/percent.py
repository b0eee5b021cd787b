"""Shares as percentages, written one way everywhere."""

from __future__ import annotations

import math

__all__ = ["format_percent"]


def format_percent(share: float | None, *, decimals: int | None = None, digits: int = 3, sign: str = "") -> str:
    """Write a share with a number of decimals, or with significant digits; a dash stands for no value.

    >>> format_percent(0.4312, decimals=1), format_percent(0.00213), format_percent(1.5), format_percent(None)
    ('43.1 %', '0.213 %', '150 %', '–')
    >>> format_percent(0.051, decimals=1, sign="+"), format_percent(12.5)
    ('+5.1 %', '1,250 %')
    >>> [format_percent(share, digits=2) for share in (3.12, 0.4312, 0.0512, 0.00012, 0.0)]
    ['312 %', '43 %', '5.1 %', '0.012 %', '0 %']
    """
    if share is None or not math.isfinite(share):
        return "–"
    percent = 100 * share
    if decimals is not None:
        return f"{percent:{sign},.{decimals}f} %"
    before_point = math.floor(math.log10(abs(percent))) + 1 if percent else 1
    rounded = round(percent, max(digits - before_point, 0))
    return f"{rounded:{sign},} %".replace(".0 %", " %")
