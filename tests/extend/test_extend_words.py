"""Extending a SentencePiece model equals continued BPE in plain Python, and the result works everywhere."""

from __future__ import annotations

import io
import random
from typing import Any

import numpy as np
import pytest
import sentencepiece

import piecework as pw
from extend.slow_extension import slow_extend
from piecework._core import Vocabulary
from piecework.tokenizer.reachable import reachable_pieces
from piecework.tokenizer.schema import NORMAL, TYPE_NUMBERS

LETTERS = ("ab", "abc", "abcde", "aåb", "abж", "ab1٣", "a\u0301be", "aカb漢")
META = ("<unk>", "<s>", "</s>", "<x>")


def random_words(rng: random.Random, letters: str) -> dict[str, int]:
    words: dict[str, int] = {}
    for _ in range(rng.randint(2, 14)):
        word = "".join(rng.choices(letters, k=rng.randint(1, 9)))
        if rng.random() < 0.15:
            word += rng.choice(META) + rng.choice(letters)
        words["▁" + word] = rng.choice((1, 1, 2, 3, 7))
    return words


def random_model(rng: random.Random, letters: str) -> tuple[pw.Tokenizer, dict[str, Any]]:
    """A trained model and its options. Some models are damaged: pieces are dropped, or scores are changed."""
    options: dict[str, Any] = {
        "max_sentencepiece_length": rng.choice((3, 5, 16)),
        "split_by_unicode_script": rng.random() < 0.7,
        "split_digits": rng.random() < 0.5,
        "split_by_number": rng.random() < 0.7,
        "character_coverage": rng.choice((0.98, 0.9995, 1.0)),
        "byte_fallback": rng.random() < 0.5,
        "user_defined_symbols": ["<x>"] if rng.random() < 0.5 else [],
    }
    size = 8 + 256 * options["byte_fallback"] + rng.randint(len(letters), 30)
    counts = pw.WordCounts.from_mapping(random_words(rng, letters))
    tokenizer = pw.train(counts, vocab_size=size, hard_vocab_limit=False, **options)
    texts, scores = list(tokenizer._texts), list(tokenizer._vocabulary.scores)
    types = list(tokenizer._vocabulary.types)
    merged = [i for i, text in enumerate(texts) if types[i] == NORMAL and len(text) > 1]
    damage = rng.choice(("none", "none", "shuffled", "dropped", "ties", "reserved"))
    if damage == "shuffled":
        for i, score in zip(merged, rng.sample([scores[i] for i in merged], len(merged)), strict=True):
            scores[i] = score
    elif damage == "ties":
        for i in merged:
            scores[i] = float(rng.randint(-3, 0))
    elif damage in ("dropped", "reserved"):
        for number, i in enumerate(rng.sample(merged, len(merged) // 3)):
            texts[i], types[i] = f"~{number}~", TYPE_NUMBERS["unused"]
    return pw.Tokenizer(Vocabulary(texts, scores, types), tokenizer._specs), options


def check(seed: int) -> int:
    rng = random.Random(seed)
    letters = rng.choice(LETTERS)
    tokenizer, options = random_model(rng, letters)
    words = random_words(rng, letters + rng.choice(("", "é")))
    counts = pw.WordCounts.from_mapping(words)
    add = rng.choice((1, 3, 20))
    coverage = options["character_coverage"] = rng.choice((0.0, 0.8, 0.95, 1.0))
    extended = pw.extend(tokenizer, counts, add=add, character_coverage=coverage)
    pieces = tokenizer.pieces
    scores = {piece.text: piece.score for piece in pieces if piece.type == "normal"}
    others = [piece.text for piece in pieces if piece.type != "normal"]
    assert [piece.text for piece in extended.added] == slow_extend(scores, others, words, add=add, **options), seed

    new = extended.tokenizer
    unused = [piece.id for piece in pieces if piece.type == "unused"]
    expected_ids = [*unused, *range(tokenizer.vocab_size, tokenizer.vocab_size + add)][: len(extended.added)]
    assert [piece.id for piece in extended.added] == expected_ids
    for old in pieces:
        if old.id not in expected_ids:
            assert new.pieces[old.id] == old
    assert extended.mapping == tuple(range(tokenizer.vocab_size))
    reached = reachable_pieces(new)
    assert all(reached[piece.id] for piece in extended.added), seed
    # A byte piece becomes unreachable when every character with this byte is a piece.
    is_text = np.array([piece.type in ("normal", "user_defined") for piece in pieces])
    assert np.all(reached[: tokenizer.vocab_size] >= reachable_pieces(tokenizer) & is_text), seed

    processor = sentencepiece.SentencePieceProcessor(model_proto=new.model_bytes)
    ids = {piece.id for piece in extended.added}
    samples = ["".join(rng.choices(letters + "é", k=rng.randint(1, 12))) for _ in range(20)]
    samples += [word.removeprefix("▁") for word in words]
    for text in samples:
        tokens = new.encode(text)
        assert tokens == processor.encode(text), (seed, text)
        if ids.isdisjoint(tokens):
            assert tokens == tokenizer.encode(text), (seed, text)
    for piece in extended.added:
        if piece.text.startswith("▁") and len(piece.text) > 1:
            assert list(piece.old_ids) == tokenizer.encode(piece.text[1:]), (seed, piece)
    half = pw.extend(tokenizer, counts, add=add // 2, character_coverage=coverage)
    assert half.added == extended.added[: add // 2]
    return len(extended.added)


@pytest.mark.parametrize("block", range(4))
def test_extending_equals_the_slow_definition(block: int) -> None:
    assert sum(check(seed) for seed in range(block * 40, block * 40 + 40)) > 150


def test_no_piece_gives_the_same_file() -> None:
    tokenizer = pw.train(["ein Haus und ein Hof"], vocab_size=24)
    again = pw.Tokenizer.from_bytes(tokenizer.model_bytes)
    assert pw.extend(again, ["et hus"], add=0).tokenizer.model_bytes == tokenizer.model_bytes
    assert pw.extend(again, ["zz"], add=9, character_coverage=0.0, minimum_frequency=5).added == ()


def test_own_counts_give_the_merges_of_the_larger_model() -> None:
    rng = random.Random(5)
    words = ["".join(rng.choices("abcdefg", weights=(9, 7, 5, 3, 2, 1, 1), k=rng.randint(1, 9))) for _ in range(3000)]
    counts = pw.count_words([" ".join(words)])
    small, large = (pw.train(counts, vocab_size=size) for size in (200, 600))
    extended = pw.extend(small, counts, add=400)
    assert [piece.text for piece in extended.added] == large._parts.merges[len(small._parts.merges) :]
    assert extended.tokenizer.encode(words) == [
        [extended.tokenizer.piece_to_id(piece) for piece in large.encode_pieces(word)] for word in words
    ]


def test_padding_adds_further_pieces() -> None:
    tokenizer = pw.train(["abc abd"], vocab_size=10)
    text = ["the cat sat on the mat with the hat and that was that for the cat"]
    assert pw.extend(tokenizer, text, add=5, pad_to_multiple=16).tokenizer.vocab_size == 16


def test_other_kinds_are_refused_with_the_reason() -> None:
    suffix = pw.train(["ab ab"], vocab_size=6, treat_whitespace_as_suffix=True, hard_vocab_limit=False)
    with pytest.raises(pw.ModelError, match="treat_whitespace_as_suffix"):
        pw.extend(suffix, ["ab"], add=1)
    plain = pw.train(["ab ab"], vocab_size=6)
    with pytest.raises(pw.InputError, match="pre-tokens"):
        pw.extend(plain, pw.count_pre_tokens(["ab"], pre_tokenizer="gpt2"), add=1)
    nfkc = pw.count_words(["ab"], normalization=pw.Recipe(normalization_rule_name="nfkc").normalization())
    with pytest.raises(pw.InputError, match="normalisation"):
        pw.extend(plain, nfkc, add=1)
    with pytest.raises(pw.ModelError, match="cannot be extended"):
        pw.extend(object(), ["ab"], add=1)  # type: ignore[call-overload]


def test_a_unigram_model_is_refused() -> None:
    data = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["ab abc abcd bcd"] * 9), model_writer=data, vocab_size=9, model_type="unigram"
    )
    from piecework.tokenizer.outside_sentencepiece import load_model

    with pytest.raises(pw.ModelError, match="cannot be extended: SentencePiece unigram has no merges"):
        pw.extend(load_model(data.getvalue(), source="x.model"), ["ab"], add=1)  # type: ignore[call-overload]
