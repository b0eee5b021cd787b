"""Byte-level tokenizers in the playground: boundaries at every size, merges from bytes, estimates, vocabulary."""

import numpy as np
import pytest
from hypothesis import given, settings

import piecework as pw
from bytelevel.known_tokenizers import FOLDER, known_file
from piecework.common.packaged_files import PACKAGES_VARIABLE
from piecework.playground.app import Answers
from piecework.playground.byte_level_cuts import SizedByteLevel
from piecework.playground.catalogue import Catalogue, NativeTokenizer, load_lane_tokenizer
from piecework.playground.lanes import Utf16Offsets, cut_columns, lane
from piecework.playground.merges import word_merges
from piecework.playground.requests import EstimatesRequest, VocabularyRequest
from piecework.playground.vocabulary import Search
from piecework.tokenizer.any_tokenizer import readable
from playground.examples import LINES, texts
from properties import texts as drawn

PRE_TOKENIZERS = ("gpt2", "cl100k", "o200k", "deepseek-v3")
SAMPLES = [*LINES, *["日本語の文字 шапка שלום 👩‍👧 é’s ’tis"] * 4]


def trained(name: str, special_tokens: tuple[str, ...] = ("<|end|>",)) -> pw.ByteLevelTokenizer:
    counts = pw.count_pre_tokens(SAMPLES, pre_tokenizer=name)
    return pw.train(counts, pw.Recipe.byte_level(pre_tokenizer=name, vocab_size=420, special_tokens=[*special_tokens]))


def items(tokenizer: pw.ByteLevelTokenizer, text: str) -> tuple[list[int], int]:
    """The ends of items, and the number of tokens. An item has the fewest tokens that make whole characters."""
    found = tokenizer.token_columns(text)
    if not text:
        return [], 0
    ends = [
        int(end)
        for end, next_start in zip(found.ends, [*found.starts[1:].tolist(), len(text)], strict=True)
        if next_start >= end
    ]
    return ends, len(found)


def assert_equals_resized(sized: SizedByteLevel, smaller: dict[int, pw.ByteLevelTokenizer], text: str) -> None:
    cuts = sized.cuts(text)
    for size, resized in smaller.items():
        ends, tokens = items(resized, text)
        assert cuts.token_count(size) == tokens, (size, text)
        assert np.flatnonzero(cuts.is_cut(size)).tolist() == ends[:-1], (size, text)


@pytest.mark.parametrize("name", PRE_TOKENIZERS)
def test_every_size_equals_resize(name: str) -> None:
    full = trained(name)
    sized = SizedByteLevel(full)
    smaller = {size: full.resize(size) for size in {*range(sized.sizes.smallest, full.vocab_size, 13), full.vocab_size}}
    for text in [*SAMPLES[:8], SAMPLES[-1], *texts(80, seed=3)]:
        assert_equals_resized(sized, smaller, text)


def test_sizes_where_merges_make_special_tokens() -> None:
    """A merge that spells a special token adds no piece. So one more piece may need several more merges."""
    full = trained("gpt2", ("an", "er", " ar"))
    sized = SizedByteLevel(full)
    smaller = {size: full.resize(size) for size in range(sized.sizes.smallest, full.vocab_size + 1)}
    for text in LINES[:7]:
        assert_equals_resized(sized, smaller, text)


O200K = trained("o200k")
SIZED = SizedByteLevel(O200K)
SMALLER = {size: O200K.resize(size) for size in (SIZED.sizes.smallest, 300, 380, 419, 420)}


@settings(max_examples=100)
@given(drawn.texts)
def test_any_text_equals_resize(text: str) -> None:
    assert_equals_resized(SIZED, SMALLER, text)


def test_offsets_count_utf16_units() -> None:
    text = "😀 väntar"
    columns = cut_columns(SIZED, text, Utf16Offsets(text))
    assert len(columns["joins"]) == len(text) + 1
    assert columns["joins"][1] == 0  # the second half of 😀
    assert columns["inner"].tolist() == [0, 0, 0, 4]  # 😀 has four bytes, ä has two
    found = lane(NativeTokenizer(O200K, name="own"), text, Utf16Offsets(text))
    assert found["ids"].tolist() == O200K.encode(text)


@pytest.mark.parametrize("name", PRE_TOKENIZERS)
def test_merges_give_the_tokens_at_every_size(name: str) -> None:
    full = trained(name)
    shown = NativeTokenizer(full, name="own")
    text = "".join(SAMPLES[4:7]) + SAMPLES[-1]
    at = 0
    for part in full.pre_tokenizer.split(text):
        word = word_merges(shown, text, at=at)
        assert word.text == part
        assert word.leaves == tuple(readable(part.encode()[i : i + 1]) for i in range(len(part.encode())))
        labels = [*word.leaves, *(step.piece for step in word.steps)]
        assert [labels[node] for node in word.tokens] == full.encode_pieces(part)
        for size in (300, 380, 420):
            happened = sum(step.first_size is not None and step.first_size <= size for step in word.steps)
            assert len(word.leaves) - happened == len(full.resize(size).encode(part)), (part, size)
        at += len(part)


def test_frequencies_are_those_of_training() -> None:
    from piecework.training.frequencies import merge_frequencies

    frequencies = merge_frequencies(O200K)
    word = word_merges(NativeTokenizer(O200K, name="own"), "det regnar", at=5, frequencies=frequencies)
    assert O200K.frequencies is not None and word.steps
    for step in word.steps:
        assert step.rank is not None and step.frequency == O200K.frequencies[step.rank - 1]


def test_a_known_tokenizer_has_merges_but_no_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    known_file("js-tiktoken", "dist/ranks/cl100k_base.js", "npm")  # skips without the packages
    monkeypatch.setenv(PACKAGES_VARIABLE, str(FOLDER))
    shown = load_lane_tokenizer("known:gpt-4", name="gpt-4")
    assert isinstance(shown, NativeTokenizer) and shown.smallest is None
    whole = word_merges(shown, "it was hello", at=8)  # one token, which is looked up as a whole
    assert whole.leaves == ("▁", "h", "e", "l", "l", "o")
    assert whole.steps[-1].piece == "▁hello" and len(whole.tokens) == 1
    assert all(step.first_size is None and step.rank is not None for step in whole.steps)
    assert isinstance(shown.tokenizer, pw.ByteLevelTokenizer)
    assert shown.tokenizer.encode(" hello") == [whole.steps[-1].id]
    assert whole.steps[-1].rank == whole.steps[-1].id - 255
    several = word_merges(shown, "flaggstångsknoppsputsare", at=3)
    labels = [*several.leaves, *(step.piece for step in several.steps)]
    assert [labels[node] for node in several.tokens] == shown.tokenizer.encode_pieces("flaggstångsknoppsputsare")


def test_estimates_and_vocabulary() -> None:
    counts = pw.count_units({"sv": SAMPLES[5:7] * 3, "code": SAMPLES[:5]}, pre_tokenizer="o200k")
    other = trained("gpt2")
    loaders = {"own": lambda: NativeTokenizer(O200K, name="own"), "other": lambda: NativeTokenizer(other, name="other")}
    answers = Answers(Catalogue(loaders, counts=counts))
    for size in (SIZED.sizes.smallest, 300, 420):
        asked = EstimatesRequest(tokenizer="own", metric="bytes_per_token", vocab_size=size, curves=True)
        resized = pw.evaluate({"own": O200K.resize(size)}, counts).metrics.where(metric="bytes_per_token").rows()
        expected = {row["language"]: row["value"] for row in resized}
        for row in answers.estimates(asked)["estimates"]:
            assert row["value"] == expected[row["language"]], size
    with pytest.raises(pw.InputError, match="gpt2"):
        answers.estimates(EstimatesRequest(tokenizer="other", metric="bytes_per_token", vocab_size=300))
    found = answers.vocabulary(VocabularyRequest(tokenizer="own", search=Search(text=" regnar")))
    (row,) = found["rows"]
    assert row["piece"] == "▁regnar" and row["score"] is None and row["rank"] == row["id"] - 256
    assert found["languages"] == ["code", "sv"] and row["use"][1] > 0
    assert answers.vocabulary(VocabularyRequest(tokenizer="other"))["languages"] == []
    partial = answers.vocabulary(VocabularyRequest(tokenizer="own", search=Search(text="<0xE3><0x81>", longest=2)))
    assert partial["rows"] and partial["rows"][0]["length"] == 2
