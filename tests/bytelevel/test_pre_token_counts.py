"""Counts of pre-tokens: the same for any number of threads, order and batches, and not mistaken for word counts."""

from __future__ import annotations

import gzip
import random
from collections import Counter
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pytest

import piecework as pw
from bytelevel.fuzzed_texts import fuzzed_texts
from bytelevel.hugging_face import hf_train, saved_bytes

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


def test_lines_of_files_are_those_of_hugging_face(tmp_path: Path) -> None:
    """A line with its newline is a text: the tokenizer is the one that `Tokenizer.train(files)` gives."""
    lines = fuzzed_texts(3_000, seed=3)
    joined = "\n".join(lines).encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    (tmp_path / "one.txt").write_bytes(joined[: len(joined) // 2].encode())
    (tmp_path / "two.txt").write_bytes(joined[len(joined) // 2 :].encode() + b"\n\r\nlast line without a newline")
    files = [tmp_path / "one.txt", tmp_path / "two.txt"]
    recipe = pw.Recipe.byte_level("gpt4o", vocab_size=3_000)
    counts = [pw.count_pre_tokens_of_files(files, pre_tokenizer="o200k", threads=n) for n in (1, 2, 5)]
    assert counts[0] == counts[1] == counts[2]
    by_newline = [line for path in files for line in BytesIO(path.read_bytes())]
    assert counts[0] == pw.count_pre_tokens(by_newline, pre_tokenizer="o200k")
    assert pw.train(counts[0], recipe).json_bytes == saved_bytes(hf_train(files, recipe), tmp_path)


def test_files_of_other_kinds(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "hej"}\n')
    with pytest.raises(pw.InputError, match=r"a\.jsonl: jsonl has records, not lines of text"):
        pw.count_pre_tokens_of_files(tmp_path / "a.jsonl", pre_tokenizer="gpt2")
    with gzip.open(tmp_path / "b.txt.gz", "wb") as file:
        file.write("ett träd\ntvå träd\xff\n".encode())
    counts = pw.count_pre_tokens_of_files([tmp_path / "b.txt.gz"], pre_tokenizer="gpt2")
    assert counts == pw.count_pre_tokens(["ett träd\n", "två träd\xff\n"], pre_tokenizer="gpt2")
    own = pw.PreTokenizer("custom", pattern=r"\S+|\s+")
    slow = pw.count_pre_tokens_of_files([tmp_path / "b.txt.gz"], pre_tokenizer=own)
    assert slow == pw.count_pre_tokens(["ett träd\n", "två träd\xff\n"], pre_tokenizer=own)


def test_invalid_bytes_in_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"good\nb\xffd \xe2\x82\nend")
    counts = pw.count_pre_tokens_of_files(tmp_path / "a.txt", pre_tokenizer="gpt2", threads=2)
    assert counts == pw.count_pre_tokens([b"good\n", b"b\xffd \xe2\x82\n", b"end"], pre_tokenizer="gpt2")
    assert counts.invalid_bytes == 3


def test_counts_between_few_and_many_words() -> None:
    """More distinct words than slots in the cache. Each word comes several times in a row, and later again."""
    texts = [f" w{i % 9_000}" * (1 + i % 3) for i in range(30_000)]
    counts = pw.count_pre_tokens(texts, pre_tokenizer="gpt2", threads=3)
    assert dict(counts.items()) == Counter(part for text in texts for part in pw.PreTokenizer("gpt2").split(text))
