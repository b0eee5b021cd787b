"""Each scanner cuts as its regular expression does in tokenizers and in tiktoken, on every text."""

from __future__ import annotations

import runpy
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
import tiktoken
import tiktoken_ext.openai_public as openai
from tokenizers import Regex, pre_tokenizers

import piecework as pw
from bytelevel.fuzzed_texts import every_code_point, fuzzed_texts, long_runs

NAMES = pw.PreTokenizer.names()
CORE = Path(__file__).parents[2] / "core/pretokenize"


def hugging_face(pre_tokenizer: pw.PreTokenizer) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in pre_tokenizer.patterns]
    )


def assert_same(pre_tokenizer: pw.PreTokenizer, texts: Iterable[str]) -> None:
    oracle = hugging_face(pre_tokenizer)
    for text in texts:
        parts = [part for part, _ in oracle.pre_tokenize_str(text)]
        found = pre_tokenizer.split(text)
        assert found == parts, f"{pre_tokenizer}: {text[:200]!r}"


@pytest.mark.parametrize("name", NAMES)
def test_fuzzed_texts(name: str) -> None:
    assert_same(pw.PreTokenizer(name), fuzzed_texts(20_000, seed=1))


@pytest.mark.parametrize("name", NAMES)
def test_every_code_point(name: str) -> None:
    assert_same(pw.PreTokenizer(name), [every_code_point()])


@pytest.mark.parametrize("name", NAMES)
def test_long_runs(name: str) -> None:
    assert_same(pw.PreTokenizer(name), long_runs())


@pytest.mark.parametrize("digits", ["threes", "ones", "right"])
@pytest.mark.parametrize("name", NAMES)
def test_digit_groups(name: str, digits: str) -> None:
    assert_same(pw.PreTokenizer(name, digits=digits), fuzzed_texts(3_000, seed=2))


def test_a_long_number_is_cut_in_linear_time() -> None:
    assert pw.PreTokenizer("llama3", digits="right").split("1" * 3_000_001)[:2] == ["1", "111"]


@pytest.mark.parametrize("name", NAMES)
def test_code(name: str, stdlib_sources: list[str]) -> None:
    assert_same(pw.PreTokenizer(name), stdlib_sources[::20])


def test_real_text(stem: str, corpus: Mapping[str, list[str]]) -> None:
    for name in NAMES:
        assert_same(pw.PreTokenizer(name), corpus[stem][::50])


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("gpt2", openai.r50k_pat_str),
        ("cl100k", None),
        ("o200k", None),
        *((name, "") for name in NAMES if name not in ("gpt2", "cl100k", "o200k", "deepseek-v3")),
    ],
)
def test_tiktoken_cuts_the_same(name: str, pattern: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sequence of whole pre-tokens is a token, so tiktoken's tokens show where it cuts."""
    pre_tokenizer = pw.PreTokenizer(name)
    if pattern is None:
        monkeypatch.setattr(openai, "load_tiktoken_bpe", lambda *_, **__: {})
        pattern = openai.ENCODING_CONSTRUCTORS[f"{name}_base"]()["pat_str"]
    texts = [*fuzzed_texts(4_000, seed=3, most_parts=8), "x \n ", " \n  ", "a\n\n"]
    ranks = {bytes([byte]): byte for byte in range(256)}
    for text in texts:
        parts = [part.encode() for part in pre_tokenizer.split(text)]
        for start in range(len(parts)):
            stretch = b""
            for part in parts[start:]:
                stretch += part
                ranks.setdefault(stretch, len(ranks))
    encoding = tiktoken.Encoding(
        name, pat_str=pattern or pre_tokenizer.patterns[0], mergeable_ranks=ranks, special_tokens={}
    )
    for text in texts:
        tokens = encoding.decode_tokens_bytes(encoding.encode_ordinary(text))
        assert tokens == [part.encode() for part in pre_tokenizer.split(text)], repr(text)


def test_gpt2_is_byte_level_of_tokenizers() -> None:
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    gpt2 = pw.PreTokenizer("gpt2")
    for text in fuzzed_texts(2_000, seed=4):
        assert [text[start:end] for _, (start, end) in byte_level.pre_tokenize_str(text)] == gpt2.split(text)


def test_unicode_classes_are_generated() -> None:
    generator = runpy.run_path(str(CORE / "generate_unicode_classes.py"))
    assert generator["header"]() == (CORE / "unicode_classes.hpp").read_text(encoding="utf-8")


def test_patterns_of_other_projects_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai, "load_tiktoken_bpe", lambda *_, **__: {})
    for name in ("cl100k", "o200k"):
        pattern = openai.ENCODING_CONSTRUCTORS[f"{name}_base"]()["pat_str"]
        assert pw.PreTokenizer.from_patterns(pattern).name == name
    assert pw.PreTokenizer.from_patterns(openai.r50k_pat_str).name == "gpt2"
    for name in NAMES:
        for digits in (None, "right"):
            pre_tokenizer = pw.PreTokenizer(name, digits=digits)
            assert pw.PreTokenizer.from_patterns(*pre_tokenizer.patterns).patterns == pre_tokenizer.patterns


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": "cl100"}, 'unknown pre-tokenizer "cl100"; did you mean "cl100k"?'),
        ({"name": "?"}, 'unknown pre-tokenizer "\\?"; there are gpt2, '),
        ({"name": "gpt2", "digits": "two"}, 'digits = "two": there are whole, threes, ones, right'),
        ({"name": "llama3", "digits": "whole"}, 'is for the pre-tokenizer "gpt2" alone'),
        ({"name": "custom"}, 'needs a pattern of your own: pattern = "..."'),
        ({"name": "custom", "pattern": r"\S|\s", "digits": "ones"}, "digits are cut by the pattern"),
        ({"name": "gpt2", "pattern": "x"}, "takes another"),
        ({"name": "custom", "pattern": "(x"}, r"the pattern '\(x' is broken: .*parenthes"),
    ],
)
def test_bad_settings(settings: dict[str, str], message: str) -> None:
    with pytest.raises(pw.RecipeError, match=message):
        pw.PreTokenizer(**settings)
