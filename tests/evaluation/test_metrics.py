"""Metrics: the registry, metrics of one's own, and the documentation's examples."""

import doctest
from pathlib import Path

import numpy as np
import pytest

import piecework as pw
from piecework.evaluation import metrics

DOCUMENTATION = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"


def test_a_metric_of_ones_own(sample: object, tokenizers: dict[str, pw.Tokenizer]) -> None:
    @pw.metric("tokens_per_character", title="Tokens per character", formula="tokens / characters", direction="lower")
    def tokens_per_character(tokens: np.ndarray, characters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return tokens, characters

    try:
        evaluation = pw.evaluate({"sv": tokenizers["sv"]}, sample.units, sizes=[2000])  # type: ignore[attr-defined]
        inverse = evaluation.metrics.where(metric="characters_per_token").rows()
        for own, other in zip(evaluation.metrics.where(metric="tokens_per_character").rows(), inverse, strict=True):
            assert own["value"] == pytest.approx(1 / other["value"])
            assert (own["low"], own["high"]) == pytest.approx((1 / other["high"], 1 / other["low"]), rel=1e-3)
        assert len(evaluation.sizes.where(metric="tokens_per_character")) == 6
        assert evaluation.curve("sv", "da", "tokens_per_character").values[-1] > 0
        with pytest.raises(pw.InputError, match="exists already"):
            pw.metric("tokens_per_character", title="", formula="")(lambda tokens, words: (tokens, words))
    finally:
        metrics.forget(tokens_per_character)


def test_mistakes_in_metrics() -> None:
    with pytest.raises(pw.InputError, match='no total is called "token"; did you mean "tokens"'):
        pw.metric("wrong", title="", formula="")(lambda token: (token, 1))
    with pytest.raises(pw.InputError, match="direction"):
        pw.metric("wrong", title="", formula="", direction="up")  # type: ignore[arg-type]
    with pytest.raises(pw.InputError, match="units"):
        pw.metric("wrong", title="", formula="", units="words")  # type: ignore[arg-type]
    assert "wrong" not in {metric.name for metric in metrics.all_metrics()}


def test_only_what_is_asked_for(sample: object, tokenizers: dict[str, pw.Tokenizer]) -> None:
    evaluation = pw.evaluate(tokenizers["sv"], sample.units, metrics=["fertility"], languages=["da", "sv"])  # type: ignore[attr-defined]
    assert len(evaluation.metrics) == 2
    assert evaluation.groups == ["da", "sv"]
    with pytest.raises(pw.InputError, match="was not evaluated"):
        evaluation.matrix("byte_rate")
    with pytest.raises(pw.InputError, match="no frequencies"):
        evaluation.frequencies("tokenizer")
    with pytest.raises(pw.InputError, match="curves=True"):
        evaluation.curve("tokenizer", "da")


def test_every_metric_is_documented() -> None:
    text = DOCUMENTATION.read_text(encoding="utf-8")
    from piecework.evaluation.parallel import PARALLEL_METRICS

    for metric in (*metrics.all_metrics(), *PARALLEL_METRICS):
        assert f"`{metric.name}`" in text, metric.name


def test_the_documentation_runs() -> None:
    before = {metric.name for metric in metrics.all_metrics()}
    failed, attempted = doctest.testfile(str(DOCUMENTATION), module_relative=False)
    for metric in metrics.all_metrics():
        if metric.name not in before:
            metrics.forget(metric)
    assert attempted
    assert not failed


def test_frequencies_and_matrix(evaluation: pw.Evaluation) -> None:
    table = evaluation.frequencies("sv")
    assert sum(table.column("count")) == int(evaluation.frequency_array("sv").sum())
    tokens = {row["language"]: row["tokens"] for row in evaluation.totals("sv").rows()}
    assert sum(table.where(language="da").column("count")) == tokens["da"]
    matrix = evaluation.matrix("fertility")
    assert matrix.columns == ["language", *evaluation.tokenizers]
    rows = evaluation.metrics.where(metric="fertility", tokenizer="da").rows()
    assert matrix.column("da") == [row["value"] for row in rows]


def test_by_subset(sample: object, tokenizers: dict[str, pw.Tokenizer]) -> None:
    evaluation = pw.evaluate(tokenizers["sv"], sample.units, by="subset")  # type: ignore[attr-defined]
    assert evaluation.groups == ["code", "da", "en", "is", "no", "sv"]
    assert "subset" in evaluation.metrics.columns
