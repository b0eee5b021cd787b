"""Values to pixels: linear scales, axis ticks, number formats, label placement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from piecework.evaluation.metrics import Array

__all__ = ["Scale", "format_number", "format_share", "keep_apart", "nice_ticks", "short_count"]

_Values = TypeVar("_Values", float, "Array")


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear map from values to pixels.

    >>> Scale(1.0, 3.0, 100, 300)(2.0)
    200.0
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: _Values) -> _Values:
        """The pixel of a value, or of each value of an array; the start if the range is empty."""
        span = (self.high - self.low) or math.inf
        return self.start + (value - self.low) / span * (self.end - self.start)


def nice_ticks(low: float, high: float, *, count: int = 5) -> list[float]:
    """Round numbers from `low` on that reach `high`, about `count` of them.

    >>> nice_ticks(1.0, 2.37)
    [1.0, 1.5, 2.0, 2.5]
    >>> nice_ticks(0.0, 0.43)
    [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    >>> nice_ticks(0, 0)
    [0.0, 1.0]
    """
    if not high > low:
        high = low + 1.0
        count = 1
    rough = (high - low) / count
    magnitude = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * magnitude for factor in (1, 2, 2.5, 5, 10) if factor * magnitude >= rough * 0.999)
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    decimals = max(0, 2 - math.floor(math.log10(step)))
    return [round(number * step, decimals) for number in range(first, last + 1)]


def format_number(value: float | None, *, decimals: int = 2) -> str:
    """A number with `decimals` digits; a dash if there is none.

    >>> format_number(1.2345), format_number(None), format_number(-0.001)
    ('1.23', '–', '0.00')
    """
    if value is None or not math.isfinite(value):
        return "–"
    written = f"{value:,.{decimals}f}"
    return (written if float(written.replace(",", "")) else written.lstrip("-")).replace("-", "−")


def format_share(value: float | None, *, decimals: int = 1) -> str:
    """A share in percent, with a non-breaking space before the sign.

    >>> format_share(0.4321), format_share(None)
    ('43.2\xa0%', '–')
    """
    return (
        "–" if value is None or not math.isfinite(value) else f"{format_number(100 * value, decimals=decimals)}\u00a0%"
    )


def short_count(value: float) -> str:
    """A number for an axis: abbreviated if it is round.

    >>> [short_count(value) for value in (0, 950, 64_000, 51_200, 8_192, 2_500_000, 0.5)]
    ['0', '950', '64k', '51.2k', '8,192', '2.5M', '0.5']
    """
    for limit, letter in ((1_000_000, "M"), (1_000, "k")):
        if abs(value) >= limit and value % (limit / 10) == 0:
            return f"{value / limit:g}{letter}"
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def keep_apart(wanted: Sequence[float], *, distance: float, low: float, high: float) -> list[float]:
    """Positions near the wanted ones, in the same order, at least `distance` apart and within the limits.

    Positions that would overlap are pooled around their mean, which minimizes the sum of squared moves. If there is no
    room for all, they are spread evenly and overlap.

    >>> keep_apart([10, 11, 50], distance=10, low=0, high=100)
    [5.5, 15.5, 50.0]
    >>> keep_apart([95, 99], distance=10, low=0, high=100)
    [90.0, 100.0]
    """
    if not wanted:
        return []
    if distance * (len(wanted) - 1) > high - low:
        distance = (high - low) / max(1, len(wanted) - 1)
    order = sorted(range(len(wanted)), key=lambda number: wanted[number])
    # A pool: the best position of its first member, and the number of members.
    pools: list[tuple[float, int]] = []
    for number in order:
        best, count = float(wanted[number]), 1
        while pools and pools[-1][0] + pools[-1][1] * distance > best:
            before, many = pools.pop()
            best = (before * many + (best - many * distance) * count) / (many + count)
            count += many
        pools.append((best, count))
    placed: list[float] = []
    for best, count in pools:
        placed += [best + step * distance for step in range(count)]
    for step, position in enumerate(placed):
        floor = low + step * distance
        ceiling = high - (len(placed) - 1 - step) * distance
        placed[step] = float(min(max(position, floor), ceiling))
    result = [0.0] * len(wanted)
    for number, position in zip(order, placed, strict=True):
        result[number] = position
    return result
