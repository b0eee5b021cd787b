"""Searching a vocabulary: what is found, in which order, and expressions that would stall other engines."""

import time

import numpy as np
import pytest

import piecework as pw
from piecework.playground.catalogue import NativeTokenizer
from piecework.playground.vocabulary import Search, VocabularyBrowser
from piecework.tokenizer.any_tokenizer import BYTE_PIECE
from playground.examples import tokenizer


@pytest.fixture(scope="module")
def browser() -> VocabularyBrowser:
    full = tokenizer()
    use = np.zeros((2, full.vocab_size), np.int64)
    use[0, 300:310] = 5
    use[1, 305:320] = np.arange(15)
    return VocabularyBrowser(NativeTokenizer(full, name="paper"), use=use, languages=["sv", "code"])


def pieces(browser: VocabularyBrowser, **search: object) -> list[str]:
    return [row["piece"] for row in browser.search(Search.model_validate(search | {"limit": 500}))["rows"]]


def test_text_and_expressions(browser: VocabularyBrowser) -> None:
    everything = [piece.text for piece in tokenizer().pieces]
    assert pieces(browser) == everything
    assert pieces(browser, text="ar") == [text for text in everything if "ar" in text]
    assert pieces(browser, text=" på") == [text for text in everything if "▁på" in text]
    assert pieces(browser, text="^▁[a-z]$", mode="regex") == [
        text for text in everything if len(text) == 2 and text[0] == "▁" and text[1].isascii() and text[1].islower()
    ]
    assert pieces(browser, text="(") == [text for text in everything if "(" in text]


def test_group_length_language_order_pages(browser: VocabularyBrowser) -> None:
    full = tokenizer()
    assert len(pieces(browser, group="byte")) == 256
    assert all(len(text) == 3 for text in pieces(browser, shortest=3, longest=3))
    assert pieces(browser, language="sv", least_share=0.99) == [full.pieces[i].text for i in range(300, 306)]
    assert pieces(browser, sort="code", descending=True)[0] == full.pieces[319].text
    lengths = [len(BYTE_PIECE.sub("x", text)) for text in pieces(browser, sort="length", descending=True)]
    assert lengths == sorted(lengths, reverse=True)
    page = browser.search(Search(offset=300, limit=3))
    assert page["total"] == full.vocab_size
    assert [row["id"] for row in page["rows"]] == [300, 301, 302]
    assert page["rows"][0]["use"] == [5, 0]
    assert page["rows"][0]["shares"] == [1.0, 0.0]
    assert page["rows"][0]["rank"] == 300 - 264 + 1


def test_mistakes(browser: VocabularyBrowser) -> None:
    with pytest.raises(pw.InputError, match="not a valid regular expression: missing"):
        pieces(browser, text="(", mode="regex")
    with pytest.raises(pw.InputError, match=r'no language "fi"; there is sv, code'):
        pieces(browser, sort="fi")
    with pytest.raises(pw.InputError, match="unknown"):
        pieces(VocabularyBrowser(NativeTokenizer(tokenizer(), name="a")), language="sv", least_share=0.5)


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+$", "(a|a)*b", "(.*a){20}", "^(([a-z])+.)+[A-Z]([a-z])+$", "((a{0,100}){0,100}){0,100}", r"(\w+\s?)*$" * 8],
)
def test_no_expression_stalls(pattern: str) -> None:
    # For these pieces a backtracking engine needs longer than the age of the universe.
    pieces_ = ["a" * 200 + "!", *(f"{'a' * 100}{i}" for i in range(20_000))]

    class Many:
        vocab_size = len(pieces_)
        rows = tuple((piece, None, "regular") for piece in pieces_)

    browser = VocabularyBrowser(Many())  # type: ignore[arg-type]
    started = time.process_time()
    try:
        browser.search(Search(text=pattern, mode="regex"))
    except pw.InputError as error:
        assert "regular expression" in str(error)
    assert time.process_time() - started < 5
