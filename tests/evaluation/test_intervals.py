"""Intervals: how often they contain the truth, and what they do with little text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import piecework as pw
from piecework.evaluation import intervals
from piecework.evaluation.metrics import find_metrics

FERTILITY = find_metrics(["fertility"])[0]


def documents(generator: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Documents of very different lengths, each with a fertility of its own; the true ratio is 1.5."""
    starts = np.ceil(generator.lognormal(4, 1.0, count))
    own = 1.5 + generator.normal(0, 0.2, count)
    return generator.poisson(starts * own).astype(float), starts


@pytest.mark.parametrize(("count", "least"), [(3000, 0.93), (200, 0.90)])
def test_coverage_of_the_bootstrap(count: int, least: float) -> None:
    generator = np.random.default_rng(1)
    trials, hits = 600, 0
    for _ in range(trials):
        tokens, starts = documents(generator, count)
        buckets = generator.integers(0, 32, count)
        sums = {
            "tokens": np.bincount(buckets, tokens, minlength=32),
            "starts": np.bincount(buckets, starts, minlength=32),
        }
        occupied = sums["starts"] > 0
        found = intervals.bootstrap(FERTILITY, {name: values[np.newaxis, occupied] for name, values in sums.items()})[0]
        assert found is not None
        hits += found[0] <= 1.5 <= found[1]
    print(f"bootstrap, {count} documents: {hits / trials:.1%} of {trials} intervals contain the truth")
    assert least <= hits / trials <= 0.98


@pytest.mark.parametrize("metric", ["renyi_efficiency", "vocabulary_utilisation"])
def test_coverage_of_the_jackknife(metric: str) -> None:
    """For numbers of distinct items, the truth is the mean over many texts of this size."""
    generator = np.random.default_rng(2)
    chosen = find_metrics([metric])[0]
    pieces = 2000
    shares = 1 / np.arange(1, pieces + 1)
    trials, values, found = 300, [], []
    for _ in range(trials):
        # Each block leans towards other pieces, as documents do.
        own = shares * generator.gamma(2.0, 0.5, (16, pieces))
        frequencies = np.stack([generator.multinomial(800, row / row.sum()) for row in own])
        whole = frequencies.sum(axis=0)
        value = float(chosen.value({"frequencies": whole, "vocab_size": pieces}))
        without = chosen.value({"frequencies": whole - frequencies, "vocab_size": pieces})
        values.append(value)
        found.append(intervals.jackknife(value, without))
    truth = np.mean(values)
    share = np.mean([each is not None and each[0] <= truth <= each[1] for each in found])
    print(f"jackknife, {metric}: {share:.1%} of {trials} intervals contain the truth")
    assert 0.91 <= share <= 0.995


def test_intervals_are_the_same_every_time(evaluation: pw.Evaluation, sample: object, tokenizers: object) -> None:
    again = pw.evaluate({"sv": tokenizers["sv"]}, sample.units)  # type: ignore[index, attr-defined]
    assert again.metrics.rows() == evaluation.metrics.where(tokenizer="sv").rows()


def test_few_documents_have_no_interval() -> None:
    tokenizer = pw.train(pw.count_words(["ett två tre"]), pw.Recipe(vocab_size=12))
    few = pw.evaluate(tokenizer, pw.count_units({"sv": ["ett två", "två tre"]}))
    assert few.without_intervals == ["sv"]
    assert {row["low"] for row in few.metrics.rows()} == {None}
    assert all(row["value"] is not None for row in few.metrics.rows())
    many = pw.evaluate(tokenizer, pw.count_units({"sv": [f"ett två {'tre ' * n}" for n in range(40)]}))
    assert many.without_intervals == []
    assert all(row["low"] <= row["value"] <= row["high"] for row in many.metrics.rows())


def test_quantiles() -> None:
    # From tables of Student's distribution.
    for degrees, expected in ((7, 2.3646), (15, 2.1314), (31, 2.0395)):
        assert intervals.student_quantile(0.975, degrees) == pytest.approx(expected, abs=0.003)
    assert 0.018 < intervals.tail(32) < 0.020


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=50), st.floats(0, 1))
def test_quantiles_are_those_of_numpy(values: list[float], share: float) -> None:
    assert intervals.quantile(np.sort(values), share) == np.quantile(values, share)
