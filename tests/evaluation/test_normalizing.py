"""Models that normalise text: totals from counted units equal those of SentencePiece on whole documents."""

import re
from collections import Counter
from typing import Any

import pytest
import sentencepiece

import piecework as pw
from evaluation.direct import SIZE_TOTALS, owners_of_bytes, processor
from installed_text import SCRIPTS, translations

LANGUAGES = tuple(SCRIPTS)[::3]
RECIPES: dict[str, dict[str, Any]] = {
    "defaults": {"normalization_rule_name": "nmt_nfkc", "remove_extra_whitespaces": True},
    "unknown": {"normalization_rule_name": "nfkc_cf", "remove_extra_whitespaces": True, "byte_fallback": False},
    "spaces": {"remove_extra_whitespaces": True},
    "nfkc": {"normalization_rule_name": "nfkc"},
    "nfc": {"normalization_rule_name": "nfc", "whitespace_runs": "paper"},
    "symbols": {
        "normalization_rule_name": "nmt_nfkc",
        "remove_extra_whitespaces": True,
        "user_defined_symbols": ["ﬁ", "</", "½"],
    },
}


def documents(language: str) -> list[str]:
    """Translations joined with line breaks, tabs and runs of spaces, and with characters that rules change."""
    texts = translations(language)[:400]
    end = "  ﬁn\u00a0Ａ ½ </b>\t \n "
    return [
        ("  " if i % 3 else "") + "\n".join(texts[i : i + 3]).replace("▁", " ") + end * (i % 4)
        for i in range(0, len(texts), 3)
    ]


@pytest.fixture(scope="module")
def texts() -> dict[str, list[str]]:
    return {language: documents(language) for language in LANGUAGES}


def count_directly(tokenizer: pw.Tokenizer, texts: list[str]) -> Counter[str]:
    """The definitions on whole documents; words are those of the normalised text."""
    model = processor(tokenizer)
    normalizer = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model_bytes)
    totals: Counter[str] = Counter()
    for text in texts:
        ids, pieces = model.encode(text), model.encode(text, out_type=str)
        totals["tokens"] += len(ids)
        for number, piece in enumerate(pieces):
            totals["unknown"] += model.is_unknown(ids[number])
            totals["byte_tokens"] += model.is_byte(ids[number])
            if piece.startswith("▁"):
                totals["starts"] += 1
                totals["continued"] += number + 1 < len(pieces) and not pieces[number + 1].startswith("▁")
        normalized = normalizer.normalize(text).replace("▁", " ")
        owners = owners_of_bytes(model, ids, pieces)
        assert len(owners) == len(normalized.encode())
        for word in re.finditer(r"\S+", normalized):
            start, end = (len(normalized[:at].encode()) for at in word.span())
            totals["split_words"] += len(set(owners[start:end])) > 1
    return totals


@pytest.mark.parametrize("name", RECIPES)
def test_totals_of_every_size(name: str, texts: dict[str, list[str]]) -> None:
    base = {"vocab_size": 2_500, "hard_vocab_limit": False, "byte_fallback": True, "character_coverage": 0.999}
    recipe = pw.Recipe(**{**base, **RECIPES[name]})
    lines = [text for found in texts.values() for text in found]
    tokenizer = pw.train(pw.count_words(lines, normalization=recipe.normalization()), recipe)
    size = tokenizer.vocab_size - 300
    smaller = tokenizer.resize(size)
    evaluation = pw.evaluate({"t": tokenizer}, pw.count_units(texts), sizes=[size], threads=2)
    rows = {row["language"]: row for row in evaluation.totals("t").rows()}
    sizes = evaluation._result("t").totals["eval"].sizes
    assert sizes is not None
    for group, (language, found) in enumerate(sorted(texts.items())):
        direct = count_directly(tokenizer, found)
        assert {total: rows[language][total] for total in direct} == dict(direct), (name, language)
        expected = count_directly(smaller, found)
        assert sizes[group, :, 0].sum(axis=0).tolist() == [expected[total] for total in SIZE_TOTALS], (name, language)
        assert rows[language]["bytes"] == sum(len(text.encode()) for text in found)


def test_models_whose_tokens_do_not_follow_from_units() -> None:
    texts = {"en": ["a\u00a0 b  c", "a b c d"]}

    def evaluate(**settings: Any) -> None:
        recipe = pw.Recipe(vocab_size=40, hard_vocab_limit=False, **settings)
        counts = pw.count_words(texts["en"], normalization=recipe.normalization())
        pw.evaluate({"t": pw.train(counts, recipe)}, pw.count_units(texts))

    evaluate(normalization_rule_name="nfkc", whitespace_runs="paper", remove_extra_whitespaces=True)
    with pytest.raises(pw.ModelError, match=r"a space at the end of .* keeps extra whitespace; count"):
        evaluate(normalization_rule_name="nfkc", whitespace_runs="paper")
    with pytest.raises(pw.ModelError, match="the first word of a text is not known"):
        evaluate(remove_extra_whitespaces=True, add_dummy_prefix=False)
