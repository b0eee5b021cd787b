"""Premium, worst language and Gini coefficient, against plain arithmetic."""

import json
from itertools import product
from pathlib import Path

import pytest

import piecework as pw
from evaluation.direct import processor

LANGUAGES = ("da", "en", "is", "no", "sv")


@pytest.fixture(scope="module")
def parallel_texts(shared: Path) -> dict[str, list[str]]:
    return {
        language: [
            json.loads(line)["text"]
            for line in (shared / "parallel" / f"ntrex_{language}.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        for language in LANGUAGES
    }


def test_parallel_text(parallel_texts: dict[str, list[str]], tokenizers: dict[str, pw.Tokenizer]) -> None:
    chosen = {name: tokenizers[name] for name in ("multilingual", "sv")}
    table = pw.evaluate_parallel(chosen, parallel_texts, pivot="en")
    for name, tokenizer in chosen.items():
        model = processor(tokenizer)
        tokens = {language: sum(map(len, model.encode(lines))) for language, lines in parallel_texts.items()}
        rows = table.where(tokenizer=name).rows()
        for row in rows[:5]:
            assert (row["metric"], row["numerator"], row["denominator"]) == (
                "premium",
                tokens[row["language"]],
                tokens["en"],
            )
            assert row["low"] <= row["value"] <= row["high"]
        assert rows[1]["low"] == rows[1]["high"] == 1.0
        worst = max(tokens, key=lambda language: tokens[language])
        assert (rows[5]["metric"], rows[5]["language"], rows[5]["numerator"]) == ("worst_premium", worst, tokens[worst])
        differences = sum(abs(a - b) for a, b in product(tokens.values(), repeat=2))
        assert rows[6]["value"] == differences / (2 * 5 * sum(tokens.values()))
        assert rows[6]["low"] < rows[6]["value"] < rows[6]["high"]
        assert rows[6]["language"] is None


def test_equal_languages_have_no_inequality() -> None:
    tokenizer = pw.train(pw.count_words(["ett två"]), pw.Recipe(vocab_size=12, hard_vocab_limit=False))
    table = pw.evaluate_parallel(tokenizer, {"a": ["ett två"] * 40, "b": ["två ett"] * 40}, pivot="a")
    assert table.column("value") == [1.0, 1.0, 1.0, 0.0]


def test_texts_that_are_not_parallel() -> None:
    tokenizer = pw.train(pw.count_words(["ett två"]), pw.Recipe(vocab_size=12, hard_vocab_limit=False))
    with pytest.raises(pw.InputError, match="not parallel: a has 1, b has 2 lines"):
        pw.evaluate_parallel(tokenizer, {"a": ["x"], "b": ["x", "y"]}, pivot="a")
    with pytest.raises(pw.InputError, match='pivot "c" is not among the languages: a, b'):
        pw.evaluate_parallel(tokenizer, {"a": ["x"], "b": ["x"]}, pivot="c")
