"""A literal ▁ in counted text: totals equal those of SentencePiece on whole documents, whatever stands beside the ▁."""

import random
from pathlib import Path
from typing import Any

import pytest

import piecework as pw
from evaluation.direct import SIZE_TOTALS
from evaluation.test_normalizing import count_directly
from piecework.evaluation.compare import compare, compare_on_counts

BY_HAND = ["▁", "▁▁", " ▁ ", "▁a", "a▁", "a ▁", "a▁ ", "a ▁ b", "a▁b", "a▁ b", "a ▁b", "a▁▁b", "a  ▁  ▁b ", "å▁ å ▁"]
RUNS = {"whitespace_runs": "paper"}
RECIPES: dict[str, dict[str, Any]] = {
    "plain": {},
    "no prefix": {"add_dummy_prefix": False},
    "runs": {**RUNS},
    "runs, no prefix": {**RUNS, "add_dummy_prefix": False},
    "newlines in pieces": {"user_defined_symbols": ["\na"]},
    "newlines in pieces, no prefix": {"user_defined_symbols": ["\na"], "add_dummy_prefix": False},
    "removed": {"remove_extra_whitespaces": True},
    "removed, runs": {"remove_extra_whitespaces": True, **RUNS},
    "removed, unknown": {"remove_extra_whitespaces": True, "byte_fallback": False},
    "rules": {"normalization_rule_name": "nmt_nfkc"},
    "rules, removed": {"normalization_rule_name": "nmt_nfkc", "remove_extra_whitespaces": True},
    "rules, removed, runs": {"normalization_rule_name": "nmt_nfkc_cf", "remove_extra_whitespaces": True, **RUNS},
}


def random_texts(seed: int, count: int = 400) -> list[str]:
    draw = random.Random(seed)
    alphabet = ["▁ \taå\n", "▁ a", "▁ \n-", " ab▁c."]
    return ["".join(draw.choices(alphabet[number % 4], k=draw.randint(1, 24))) for number in range(count)]


TEXTS = {"aa": BY_HAND, "bb": random_texts(1), "cc": random_texts(2)}


def model(settings: dict[str, Any]) -> pw.Tokenizer:
    base = {"vocab_size": 330, "hard_vocab_limit": False, "byte_fallback": True, "character_coverage": 0.99}
    recipe = pw.Recipe(**{**base, **settings})
    lines = [text for texts in TEXTS.values() for text in texts]
    return pw.train(pw.count_words(lines, normalization=recipe.normalization()), recipe)


@pytest.mark.parametrize("name", RECIPES)
def test_totals_equal_those_of_sentencepiece(name: str) -> None:
    tokenizer = model(RECIPES[name])
    smaller = tokenizer.resize(tokenizer.vocab_size - 4)
    units = pw.count_units(TEXTS)
    evaluation = pw.evaluate({"t": tokenizer}, units, sizes=[smaller.vocab_size])
    rows = {row["language"]: row for row in evaluation.totals("t").rows()}
    sizes = evaluation._result("t").totals["eval"].sizes
    assert sizes is not None
    for group, (language, texts) in enumerate(TEXTS.items()):
        direct = count_directly(tokenizer, texts)
        assert {total: rows[language][total] for total in direct} == dict(direct), language
        expected = count_directly(smaller, texts)
        assert sizes[group, :, 0].sum(axis=0).tolist() == [expected[total] for total in SIZE_TOTALS], language
        assert rows[language]["bytes"] == sum(len(text.replace("▁", " ").encode()) for text in texts)
    for found in (compare({"t": tokenizer}, TEXTS), compare_on_counts({"t": tokenizer}, units)):
        for row in found.metrics.where(metric="word_fertility").rows():
            if row["language"] in TEXTS:
                assert row["numerator"] == rows[row["language"]]["tokens"]
                assert row["denominator"] == rows[row["language"]]["words"]


@pytest.mark.parametrize("name", RECIPES)
def test_words_are_those_of_the_text_with_spaces(name: str) -> None:
    """How many distinct words there are, and how many of them are one token."""
    tokenizer = model(RECIPES[name])
    buckets = {language: [number % 32 for number in range(len(texts))] for language, texts in TEXTS.items()}
    spaced = {language: [text.replace("▁", " ") for text in texts] for language, texts in TEXTS.items()}
    found, expected = (
        pw.evaluate({"t": tokenizer}, pw.count_units(texts, buckets=buckets), metrics=["single_token_types"])
        for texts in (TEXTS, spaced)
    )
    assert found.metrics.rows() == expected.metrics.rows()
    assert found.metrics.rows()[0]["denominator"] > 0


def test_models_that_cannot_be_evaluated_on_counts() -> None:
    units = pw.count_units(TEXTS)
    for settings, why in (
        ({"treat_whitespace_as_suffix": True}, "whitespace after words"),
        ({"remove_extra_whitespaces": True, "add_dummy_prefix": False}, "the first word of a text is not known"),
    ):
        with pytest.raises(pw.ModelError, match=why):
            pw.evaluate({"t": model(settings)}, units)


def test_a_rule_that_removes_the_letters_after_a_mark_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rules.tsv").write_text("61\t\n")  # a becomes nothing
    settings = {"normalization_rule_tsv": str(tmp_path / "rules.tsv"), "remove_extra_whitespaces": True}
    tokenizer = model(settings)
    assert pw.evaluate({"t": tokenizer}, pw.count_units({"x": ["b▁ab a"]}))
    with pytest.raises(pw.ModelError, match='leaves a ▁ at the end of "b▁a"'):
        pw.evaluate({"t": tokenizer}, pw.count_units({"x": ["b▁a b"]}))
