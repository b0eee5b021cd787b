"""The round numbers of an axis enclose all values. Labels keep a distance, and stay near their points."""

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from piecework.report.scales import keep_apart, nice_ticks

FINITE = st.floats(-1e9, 1e9)


@given(low=FINITE, span=st.floats(1e-6, 1e9))
def test_ticks_hold_the_range(low: float, span: float) -> None:
    high = low + span
    ticks = nice_ticks(low, high)
    slack = 1e-6 * max(abs(low), abs(high), 1)
    assert ticks[0] <= low + slack
    assert ticks[-1] >= high - slack
    assert ticks == sorted(ticks)
    assert 2 <= len(ticks) <= 9


@given(wanted=st.lists(st.floats(0, 300), max_size=15), distance=st.floats(1, 15))
def test_labels_keep_apart(wanted: list[float], distance: float) -> None:
    places = keep_apart(wanted, distance=distance, low=0, high=300)
    assert all(-1e-6 <= place <= 300 + 1e-6 for place in places)
    in_order = sorted(places)
    assert all(after - before >= distance - 1e-6 for before, after in pairwise(in_order))
    for first, second in zip(
        sorted(range(len(wanted)), key=lambda i: wanted[i]),
        sorted(range(len(wanted)), key=lambda i: places[i]),
        strict=True,
    ):
        assert math.isclose(wanted[first], wanted[second])


def test_labels_that_do_not_touch_stay() -> None:
    assert keep_apart([30, 10, 60], distance=10, low=0, high=100) == [30, 10, 60]


def test_no_room_for_all() -> None:
    assert keep_apart([5, 5, 5], distance=10, low=0, high=10) == [0, 5, 10]
