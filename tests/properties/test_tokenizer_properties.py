"""Properties of any text and of tokenizers trained on it: round trips, offsets, sizes, batches."""

from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adversarial
import piecework as pw
from properties.texts import documents, texts

KINDS: dict[str, dict[str, Any]] = {
    "paper": {},
    "portable": {"whitespace_runs": "portable"},
    "no runs": {"whitespace_runs": None},
    "no prefix": {"add_dummy_prefix": False},
    "symbols": {"user_defined_symbols": ["<|python|>", "ab", "▁och", "▁"]},
}


@cache
def tokenizer(kind: str) -> pw.Tokenizer:
    lines = [line for seed in range(60) for line in adversarial.corpus(seed)]
    return pw.train(pw.count_words([*lines, "the och    ab aba"]), pw.Recipe.gpt_sw3(vocab_size=1_000, **KINDS[kind]))


@cache
def without_bytes() -> pw.Tokenizer:
    return pw.train(pw.count_words(["aba ab the och å"] * 3), pw.Recipe(vocab_size=25))


@pytest.mark.parametrize("kind", KINDS)
@given(text=texts)
def test_round_trip(kind: str, text: str) -> None:
    """With byte fallback every text comes back. Only a literal ▁ becomes a space."""
    ids = tokenizer(kind).encode(text)
    assert tokenizer(kind).decode(ids) == text.replace("▁", " ")
    assert all(0 <= piece < tokenizer(kind).vocab_size for piece in ids)


@pytest.mark.parametrize("kind", KINDS)
@given(text=texts)
def test_what_comes_back_is_encoded_the_same(kind: str, text: str) -> None:
    ids = tokenizer(kind).encode(text)
    assert tokenizer(kind).encode(tokenizer(kind).decode(ids)) == ids


@pytest.mark.parametrize("kind", KINDS)
@given(text=texts)
def test_pieces_put_together_are_the_text(kind: str, text: str) -> None:
    pieces = [tokenizer(kind).pieces[piece] for piece in tokenizer(kind).encode(text)]
    assert tokenizer(kind).encode_pieces(text) == [piece.text for piece in pieces]
    spelt = b"".join(bytes.fromhex(p.text[3:5]) if p.type == "byte" else p.text.encode() for p in pieces)
    prefix = "" if kind == "no prefix" or not text else "▁"
    assert spelt.decode() == prefix + text.replace(" ", "▁")


@given(text=texts)
def test_pieces_without_bytes(text: str) -> None:
    pieces = without_bytes().encode_pieces(text)
    assert "".join(pieces) == ("▁" if text else "") + text.replace(" ", "▁")
    ids = without_bytes().encode(text)
    assert not any(a == b == 0 for a, b in pairwise(ids)), "a run of unknown characters is one token"


@pytest.mark.parametrize("kind", KINDS)
@given(text=texts)
def test_tokens_tile_the_text(kind: str, text: str) -> None:
    tokens = tokenizer(kind).tokens(text)
    assert [token.id for token in tokens] == tokenizer(kind).encode(text)
    places = [0, *(place for token in tokens for place in (token.start, token.end)), len(text)]
    assert all(end == start for end, start in zip(places[::2], places[1::2], strict=True))
    assert places == sorted(places)
    for token in tokens:
        if tokenizer(kind).pieces[token.id].type != "byte":
            assert text[token.start : token.end].replace(" ", "▁") in (token.piece, token.piece.removeprefix("▁"))


@pytest.mark.parametrize("kind", KINDS)
@given(batch=documents, threads=st.integers(1, 5))
def test_a_batch_is_its_texts(kind: str, batch: list[str], threads: int) -> None:
    one_by_one = [tokenizer(kind).encode(text) for text in batch]
    assert tokenizer(kind).encode_batch(batch, threads=threads) == one_by_one
    assert tokenizer(kind).encode_batch([text.encode() for text in batch], threads=threads) == one_by_one


@given(texts, texts)
def test_lines_are_encoded_on_their_own(first: str, second: str) -> None:
    """No piece reaches across a newline, since none was trained with one."""
    model = tokenizer("no prefix")
    newline = model.encode("\n")
    assert model.encode(f"{first}\n{second}") == model.encode(first) + newline + model.encode(second)


@settings(max_examples=60)
@given(documents, st.booleans(), st.sampled_from([None, "paper", "portable"]), st.data())
def test_sizes_nest(lines: list[str], prefix: bool, runs: Any, data: st.DataObject) -> None:
    options = {"add_dummy_prefix": prefix, "whitespace_runs": runs, "character_coverage": 1.0}
    counts = pw.count_words([*lines, "abab ab"])
    largest = pw.train(counts, pw.Recipe(vocab_size=2_000, hard_vocab_limit=False, **options))
    regular = [piece for piece in largest.pieces if piece.group == "regular"]
    size = largest.vocab_size - data.draw(st.integers(0, len(regular)))
    small = largest.resize(size)
    assert small.vocab_size == size
    again = pw.train(counts, pw.Recipe(vocab_size=size, hard_vocab_limit=False, **options))
    assert small.model_bytes == again.model_bytes
    kept = [piece.text for piece in small.pieces if piece.group == "regular"]
    assert kept == [piece.text for piece in regular[: len(kept)]]


@settings(max_examples=60)
@given(documents, st.integers(1, 10**12), st.randoms(use_true_random=False))
def test_training_takes_no_notice_of_order_and_weight(lines: list[str], factor: int, random: Any) -> None:
    """Counts that are all multiplied by the same factor give the same vocabulary."""
    lines = [*lines, "abab ab"]
    recipe = pw.Recipe(vocab_size=40, hard_vocab_limit=False, character_coverage=0.98)
    try:
        expected = pw.train(pw.count_words(lines), recipe).model_bytes
    except pw.RecipeError:  # more characters than pieces
        recipe = recipe.model_copy(update={"vocab_size": 1_000})
        expected = pw.train(pw.count_words(lines), recipe).model_bytes
    shuffled = sorted(lines, key=lambda _: random.random())
    assert pw.train(pw.count_words(shuffled), recipe).model_bytes == expected
    assert pw.train(pw.count_words(lines).scale(factor), recipe).model_bytes == expected


@settings(max_examples=60)
@given(documents)
def test_every_word_of_the_training_text_can_be_spelt(lines: list[str]) -> None:
    """With full coverage and no NUL, tab or special piece in the text, nothing in it is unknown."""
    lines = [line for line in [*lines, "a"] if not {"\0", "\t", "▅", "\n"} & set(line) and "<s>" not in line]
    model = pw.train(pw.count_words(lines), pw.Recipe(vocab_size=1_000, hard_vocab_limit=False, character_coverage=1.0))
    for line in lines:
        assert 0 not in model.encode(line)
        assert model.decode(model.encode(line)) == line.replace("▁", " ")
