"""Three ways to one vocabulary: ours, SentencePiece's, and forty lines of Python that can be read."""

from collections.abc import Callable, Sequence

import pytest

import adversarial
import oracle
import piecework as pw
from sentencepiece_oracle import limits, load, parse, sp_train

SEEDS = range(5_000, 5_064)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("corpus", [adversarial.corpus, adversarial.corpus_bytes], ids=["text", "bytes"])
def test_three_ways(corpus: Callable[[int], Sequence[str | bytes]], seed: int) -> None:
    lines = corpus(seed)
    options = adversarial.options(seed)
    allowed = limits(lines, **options)
    options["vocab_size"] = adversarial.vocab_size(seed, allowed.smallest, allowed.largest)
    recipe = pw.Recipe(**options)
    ours = pw.train(pw.count_words(lines), recipe)
    theirs = sp_train(lines, recipe)
    merges, required = oracle.train(lines, **options)

    assert [piece.text for piece in ours.pieces if piece.type == "normal"] == merges + required
    assert [piece.piece for piece in parse(theirs).pieces if piece.type == piece.NORMAL] == merges + required

    processor = load(theirs)
    scores = {piece.text: piece.score for piece in ours.pieces if piece.type == "normal"}
    names = ("user_defined_symbols", "add_dummy_prefix", "byte_fallback")
    encoding = {name: options[name] for name in names if name in options}
    for text in map(adversarial.text, range(seed * 10, seed * 10 + 10)):
        expected = oracle.encode(scores, text, **encoding)
        assert ours.encode_pieces(text) == expected
        assert processor.encode(text, return_type=str) == expected


def test_by_hand() -> None:
    # ab occurs 3 times, ▁a twice; then ▁ab twice; then ▁abab once.
    assert oracle.train(["abab ab"], vocab_size=9) == (["ab", "▁ab", "▁abab"], ["a", "b", "▁"])
    scores = {"ab": -0.0, "▁ab": -1.0, "▁abab": -2.0, "a": -3.0, "b": -4.0, "▁": -5.0}
    assert oracle.encode(scores, "ababab  b") == ["▁abab", "ab", "▁", "▁", "b"]
