"""Encoding and decoding give what SentencePiece gives, for our models and for models of others."""

import random
from collections.abc import Callable, Mapping
from functools import cache
from itertools import chain
from typing import Any

import pytest

import adversarial
import piecework as pw
from sentencepiece_oracle import (
    assert_same_ids,
    encode_batch,
    load,
    parse,
    sp_train_with,
    tokens,
)
from thinned import thinned

ORDERS = ["paper", "portable"]


@pytest.fixture(scope="module")
def lines(stdlib_sources: list[str]) -> list[str]:
    """About 1 MB of code, and text in many scripts with all difficult cases."""
    code = [line.rstrip("\r") for source in stdlib_sources[::30] for line in source.split("\n")]
    hard = [line for seed in range(400) for line in adversarial.corpus(seed)]
    return [line for line in code + hard if line]


@pytest.fixture(scope="module")
def random_texts() -> list[str]:
    return [adversarial.text(seed) for seed in range(10_000)]


@pytest.fixture(scope="module")
def nordic(corpus: Mapping[str, list[str]]) -> pw.Tokenizer:
    """The paper's tokenizer on the whole corpus, or on a third of its documents."""
    counts = pw.count_words((text for stem in corpus for text in thinned(corpus[stem], 3)), threads=2)
    return pw.train(counts, pw.Recipe.gpt_sw3(vocab_size=64_000))


@pytest.mark.slow
def test_the_corpus(stem: str, corpus: Mapping[str, list[str]], nordic: pw.Tokenizer) -> None:
    texts = thinned(corpus[stem], 4)
    theirs = encode_batch(load(nordic.model_bytes), texts)
    assert_same_ids(texts, nordic.encode_batch(texts, threads=2), theirs)


def test_the_corpus_in_portable_order(corpus: Mapping[str, list[str]]) -> None:
    counts = pw.count_words(corpus["manual_da"], threads=2)
    portable = pw.train(counts, pw.Recipe.gpt_sw3(vocab_size=16_000, whitespace_runs="portable"))
    texts = [text for stem in corpus for text in corpus[stem][::20]]
    theirs = encode_batch(load(portable.model_bytes), texts)
    assert_same_ids(texts, portable.encode_batch(texts, threads=2), theirs)


@pytest.fixture(scope="module", params=ORDERS)
def with_runs(request: pytest.FixtureRequest, lines: list[str]) -> pw.Tokenizer:
    recipe = pw.Recipe.gpt_sw3(vocab_size=6_000, whitespace_runs=request.param)
    return pw.train(pw.count_words(lines, threads=2), recipe)


@pytest.mark.slow
def test_the_standard_library(with_runs: pw.Tokenizer, stdlib_sources: list[str]) -> None:
    sources = thinned(stdlib_sources, 5)
    theirs = encode_batch(load(with_runs.model_bytes), sources)
    assert_same_ids(sources, with_runs.encode_batch(sources, threads=2), theirs)


def test_random_texts(with_runs: pw.Tokenizer, random_texts: list[str]) -> None:
    theirs = encode_batch(load(with_runs.model_bytes), random_texts)
    assert_same_ids(random_texts, with_runs.encode_batch(random_texts, threads=2), theirs)
    assert_same_ids(random_texts, [with_runs.encode(text) for text in random_texts], theirs)


@pytest.mark.parametrize("length", [*range(1, 60), 100, 1_000, 4_096])
def test_runs_of_spaces(length: int, with_runs: pw.Tokenizer) -> None:
    processor = load(with_runs.model_bytes)
    for pattern in ("{}", "a{}", "{}a", "a{}b", "{}\n{}x", "def f():\n{}return", "{}<|python|>{}"):
        text = pattern.format(*[" " * length] * 2)
        assert with_runs.encode(text) == processor.encode(text)


def test_round_trip(with_runs: pw.Tokenizer, random_texts: list[str]) -> None:
    # A literal ▁ comes back as a space, in SentencePiece as well.
    texts = [text for text in random_texts if "▁" not in text]
    assert [with_runs.decode(ids) for ids in with_runs.encode_batch(texts)] == texts


def test_long_texts_without_a_space(with_runs: pw.Tokenizer) -> None:
    processor = load(with_runs.model_bytes)
    rng = random.Random(1)
    letters = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz_.()", k=200_000))
    for text in ("a" * 100_001, "ab" * 50_000, "字" * 20_000, "=" * 65_537, letters):
        assert_same_ids([text], [with_runs.encode(text)], [processor.encode(text)])


# Models that SentencePiece trained. Each name stands for arguments of SentencePiece, or for a change that is made
# to its model afterwards.

IDENTITY = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
BYTES = IDENTITY | {"byte_fallback": True}
FOREIGN: dict[str, dict[str, Any]] = {
    "defaults": {},  # nmt_nfkc, extra spaces removed, no bytes: unknown characters are <unk>, merged
    "nfkc": {"normalization_rule_name": "nfkc", "byte_fallback": True},
    "nfkc_cf, spaces kept": {"normalization_rule_name": "nfkc_cf", "remove_extra_whitespaces": False},
    "nmt_nfkc_cf": {"normalization_rule_name": "nmt_nfkc_cf", "add_dummy_prefix": False},
    "extra spaces removed": BYTES | {"remove_extra_whitespaces": True},
    "no bytes": IDENTITY,
    "no prefix": BYTES | {"add_dummy_prefix": False},
    "across spaces": BYTES | {"split_by_whitespace": False},
    "across spaces, nfkc": {"split_by_whitespace": False},
    "spaces at the end": BYTES | {"treat_whitespace_as_suffix": True},
    "spaces at the end, nfkc": {"treat_whitespace_as_suffix": True},
    "learned runs": BYTES | {"allow_whitespace_only_pieces": True},
    "learned runs at the end": {"allow_whitespace_only_pieces": True, "treat_whitespace_as_suffix": True} | BYTES,
    "symbols": BYTES | {"user_defined_symbols": ["aa", "a", "▁self", "<s>", "\u0301", "😀"]},
    "symbols with spaces": IDENTITY | {"user_defined_symbols": ["▁▁", "a▁b", "x▁", "in the", "▁def▁", "▁"]},
    "symbols, nfkc": {"user_defined_symbols": ["ａ", "①", "▁a", "  ", "a b", "<|python|>"]},
    "other special ids": IDENTITY | {"pad_id": 0, "unk_id": 3, "bos_id": -1, "eos_id": 1, "unk_surface": "?"},
    "control symbols": BYTES | {"control_symbols": ["<c>", "self", "<mask>"]},
}


def _equal_scores(model: Any) -> None:
    for index, piece in enumerate(model.pieces):
        if piece.type == piece.NORMAL:
            piece.score = [-1.0, -2.5, -7.0][index % 3]


def _rising_scores(model: Any) -> None:
    for index, piece in enumerate(model.pieces):
        if piece.type == piece.NORMAL:
            piece.score = index - 1000.25  # from below zero to above it


def _missing_characters(model: Any) -> None:
    for index in reversed(range(len(model.pieces))):
        piece = model.pieces[index]
        if piece.type == piece.NORMAL and len(piece.piece) == 1 and index % 2:
            del model.pieces[index]


def _unused_pieces(model: Any) -> None:
    for index, piece in enumerate(model.pieces):
        if piece.type == piece.NORMAL and len(piece.piece) > 1 and index % 3 == 0:
            piece.type = piece.UNUSED


EDITED: dict[str, Callable[[Any], None]] = {
    "edited: equal scores": _equal_scores,
    "edited: rising scores": _rising_scores,
    "edited: missing characters": _missing_characters,
    "edited: unused pieces": _unused_pieces,
}


@pytest.fixture(scope="module")
def foreign_model(lines: list[str]) -> Callable[[str], bytes]:
    @cache
    def make(name: str) -> bytes:
        arguments = {"vocab_size": 3_000, "max_sentence_length": 2**30} | FOREIGN.get(name, BYTES)
        model = sp_train_with(lines, model_type="bpe", **arguments)
        if name in EDITED:
            proto = parse(model)
            EDITED[name](proto)
            model = bytes(proto.SerializeToString())
        return model

    return make


@pytest.mark.parametrize("name", [*FOREIGN, *EDITED])
class TestForeignModels:
    def test_ids(
        self,
        name: str,
        foreign_model: Callable[[str], bytes],
        random_texts: list[str],
        stdlib_sources: list[str],
    ) -> None:
        model = foreign_model(name)
        texts = random_texts[:4_000] + stdlib_sources[7::60]
        theirs = encode_batch(load(model), texts)
        assert_same_ids(texts, pw.Tokenizer.from_bytes(model).encode_batch(texts, threads=2), theirs)

    def test_pieces_and_offsets(
        self, name: str, foreign_model: Callable[[str], bytes], random_texts: list[str]
    ) -> None:
        model = foreign_model(name)
        tokenizer, processor = pw.Tokenizer.from_bytes(model), load(model)
        for text in random_texts[4_000:4_700]:
            ours, theirs = tokenizer.tokens(text), tokens(processor, text)
            assert [token.id for token in ours] == theirs.ids
            assert [token.piece for token in ours] == theirs.pieces
            assert [(token.start, token.end) for token in ours] == theirs.offsets
            assert tokenizer.encode_pieces(text) == processor.encode(text, return_type=str)

    def test_decode(self, name: str, foreign_model: Callable[[str], bytes], random_texts: list[str]) -> None:
        model = foreign_model(name)
        tokenizer, processor = pw.Tokenizer.from_bytes(model), load(model)
        for text in random_texts[5_000:5_700]:
            ids = processor.encode(text)
            assert tokenizer.decode(ids) == processor.decode(ids)

    def test_decode_random_ids(self, name: str, foreign_model: Callable[[str], bytes]) -> None:
        model = foreign_model(name)
        tokenizer, processor = pw.Tokenizer.from_bytes(model), load(model)
        rng = random.Random(name)
        starts_with_space = [piece.id for piece in tokenizer.pieces if piece.text.startswith("▁")]
        for _ in range(700):
            low = [rng.randrange(300) for _ in range(rng.choice([1, 2, 6]))]  # special pieces and bytes
            any_ = [rng.randrange(tokenizer.vocab_size) for _ in range(rng.choice([0, 1, 5]))]
            spaces = rng.choices(starts_with_space, k=rng.choice([0, 0, 1, 2]))
            ids = list(chain(*rng.sample([low, any_, spaces], 3)))
            assert tokenizer.decode(ids) == processor.decode(ids), ids

    def test_saved_as_it_was(self, name: str, foreign_model: Callable[[str], bytes]) -> None:
        model = foreign_model(name)
        assert pw.Tokenizer.from_bytes(model).model_bytes == model


def test_an_id_out_of_range_is_an_error(with_runs: pw.Tokenizer) -> None:
    for wrong in (-1, with_runs.vocab_size, 10**9):
        with pytest.raises(pw.PieceworkError):
            with_runs.decode([5, wrong])


def test_nothing_gives_nothing(with_runs: pw.Tokenizer) -> None:
    assert with_runs.encode("") == []
    assert with_runs.encode_batch([]) == []
    assert with_runs.decode([]) == ""


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_threads(threads: int, with_runs: pw.Tokenizer, random_texts: list[str]) -> None:
    expected = [with_runs.encode(text) for text in random_texts[:2_000]]
    assert with_runs.encode_batch(random_texts[:2_000], threads=threads) == expected
