"""A curve of 64,000 points is drawn with few points, and looks the same."""

import numpy as np
import pytest

from piecework.report.charts.lines import TOLERANCE, Line, thin
from piecework.report.palette import Look
from piecework.report.scales import Scale

SIZES = np.arange(300, 64_000)
X, Y = Scale(300, 63_999, 40, 660), Scale(1, 4, 330, 34)


@pytest.mark.parametrize(
    "values",
    [1 + 3 / np.sqrt(SIZES / 300), np.linspace(4, 1, len(SIZES)), np.full(len(SIZES), 2.0), 2 + np.sin(SIZES / 9000)],
    ids=["falling", "straight", "flat", "wave"],
)
def test_few_points_and_the_same_line(values: np.ndarray) -> None:
    points = thin(X, Y, Line("a", Look("", ""), SIZES, values))
    assert len(points) <= 150
    assert points[0] == (X(300), Y(values[0]))
    assert points[-1] == (X(63_999), Y(values[-1]))
    drawn = np.interp([X(size) for size in SIZES[::50]], *np.array(points).T)
    exact = np.array([Y(value) for value in values[::50]])
    assert np.abs(drawn - exact).max() <= TOLERANCE + 0.1


def test_what_is_missing_is_not_drawn() -> None:
    values = np.where(SIZES < 1000, np.nan, 2.0)
    points = thin(X, Y, Line("a", Look("", ""), SIZES, values))
    assert points == [(X(1000), Y(2.0)), (X(63_999), Y(2.0))]


def test_a_curve_of_one_point() -> None:
    assert len(thin(X, Y, Line("a", Look("", ""), SIZES[:1], np.ones(1)))) == 1
