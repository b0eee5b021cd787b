"""Examples: for any text, the segments together are the text."""

import pytest

import adversarial
import piecework as pw
from evaluation.vocabularies import tokenizer_of


def test_an_example() -> None:
    tokenizer = tokenizer_of(["ej", "▁h", "▁hej"], "▁hej")
    example = pw.examples({"t": tokenizer}, {"greeting": "hej 😀\n  hej"})[0]
    assert example.pieces[:2] == ["▁hej", "▁"]
    assert [segment.text for segment in example.segments] == ["hej", " ", "😀", "\n", " ", " hej"]
    assert example.segments[2].pieces == ("<0xF0>", "<0x9F>", "<0x98>", "<0x80>")
    assert example.ids == tokenizer.encode(example.text)
    found = example.to_dict()
    assert found["title"] == "greeting"
    assert found["segments"][2]["ids"] == example.segments[2].ids
    assert len(found["ids"]) == len(found["pieces"]) == len(found["offsets"])


@pytest.mark.parametrize("byte_fallback", [True, False])
def test_segments_cover_the_text(byte_fallback: bool) -> None:
    texts = [adversarial.text(seed).replace("\0", "") for seed in range(100)] + ["", " ", "😀", "a"]
    recipe = pw.Recipe(vocab_size=800, hard_vocab_limit=False, byte_fallback=byte_fallback, character_coverage=0.98)
    tokenizer = pw.train(pw.count_words(texts), recipe)
    for example in pw.examples(tokenizer, texts):
        assert "".join(segment.text for segment in example.segments) == example.text
        assert [number for segment in example.segments for number in segment.ids] == example.ids
