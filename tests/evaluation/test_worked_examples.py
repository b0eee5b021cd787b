"""The metrics by hand: each test states the tokens of a text, and the numbers that follow from them."""

from math import log

import pytest

import piecework as pw
from evaluation.vocabularies import tokenizer_of

TOKENIZER = tokenizer_of(["ej", "▁h", "▁hej", "▁d", "▁du", "▁b"], "▁abdehjuH0123456789,!?")


def totals(text: str) -> dict[str, tuple[float, float]]:
    rows = pw.evaluate(TOKENIZER, pw.count_units({"x": [text]})).metrics.rows()
    return {row["metric"]: (row["numerator"], row["denominator"]) for row in rows}


def test_a_sentence() -> None:
    assert TOKENIZER.encode_pieces("Hej du, hej!") == ["▁", "H", "ej", "▁du", ",", "▁hej", "!"]
    assert TOKENIZER.encode_pieces("Hej du hej") == ["▁", "H", "ej", "▁du", "▁hej"]
    found = totals("Hej du, hej!")
    assert found["fertility"] == (5, 3)
    assert found["continued_words"] == (1, 3)
    assert found["word_fertility"] == (7, 3)
    assert found["split_words"] == (3, 3)  # H-ej, du-, and hej-!
    assert found["bytes_per_token"] == found["characters_per_token"] == (12, 7)
    assert found["unknown_rate"] == found["byte_rate"] == (0, 7)
    assert found["vocabulary_utilisation"] == (7, TOKENIZER.vocab_size)
    assert found["single_token_types"] == (0, 2)  # "du," and "hej!"; the first word has no space before it


def test_word_types() -> None:
    # Units of one space and one word: hej, du, hej again, and "hej.", which is two tokens.
    assert totals("a hej du\tdu du hej  du hej.")["single_token_types"] == (2, 3)


def test_indentation() -> None:
    assert TOKENIZER.encode_pieces("a\n    b") == ["▁", "a", "<0x0A>", "▁▁▁", "▁b"]
    found = totals("a\n    b")
    assert found["fertility"] == (5, 3)  # the run of spaces counts as a word
    assert found["continued_words"] == (1, 3)
    assert found["word_fertility"] == (5, 2)
    assert found["split_words"] == (0, 2)


def test_a_newline() -> None:
    assert TOKENIZER.encode_pieces("a\nb") == ["▁", "a", "<0x0A>", "b"]
    found = totals("a\nb")
    assert found["fertility"] == (4, 1)  # the word after the newline does not count
    assert found["word_fertility"] == (4, 2)
    assert found["byte_rate"] == (1, 4)


def test_digits() -> None:
    assert TOKENIZER.encode_pieces("2024") == ["▁", "2", "0", "2", "4"]
    found = totals("2024")
    assert found["fertility"] == (5, 1)
    assert found["continued_words"] == (1, 1)
    assert found["split_words"] == (1, 1)


def test_an_emoji_in_bytes() -> None:
    assert TOKENIZER.encode_pieces("😀") == ["▁", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>"]
    found = totals("😀")
    assert found["byte_rate"] == (4, 5)
    assert found["bytes_per_token"] == (4, 5)
    assert found["characters_per_token"] == (1, 5)
    assert found["split_words"] == (1, 1)


def test_punctuation_only() -> None:
    rows = pw.evaluate(TOKENIZER, pw.count_units({"x": ["?!"]})).metrics.rows()
    found = {row["metric"]: row for row in rows}
    for name in ("fertility", "continued_words"):  # nothing is left of the text
        assert found[name]["value"] is None
        assert (found[name]["numerator"], found[name]["denominator"]) == (0, 0)
    assert (found["word_fertility"]["numerator"], found["word_fertility"]["denominator"]) == (3, 1)


def test_an_empty_set() -> None:
    with pytest.raises(pw.InputError, match="no evaluation text in x"):
        evaluate_nothing()
    evaluation = pw.evaluate(TOKENIZER, pw.count_units({"empty": [], "x": ["hej"]}), sizes=[TOKENIZER.vocab_size])
    assert evaluation.without_text == ["empty"]
    for row in [*evaluation.metrics.where(language="empty").rows(), *evaluation.sizes.where(language="empty").rows()]:
        assert row["value"] is row["low"] is row["high"] is None


def evaluate_nothing() -> None:
    pw.evaluate(TOKENIZER, pw.count_units({"x": []}))


def test_renyi_efficiency() -> None:
    """Three tokens, each a third: the entropy of every order is log 3."""
    assert TOKENIZER.vocab_size == 3 + 256 + 6 + 22 + 23
    found = totals("hej du b")  # ▁hej ▁du ▁b
    numerator, denominator = found["renyi_efficiency"]
    assert (numerator, denominator) == pytest.approx((log(3), log(310)))


def test_smaller_sizes() -> None:
    evaluation = pw.evaluate({"t": TOKENIZER}, pw.count_units({"x": ["Hej du, hej!"]}), curves=True)
    curve = evaluation.curve("t", "x")
    # The text is "Hej du hej". The sizes have the first 0, 1, 2, … of the merges ej, ▁h, ▁hej, ▁d, ▁du, ▁b.
    assert curve.numerators.tolist() == [11, 9, 8, 7, 6, 5, 5]
    assert curve.denominators.tolist() == [3] * 7
    assert curve.vocab_sizes.tolist() == list(range(TOKENIZER.vocab_size - 6, TOKENIZER.vocab_size + 1))
    assert curve.gains(2).tolist() == pytest.approx([1, 2 / 3, 2 / 3, 2 / 3, 1 / 3])
    assert evaluation.curve("t", "x", "continued_words").numerators.tolist() == [3, 3, 3, 2, 2, 1, 1]


def test_overall_is_the_text_of_all_languages() -> None:
    texts = {
        "sv": [f"en katt ser {number} hundar, och hundarna ser den" for number in range(60)],
        "da": [f"en kat ser {number} hunde, og hundene ser den" for number in range(60)],
    }
    tokenizers = {
        name: pw.train(pw.count_words(each), pw.Recipe(vocab_size=40, hard_vocab_limit=False))
        for name, each in texts.items()
    }
    found = pw.evaluate(tokenizers, pw.count_units(texts), sizes={"sv": [35]}, overall=True)
    together = pw.evaluate(
        tokenizers, pw.count_units({"overall": [text for each in texts.values() for text in each]}), sizes={"sv": [35]}
    )
    assert found.groups == ["da", "sv"]
    assert found.metrics.where(language="overall").rows() == together.metrics.rows()
    assert found.sizes.where(language="overall").rows() == together.sizes.rows()
    for metric in ("fertility", "split_words"):
        curves = [each.curve("sv", "overall", metric).values.tolist() for each in (found, together)]
        assert curves[0] == curves[1]
    # Estimates by language are the same as without `overall`.
    alone = pw.evaluate(tokenizers, pw.count_units(texts))
    assert found.matrix("fertility").rows() == alone.matrix("fertility").rows()
    assert found.frequency_array("sv").tolist() == alone.frequency_array("sv").tolist()
    assert found.totals("da").rows() == alone.totals("da").rows()
