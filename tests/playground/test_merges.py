"""The merges of a word: that they are the tokenizer's, and that they lead from its characters to its tokens."""

import pytest

import piecework as pw
from piecework.playground.catalogue import NativeTokenizer
from piecework.playground.merge_steps import LONGEST_WORD
from piecework.playground.merges import word_merges
from piecework.tokenizer.columns import merge_columns
from playground.examples import LINES, RECIPES, texts, tokenizer


def test_worked_example() -> None:
    small = pw.train(pw.count_words(["ha hade hade"]), pw.Recipe(vocab_size=12))
    word = word_merges(NativeTokenizer(small, name="small"), "ja hade", at=5, frequencies={"ha": 3})
    assert word.text == " hade"
    assert word.leaves == ("▁", "h", "a", "d", "e")
    assert [(step.left_node, step.right_node) for step in word.steps] == [(1, 2), (0, 5), (3, 4), (6, 7)]
    assert [(step.piece, step.rank, step.first_size) for step in word.steps] == [
        ("ha", 1, 9),
        ("▁ha", 2, 10),
        ("de", 3, 11),
        ("▁hade", 4, 12),
    ]
    assert [step.frequency for step in word.steps] == [3, None, None, None]
    assert word.tokens == (8,)


@pytest.mark.parametrize("recipe", RECIPES)
def test_merges_lead_to_the_tokens(recipe: str) -> None:
    full = tokenizer(recipe)
    paper = NativeTokenizer(full, name=recipe)
    pieces = {piece.text for piece in full.pieces}
    for text in texts(60, seed=3):
        for at in range(0, len(text), 5):
            word = word_merges(paper, text, at=at)
            texts_of_nodes = [*word.leaves, *(step.piece for step in word.steps)]
            for step in word.steps:
                assert step.left == texts_of_nodes[step.left_node]
                assert step.right == texts_of_nodes[step.right_node]
                assert step.left + step.right == step.piece
                assert step.piece in pieces
            assert "".join(texts_of_nodes[node] for node in word.tokens) == "".join(word.leaves)


def test_frequencies_are_how_often_training_merged() -> None:
    small = pw.train(pw.count_words(LINES), pw.Recipe.gpt_sw3(vocab_size=380))
    assert small.frequencies is not None
    counted = dict.fromkeys(small.frequencies, 0)
    for line in LINES:
        for piece in merge_columns(small, line).pieces:
            text = small.pieces[piece].text
            if text in counted:
                counted[text] += 1
    assert counted == small.frequencies
    assert pw.Tokenizer.from_bytes(small.model_bytes).frequencies is None


def test_at_the_start_the_prefix_is_a_leaf() -> None:
    paper = NativeTokenizer(tokenizer(), name="paper")
    word = word_merges(paper, "regnar", at=0)
    assert word.leaves[0] == "▁"
    whole = tokenizer().encode_pieces("regnar")
    texts_of_nodes = [*word.leaves, *(step.piece for step in word.steps)]
    assert [texts_of_nodes[node] for node in word.tokens] == whole


def test_offsets_outside_and_words_too_long() -> None:
    paper = NativeTokenizer(tokenizer(), name="paper")
    with pytest.raises(pw.InputError, match="offset 5 is outside"):
        word_merges(paper, "regn", at=5)
    with pytest.raises(pw.InputError, match=r"a word of 10,000 characters"):
        word_merges(paper, "x" * 10_000, at=0)
    assert len(word_merges(paper, "x" * (LONGEST_WORD - 1), at=0).leaves) == LONGEST_WORD
