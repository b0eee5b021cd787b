"""A pattern of one's own cuts, counts and trains as the Split of `tokenizers` does, and is refused if it loses text."""

from __future__ import annotations

import pickle
import sys
from collections import Counter
from pathlib import Path

import orjson
import pyarrow as pa
import pytest
from tokenizers import Regex, Tokenizer, pre_tokenizers

import piecework as pw
from bytelevel.fuzzed_texts import every_code_point, fuzzed_texts
from bytelevel.hugging_face import hf_train, saved_bytes
from piecework.common.extras import MissingPackageError

PATTERNS = (
    r"\s?\w+|[^\w\s]|\s",
    r"\s?\p{L}+|\p{N}{1,2}|[^\s\p{L}\p{N}]+|\s+",
    r"[\s\S]",
    r"[^\r\n]+|[\r\n]+",  # whole lines
    r"\S+|\s+(?=\S)|\s+",
    r"(?i:the) \w+|\w+|\W",
)
TEXTS = fuzzed_texts(1_500, seed=11)


def custom(pattern: str) -> pw.PreTokenizer:
    return pw.PreTokenizer("custom", pattern=pattern)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_cuts_and_counts_as_split_does(pattern: str) -> None:
    own = custom(pattern)
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    texts = [*TEXTS, every_code_point()[:20_000]]
    found: Counter[str] = Counter()
    for text in texts:
        parts = [part for part, _ in split.pre_tokenize_str(text)]
        assert own.split(text) == parts
        found.update(parts)
    counts = pw.count_pre_tokens(texts, pre_tokenizer=own)
    assert dict(counts.items()) == found
    assert counts == pw.count_pre_tokens(pa.array(texts), pre_tokenizer=own)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_trains_as_hugging_face(pattern: str, tmp_path: Path) -> None:
    recipe = pw.Recipe.byte_level(
        pre_tokenizer=custom(pattern), vocab_size=700, special_tokens=["<|end|>"], hard_vocab_limit=False
    )
    tokenizer = pw.train(TEXTS, recipe)
    oracle = hf_train(TEXTS, recipe)
    assert tokenizer.json_bytes == saved_bytes(oracle, tmp_path)
    tokenizer.save(tmp_path / "saved")
    loaded = pw.ByteLevelTokenizer.load(tmp_path / "saved")
    assert loaded.pre_tokenizer == custom(pattern)
    assert loaded.json_bytes == tokenizer.json_bytes
    texts = fuzzed_texts(500, seed=12)
    ids = [encoding.ids for encoding in oracle.encode_batch(texts)]
    assert tokenizer.encode_batch(texts) == loaded.encode_batch(texts, threads=2) == ids
    assert [tokenizer.decode(each) for each in ids] == texts


def test_invalid_bytes_and_lone_surrogates() -> None:
    counts = pw.count_pre_tokens([b"a\xff\xfeb"], pre_tokenizer=custom(r"\w+|\W"))
    assert (dict(counts.items()), counts.invalid_bytes) == ({"a": 1, "�": 2, "b": 1}, 2)
    native, own = (pw.count_pre_tokens(["a \ud800 b"], pre_tokenizer=each) for each in ("gpt2", custom(r" ?\S+|\s")))
    assert dict(native.items()) == dict(own.items())
    assert custom(r"\S+|\s").split("å\ud800") == ["å���"]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"\w+", r"does not match ' ' \(U\+0020\) in ' '; it must match every text: add an alternative such as"),
        (r"\w+|\s+|[!-~]", r"does not match '\\x00' \(U\+0000\) in"),
        (r".", r"does not match '\\n' \(U\+000A\)"),
        (r"[\s\S]{2}", "does not match"),
        (r"[^é]", r"does not match 'é' \(U\+00E9\)"),
        (r"[^ឿ]", r"does not match 'ឿ' \(U\+17BF\);"),
        (r"\b", "does not match"),
        (r"(?=x)", "does not match"),
        (r"a(", "is broken: "),
        (r"[z-a]", "is broken: "),
    ],
)
def test_patterns_that_are_refused(pattern: str, message: str) -> None:
    with pytest.raises(pw.RecipeError, match=message):
        custom(pattern)


def test_a_part_that_is_left_out_is_a_pre_token_as_in_tokenizers(tmp_path: Path) -> None:
    """No character is left out, so this shows only in a text that has the word."""
    leaves_out = custom(r"(?!xyzzy)\S|\s")
    texts = ["a xyzzy b", "xyzzyxyzzy"]
    assert leaves_out.cut("a xyzzy") == (["a", " ", "x", "y", "z", "z", "y"], ["x"])
    recipe = pw.Recipe.byte_level(pre_tokenizer=leaves_out, vocab_size=300, hard_vocab_limit=False)
    assert pw.train(texts, recipe).json_bytes == saved_bytes(hf_train(texts, recipe), tmp_path)


def test_a_file_with_such_a_pattern_gives_the_ids_of_tokenizers(tmp_path: Path) -> None:
    """A pattern in a file is taken as `tokenizers` takes it: what it leaves out is a pre-token."""
    recipe = pw.Recipe.byte_level(pre_tokenizer=custom(PATTERNS[0]), vocab_size=600, hard_vocab_limit=False)
    content = orjson.loads(pw.train(TEXTS, recipe).json_bytes)
    for pattern, invert in ((r"\p{N}{1,3}", False), (r"(?=[A-ZÅÄÖ])|\s+", False), (r"\w+", True)):
        how = {"behavior": "Removed" if invert else "Isolated", "invert": invert}
        content["pre_tokenizer"]["pretokenizers"][0].update(pattern={"Regex": pattern}, **how)
        (tmp_path / "tokenizer.json").write_bytes(orjson.dumps(content))
        loaded = pw.load_tokenizer(tmp_path)
        assert isinstance(loaded, pw.ByteLevelTokenizer) is not invert, "what is removed is lost"
        oracle = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
        texts = fuzzed_texts(300, seed=13)
        ids = [encoding.ids for encoding in oracle.encode_batch(texts, add_special_tokens=False)]
        assert [tokens.ids.tolist() for tokens in loaded.tokens_batch(texts)] == ids


def test_the_pattern_of_a_name_is_that_name() -> None:
    for name in ("gpt2", "cl100k", "o200k", "llama3"):
        known = pw.PreTokenizer(name)
        assert custom(known.patterns[0]) == known
        assert custom(known.patterns[0]).is_native
    right = pw.PreTokenizer("llama3", digits="right")
    assert custom(right.patterns[0]) == right


def test_pickled_and_saved(tmp_path: Path) -> None:
    own = custom(PATTERNS[0])
    assert pickle.loads(pickle.dumps(own)) == own
    counts = pw.count_pre_tokens(["Hej, på dig!"], pre_tokenizer=own)
    counts.save(tmp_path / "counts.parquet")
    assert pw.PreTokenCounts.load(tmp_path / "counts.parquet") == counts
    with pytest.raises(pw.InputError, match=r'cannot be added: "custom" with pattern = .* and "gpt2"'):
        counts + pw.count_pre_tokens(["a"], pre_tokenizer="gpt2")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Counts that exist train without it; a pattern is refused before anything is read."""
    own = custom(PATTERNS[0])
    pw.count_pre_tokens(TEXTS, pre_tokenizer=own).save(tmp_path / "counts.parquet")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingPackageError, match="a pattern of one's own needs tokenizers"):
        custom(r"\S+|\s+")
    counts = pw.PreTokenCounts.load(tmp_path / "counts.parquet")
    recipe = pw.Recipe.byte_level(pre_tokenizer=counts.pre_tokenizer, vocab_size=300)
    assert pw.train(counts, recipe).vocab_size == 300
