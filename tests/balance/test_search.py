"""The search on made-up responses: it converges, does not follow noise, and says what cannot be reached."""

import numpy as np
import pytest

from piecework.balancing.search import LARGEST_FACTOR, find_weights


def response(slopes: list[float], levels: list[float], *, noise: float = 0.0):
    """Log-costs that fall with a language's share of all weights, as in training; the noise depends on the weights."""

    def costs(x: np.ndarray) -> np.ndarray:
        share = np.exp(x) / np.exp(x).sum()
        jitter = np.random.default_rng(abs(hash(x.round(3).tobytes())) % 2**32).normal(0, noise, len(x))
        return np.array(levels) - np.array(slopes) * np.log(share) + jitter

    return costs


@pytest.mark.parametrize("slopes", [[0.06, 0.06, 0.06, 0.06], [0.02, 0.05, 0.1, 0.3]], ids=["alike", "different"])
@pytest.mark.parametrize("noise", [0.0, 0.0005])
def test_equal_costs_in_few_trainings(slopes: list[float], noise: float) -> None:
    costs = response(slopes, [0.0, 0.02, 0.08, 0.05], noise=noise)

    def measure(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = costs(x)
        return found - found.mean(), np.full(4, 0.003)

    search = find_weights(measure, np.full(4, True))
    assert search.stopped == "met"
    assert len(search.steps) <= 12
    assert np.ptp(search.steps[search.best].residuals) <= 0.006


def test_noise_above_the_tolerance_ends_the_search() -> None:
    costs = response([0.06] * 4, [0.0, 0.02, 0.08, 0.05], noise=0.02)

    def measure(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = costs(x)
        return found - found.mean(), np.full(4, 1e-5)

    search = find_weights(measure, np.full(4, True))
    assert search.stopped == "no progress"
    best = np.abs(search.steps[search.best].residuals).max()
    assert best == min(np.abs(step.residuals).max() for step in search.steps)


def test_what_no_weight_can_reach() -> None:
    costs = response([0.05] * 3, [0.0, 0.0, 0.0])

    def measure(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        residuals = np.zeros(3)
        residuals[0] = costs(x)[0] + 5.0
        return residuals, np.full(3, 0.001)

    search = find_weights(measure, np.array([True, False, False]))
    assert search.stopped == "out of reach"
    assert search.at_bound.tolist() == [True, False, False]
    assert np.exp(search.steps[-1].log_weights[0]) == pytest.approx(LARGEST_FACTOR)


def test_raises_only_what_is_above() -> None:
    costs = response([0.06] * 3, [0.0, 0.1, 0.01])

    def measure(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = costs(x)
        return found - found[0] - 0.04, np.full(3, 0.001)

    search = find_weights(measure, np.array([False, True, True]), raises_only=True)
    assert search.stopped == "met"
    weights = search.steps[search.best].log_weights
    assert weights[0] == 0 and weights[2] == 0 and weights[1] > 0.5


def test_time_ends_the_search() -> None:
    search = find_weights(lambda x: (x * 0 + [0.1, -0.1], np.full(2, 1e-3)), np.full(2, True), is_late=lambda: True)
    assert search.stopped == "time" and len(search.steps) == 1
