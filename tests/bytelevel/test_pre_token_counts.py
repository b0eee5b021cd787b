"""Counts of pre-tokens: the same for any number of threads, order and batches, and not mistaken for word counts."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import piecework as pw
from bytelevel.fuzzed_texts import fuzzed_texts

TEXTS = [*fuzzed_texts(3_000, seed=5), "", "a" * 70_000, " " * 1000]


@pytest.mark.parametrize("name", pw.PreTokenizer.names())
def test_counts_are_those_of_the_pre_tokens(name: str) -> None:
    pre_tokenizer = pw.PreTokenizer(name)
    expected = Counter(part for text in TEXTS for part in pre_tokenizer.split(text))
    assert dict(pw.count_pre_tokens(TEXTS, pre_tokenizer=name).items()) == expected


def test_threads_order_batches_and_arrow_do_not_matter() -> None:
    counts = pw.count_pre_tokens(TEXTS, pre_tokenizer="o200k")
    shuffled = random.Random(1).sample(TEXTS, len(TEXTS))
    assert pw.count_pre_tokens(shuffled, pre_tokenizer="o200k", threads=3) == counts
    halves = [pw.count_pre_tokens(half, pre_tokenizer="o200k") for half in (TEXTS[:1000], TEXTS[1000:])]
    assert halves[0] + halves[1] == counts
    assert pw.count_pre_tokens(pa.array(TEXTS), pre_tokenizer="o200k") == counts
    assert pw.count_pre_tokens(pa.chunked_array([TEXTS[:5], TEXTS[5:]]), pre_tokenizer="o200k", threads=2) == counts
    assert pw.count_pre_tokens([text.encode() for text in TEXTS], pre_tokenizer="o200k") == counts


def test_invalid_bytes_are_replaced_and_reported() -> None:
    counts = pw.count_pre_tokens([b"a\xff\xfeb"], pre_tokenizer="gpt2")
    assert counts.invalid_bytes == 2
    assert dict(counts.items()) == {"a": 1, "��": 1, "b": 1}


def test_a_pattern_of_ones_own() -> None:
    pattern = pw.PreTokenizer("custom", pattern=r"\w+|\W")
    assert dict(pw.count_pre_tokens(["på på!", b"p\xc3\xa5"], pre_tokenizer=pattern).items()) == {
        "på": 3,
        " ": 1,
        "!": 1,
    }


def test_save_and_load(tmp_path: Path) -> None:
    counts = pw.count_pre_tokens(TEXTS, pre_tokenizer=pw.PreTokenizer("llama3", digits="right"))
    counts.save(tmp_path / "counts.parquet")
    loaded = pw.PreTokenCounts.load(tmp_path / "counts.parquet")
    assert loaded == counts
    assert loaded.pre_tokenizer == pw.PreTokenizer("llama3", digits="right")


def test_counts_of_one_kind_are_not_taken_for_the_other(tmp_path: Path) -> None:
    pw.count_words(["a b"]).save(tmp_path / "words.parquet")
    with pytest.raises(pw.InputError, match="not counts of pre-tokens; its columns are word, count"):
        pw.PreTokenCounts.load(tmp_path / "words.parquet")
    pw.count_pre_tokens(["a b"], pre_tokenizer="gpt2").save(tmp_path / "pre_tokens.parquet")
    with pytest.raises(pw.InputError, match="word counts have the columns word and count; here: pre_token, count"):
        pw.WordCounts.load(tmp_path / "pre_tokens.parquet")
    with pytest.raises(pw.InputError, match="counts of two pre-tokenizers cannot be added"):
        pw.count_pre_tokens(["a"], pre_tokenizer="gpt2") + pw.count_pre_tokens(["a"], pre_tokenizer="o200k")


def test_counts_past_64_bits_are_refused() -> None:
    counts = pw.PreTokenCounts.from_mapping({" a": 1 << 63}, pre_tokenizer="gpt2")
    with pytest.raises(pw.InputError, match="64 bits"):
        counts + counts
    with pytest.raises(pw.InputError, match="64 bits"):
        counts.scale(2)
    with pytest.raises(pw.InputError, match="whole number"):
        pw.PreTokenCounts.from_mapping({"a": -1}, pre_tokenizer="gpt2")


def test_bad_arguments() -> None:
    with pytest.raises(pw.InputError, match="write \\[text\\]"):
        pw.count_pre_tokens("text", pre_tokenizer="gpt2")
    with pytest.raises(pw.InputError, match="threads"):
        pw.count_pre_tokens(["text"], pre_tokenizer="gpt2", threads=0)
