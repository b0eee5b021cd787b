"""Our own byte-level tokenizers give the ids, offsets and texts that `tokenizers` and tiktoken give."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
import tiktoken
import tokenizers

import piecework as pw
from bytelevel.fuzzed_texts import fuzzed_texts, long_runs
from bytelevel.known_tokenizers import js_tiktoken, ranks_file
from thinned import thinned

TEXTS = [*fuzzed_texts(20_000, seed=21), *long_runs(), ""]


@pytest.fixture(scope="module")
def texts(stdlib_sources: list[str]) -> list[str]:
    """All fuzzed texts, or a third of them, and code."""
    return [*thinned(TEXTS[:20_000], 3), *TEXTS[20_000:], *stdlib_sources[::60]]


@pytest.fixture(scope="module", params=pw.PreTokenizer.names())
def own(request: pytest.FixtureRequest, stdlib_sources: list[str]) -> pw.ByteLevelTokenizer:
    training = [*fuzzed_texts(2_000, seed=20), *stdlib_sources[::60]]
    counts = pw.count_pre_tokens(training, pre_tokenizer=request.param)
    specials = ["<|end|>", "<|end|>>", "aa"]
    return pw.train(
        counts, pw.Recipe.byte_level(pre_tokenizer=request.param, vocab_size=3_000, special_tokens=specials)
    )


def rust_of(tokenizer: pw.ByteLevelTokenizer) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_str(tokenizer.json_bytes.decode())


def assert_same_as_tokenizers(
    tokenizer: pw.ByteLevelTokenizer, rust: tokenizers.Tokenizer, texts: list[str], *, special: bool = False
) -> None:
    rust.encode_special_tokens = not special
    expected = rust.encode_batch(texts, add_special_tokens=False)
    allowed = "all" if special else ()
    for text, ids, encoding in zip(
        texts, tokenizer.encode_batch(texts, threads=2, allowed_special=allowed), expected, strict=True
    ):
        assert ids == encoding.ids, repr(text[:200])


def assert_same_as_tiktoken(
    tokenizer: pw.ByteLevelTokenizer, encoding: tiktoken.Encoding, texts: Iterable[str]
) -> None:
    for text in texts:
        ids = tokenizer.encode(text)
        assert ids == encoding.encode_ordinary(text), repr(text[:200])
        assert tokenizer.decode(ids) == text


@pytest.mark.slow
def test_own_is_the_same_in_tokenizers(own: pw.ByteLevelTokenizer, texts: list[str]) -> None:
    rust = rust_of(own)
    assert_same_as_tokenizers(own, rust, texts)
    for text in texts[::5]:
        ids = own.encode(text)
        assert own.decode(ids) == text == rust.decode(ids, skip_special_tokens=False)
        tokens = own.tokens(text)
        assert [(token.start, token.end) for token in tokens] == rust.encode(text).offsets
    with_special = [text.replace("a", "<|end|>", 1).replace("b", "<|end|>>", 1) for text in texts[:2_000]]
    assert_same_as_tokenizers(own, rust, with_special, special=True)
    assert_same_as_tokenizers(own, rust, with_special)


@pytest.mark.parametrize("name", [name for name in pw.PreTokenizer.names() if name != "deepseek-v3"])
def test_own_is_the_same_in_tiktoken(name: str, tmp_path: Path) -> None:
    """All but deepseek-v3: tiktoken takes one pattern, and deepseek-v3 has three."""
    counts = pw.count_pre_tokens(fuzzed_texts(2_000, seed=22), pre_tokenizer=name)
    tokenizer = pw.train(counts, pw.Recipe.byte_level(pre_tokenizer=name, vocab_size=2_000))
    path = tmp_path / "own.tiktoken"
    tokenizer.save_tiktoken(path)
    ranks = {token: number for number, token in enumerate(tokenizer.model.tokens)}
    pattern = tokenizer.pre_tokenizer.patterns[0]
    encoding = tiktoken.Encoding("own", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    assert_same_as_tiktoken(tokenizer, encoding, TEXTS[::3])
    assert_same_as_tiktoken(pw.ByteLevelTokenizer.load(path, pre_tokenizer=name), encoding, TEXTS[::3])


def test_save_and_load(own: pw.ByteLevelTokenizer, tmp_path: Path) -> None:
    path = own.save(tmp_path / "own")
    loaded = pw.ByteLevelTokenizer.load(tmp_path / "own")
    assert loaded.model == own.model
    assert loaded.json_bytes == own.json_bytes == path.read_bytes()
    with pytest.raises(pw.InputError, match=r"tokenizer[.]json"):
        own.save(tmp_path / "own")


def test_transformers_loads_the_folder(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    texts = fuzzed_texts(500, seed=23)
    counts = pw.count_pre_tokens(texts, pre_tokenizer="o200k")
    tokenizer = pw.train(counts, pw.Recipe.byte_level("gpt4o", vocab_size=700))
    tokenizer.save(tmp_path)
    loaded = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    for text in texts:
        assert loaded(text, add_special_tokens=False)["input_ids"] == tokenizer.encode(text, allowed_special="all")
    assert loaded.encode("<|endoftext|>") == [0] == tokenizer.encode("<|endoftext|>", allowed_special="all")


@pytest.mark.parametrize("name", ["r50k_base", "p50k_base", "cl100k_base", "o200k_base"])
def test_patterns_of_js_tiktoken(name: str, texts: list[str], tmp_path: Path) -> None:
    ranks, pattern = js_tiktoken(name)
    path = tmp_path / f"{name}.tiktoken"
    path.write_bytes(ranks_file(ranks))
    tokenizer = pw.ByteLevelTokenizer.load(path, pre_tokenizer=pw.PreTokenizer.from_patterns(pattern))
    assert tokenizer.pre_tokenizer.is_native
    encoding = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    assert_same_as_tiktoken(tokenizer, encoding, texts[::10])


def test_special_tokens_that_are_not_there_are_refused(own: pw.ByteLevelTokenizer) -> None:
    with pytest.raises(pw.InputError, match="'<s>' is not a special token of this tokenizer"):
        own.encode("x", allowed_special={"<s>"})


def test_threads_and_bytes(own: pw.ByteLevelTokenizer) -> None:
    texts = TEXTS[:3_000]
    ids = own.encode_batch(texts)
    assert own.encode_batch(iter(texts), threads=3) == ids
    assert own.encode_batch([text.encode() for text in texts]) == ids
    assert own.encode(b"a\xff") == own.encode("a\ufffd")
    assert own.encode(b"a\xff", allowed_special="all") == own.encode("a\ufffd")


def test_decoding(own: pw.ByteLevelTokenizer) -> None:
    assert own.decode([own.encode("é")[0]]) in ("\ufffd", "é")
    assert own.decode([0, *own.encode("x"), 1]) == "<|end|>x<|end|>>"
    assert own.decode([0, *own.encode("x"), 1], skip_special_tokens=True) == "x"
    for bad in (len(own), -1, "x"):
        with pytest.raises(pw.InputError, match="is not in the vocabulary of 3,000 pieces"):
            own.decode([bad])  # type: ignore[list-item]


def test_pieces(own: pw.ByteLevelTokenizer) -> None:
    kinds = {piece.type for piece in own.pieces}
    assert kinds == {"control", "byte", "normal"}
    assert own.pieces[0].text == "<|end|>"
    assert len(own.piece_texts) == len(own) == 3_000


def test_a_pattern_of_ones_own() -> None:
    pattern = pw.PreTokenizer("custom", pattern=r"\s?\p{L}+|\p{N}|[^\p{L}\p{N}\s]+|\s+")
    texts = fuzzed_texts(1_000, seed=24)
    counts = pw.count_pre_tokens(texts, pre_tokenizer=pattern)
    tokenizer = pw.train(counts, pw.Recipe.byte_level(pre_tokenizer=pattern, vocab_size=600))
    assert_same_as_tokenizers(tokenizer, rust_of(tokenizer), texts)
