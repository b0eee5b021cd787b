"""Where a text is cut at every size: the same as resized tokenizers cut it, token by token."""

import numpy as np
import pytest
from hypothesis import given, settings

import piecework as pw
from piecework.playground.cuts import NEVER, SizedTokenizer
from piecework.playground.lanes import Utf16Offsets, cut_columns, lane
from playground.examples import LINES, RECIPES, texts, tokenizer
from properties import texts as drawn


def assert_equals_resized(sized: SizedTokenizer, smaller: dict[int, pw.Tokenizer], text: str) -> None:
    cuts = sized.cuts(text)
    for size, resized in smaller.items():
        tokens = resized.token_columns(text)
        assert cuts.token_count(size) == len(tokens) == len(resized.encode(text)), (size, text)
        # Only the last byte of a character has a width. The prefix has none: it ends before the first character.
        is_byte = np.array([resized.pieces[i].type == "byte" for i in tokens.ids], bool)
        ends = tokens.ends[~(is_byte & (tokens.starts == tokens.ends))]
        assert np.flatnonzero(cuts.is_cut(size)).tolist() == ends[:-1].tolist(), (size, text)


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_size_equals_resize(recipe: str) -> None:
    full = tokenizer(recipe)
    sized = SizedTokenizer(full)
    sizes = {*range(sized.sizes.smallest, full.vocab_size, 9), sized.sizes.smallest + 1, full.vocab_size}
    smaller = {size: full.resize(size) for size in sizes}
    for text in [*LINES, *texts(120, seed=7)]:
        assert_equals_resized(sized, smaller, text)


PAPER = tokenizer("paper")
SIZED = SizedTokenizer(PAPER)
SMALLER = {size: PAPER.resize(size) for size in (SIZED.sizes.smallest, 350, 380, 419, 420)}


@settings(max_examples=150)
@given(drawn.texts)
def test_any_text_equals_resize(text: str) -> None:
    assert_equals_resized(SIZED, SMALLER, text)


def test_worked_example() -> None:
    # ▁ h a d e; merges ha (9), ▁ha (10), de (11), ▁hade (12): sizes in brackets.
    small = pw.train(pw.count_words(["ha hade hade"]), pw.Recipe(vocab_size=12))
    assert SizedTokenizer(small).cuts("hade").joins.tolist() == [10, 9, 12, 11]
    assert SizedTokenizer(small).cuts("de").joins.tolist() == [NEVER, 11]


def test_a_run_of_spaces_gives_its_last_one_to_the_word() -> None:
    # Below the size that joins ▁ to the word, the run has three ▁. From that size on it has two: ▁▁ replaces ▁▁▁.
    sized = SizedTokenizer(PAPER)
    joins = sized.cuts("a   regnar").joins
    leaves = int(joins[4])
    assert 0 < leaves < NEVER
    for size in (leaves - 1, leaves):
        pieces = PAPER.resize(size).encode_pieces("a   regnar")
        assert ("▁▁▁" in pieces) == (size < leaves)
        assert ("▁▁" in pieces) == (size >= leaves)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"normalization": "nmt_nfkc"}, "normalises"),
        ({"remove_extra_whitespaces": True}, "normalises"),
        ({"user_defined_symbols": ["a b"]}, "user-defined symbol with a space"),
    ],
)
def test_what_has_no_sizes_says_why(change: dict[str, object], reason: str) -> None:
    import io

    import sentencepiece

    written = io.BytesIO()
    options = {"normalization_rule_name": change.pop("normalization", "identity"), "remove_extra_whitespaces": False}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=written, model_type="bpe", vocab_size=120, **(options | change)
    )
    with pytest.raises(pw.InputError, match=reason):
        SizedTokenizer(pw.Tokenizer.from_bytes(written.getvalue()), name="theirs")


def test_offsets_count_utf16_units() -> None:
    text = "😀 regnar 👩\u200d👧x"
    units = len(text.encode("utf-16-le")) // 2
    columns = cut_columns(SIZED, text, Utf16Offsets(text))
    assert len(columns["joins"]) == units
    assert columns["joins"][1] == 0  # the second half of 😀
    assert columns["inner"].tolist() == [*[0] * 3, *[10] * 3, *[12] * 2, *[13] * 3]
    assert {*columns["inner_joins"].tolist()} == {NEVER}
    from piecework.playground.catalogue import NativeTokenizer

    found = lane(NativeTokenizer(PAPER, name="paper"), text, Utf16Offsets(text))
    assert int(found["lengths"].sum()) == units
    assert found["ids"].tolist() == PAPER.encode(text)
