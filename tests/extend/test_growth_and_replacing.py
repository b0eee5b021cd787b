"""Tokens for every number of added pieces, and replacing old pieces by new ones."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import sentencepiece
import tokenizers

import piecework as pw
from extend.test_extend_byte_level import random_tokenizer
from extend.test_extend_byte_level import random_words as random_pre_tokens
from extend.test_extend_words import LETTERS, random_model, random_words
from piecework.evaluation.growth import growth
from piecework.evaluation.text_sample import document_sample, unit_sample
from piecework.tokenizer.reachable import reachable_pieces


def texts_of(rng: random.Random, letters: str) -> list[str]:
    return [
        " ".join("".join(rng.choices(letters, k=rng.randint(1, 8))) for _ in range(rng.randint(1, 6)))
        for _ in range(30)
    ]


def check_growth(tokenizer: Any, counts: Any, texts: list[str], seed: int) -> None:
    extended = pw.extend(tokenizer, counts, add=12)
    found = growth(extended, {"x": document_sample(texts)})["x"]
    assert found.words.sum() == sum(len(text.split()) for text in texts)
    assert found.bytes.sum() == sum(len(text.encode()) for text in texts)
    for number in range(len(extended.added) + 1):
        smaller = pw.extend(tokenizer, counts, add=number).tokenizer
        expected = sum(map(len, smaller.encode_batch(texts)))
        assert found.tokens[:, number].sum() == expected, (seed, number)
    assert found.before.tolist() == found.tokens[:, 0].tolist()


def test_every_number_of_pieces_is_that_of_extending_by_it() -> None:
    for seed in range(25):
        rng = random.Random(seed)
        letters = rng.choice(LETTERS[:5])
        tokenizer, _ = random_model(rng, letters)
        texts = texts_of(rng, letters)
        if tokenizer._specs.trainer_spec.byte_fallback:  # without it, unknown neighbours are one token
            check_growth(tokenizer, pw.WordCounts.from_mapping(random_words(rng, letters)), texts, seed)
        counts = pw.PreTokenCounts.from_mapping(random_pre_tokens(rng, letters), pre_tokenizer="gpt2")
        check_growth(random_tokenizer(rng, letters), counts, texts, seed)


def test_units_of_a_study_count_like_documents() -> None:
    rng = random.Random(1)
    texts = texts_of(rng, "abcd")
    tokenizer = pw.train(texts, vocab_size=30)
    extended = pw.extend(tokenizer, [*texts, "dada dada"], add=20)
    units = unit_sample(pw.count_units({"x": texts}).evaluation(["x"]))
    by_unit = growth(extended, {"x": units})["x"]
    by_document = growth(extended, {"x": document_sample(texts)})["x"]
    assert by_unit.tokens.sum(axis=0).tolist() == by_document.tokens.sum(axis=0).tolist()
    assert by_unit.words.sum() == by_document.words.sum()
    assert by_document.interval(20) is not None
    low, high = by_document.length_interval() or (0, 0)
    assert low <= float(np.divide(by_document.tokens[:, -1].sum(), by_document.before.sum())) <= high


def replaced(tokenizer: Any, counts: Any, add: int) -> Any:
    try:
        return pw.extend(tokenizer, counts, add=add, replace=True)
    except pw.InputError as error:
        assert "can be replaced" in str(error)
        return None


def test_replacing_keeps_the_size_and_what_merges_need() -> None:
    found = 0
    for seed in range(60):
        rng = random.Random(seed)
        letters = rng.choice(LETTERS[:5])
        tokenizer, _ = random_model(rng, letters)
        counts = pw.WordCounts.from_mapping(random_words(rng, letters))
        extended = replaced(tokenizer, counts, rng.choice((1, 3)))
        if extended is None or not extended.dropped:
            continue
        found += 1
        new = extended.tokenizer
        grown = pw.extend(tokenizer, counts, add=len(extended.added))
        assert new.vocab_size == tokenizer.vocab_size
        assert [piece.text for piece in extended.added] == [piece.text for piece in grown.added]
        gone = {piece.id for piece in extended.dropped}
        for old, number in zip(tokenizer.pieces, extended.mapping, strict=True):
            assert (number is None) == (old.id in gone)
            if old.id not in gone and old.type != "unused":
                assert new.pieces[old.id] == old
        before, after = reachable_pieces(tokenizer), reachable_pieces(new)
        assert all(after[piece.id] for piece in extended.added), seed
        of_text = [piece.type in ("normal", "user_defined") for piece in tokenizer.pieces]
        kept = [number for number in range(len(of_text)) if of_text[number] and number not in gone]
        assert all(after[number] for number in kept if before[number]), seed
        processor = sentencepiece.SentencePieceProcessor(model_proto=new.model_bytes)
        for text in texts_of(rng, letters):
            assert new.encode(text) == processor.encode(text), seed
        report = growth(extended, {"x": document_sample(texts_of(rng, letters))})["x"]
        assert report.before.sum() > 0
    assert found > 25


def test_replacing_in_a_byte_level_tokenizer() -> None:
    found = 0
    for seed in range(60):
        rng = random.Random(seed)
        letters = rng.choice(LETTERS[:5])
        tokenizer = random_tokenizer(rng, letters)
        counts = pw.PreTokenCounts.from_mapping(random_pre_tokens(rng, letters), pre_tokenizer="gpt2")
        if tokenizer.model.merges is None:
            with pytest.raises(pw.ModelError, match="an id is a rank"):
                pw.extend(tokenizer, counts, add=2, replace=True)
            continue
        extended = replaced(tokenizer, counts, 2)
        if extended is None or not extended.dropped:
            continue
        found += 1
        assert extended.tokenizer.vocab_size == tokenizer.vocab_size
        loaded = tokenizers.Tokenizer.from_str(extended.tokenizer.json_bytes.decode())
        loaded.encode_special_tokens = True
        for text in texts_of(rng, letters):
            assert extended.tokenizer.encode(text) == loaded.encode(text).ids, seed
        merges = extended.tokenizer.model.merges
        made = {merged for _, _, merged in merges} | set(range(257))
        assert all(left in made and right in made for left, right, _ in merges)
    assert found > 10


def test_the_least_used_go_by_their_use_in_the_given_text() -> None:
    tokenizer = pw.train(["hund katt hund katt fisk fisk"], vocab_size=24)
    fish, dogs = (pw.extend(tokenizer, ["xyxy"], add=3, replace=True, usage=[text]) for text in ("hund katt", "fisk"))
    assert {piece.text for piece in fish.dropped}.isdisjoint({"▁hund", "▁katt"})
    assert "▁fisk" not in {piece.text for piece in dogs.dropped}
