"""Heaps' law: fitted to two sizes of a sample, and compared with larger texts."""

import pytest

from piecework.counting.heaps import USUAL_EXPONENT, HeapsLaw, WordTable, table_size
from piecework.counting.words import count_words


def test_the_law_goes_through_what_it_was_fitted_on() -> None:
    """Four documents of the same size. The first has 100 words, all four have 200: the exponent is a half."""
    texts = [" ".join(f"{first + number:05}" for number in range(100)).encode() for first in (0, 33, 66, 100)]
    table = WordTable.fit(texts)
    assert table is not None
    law = table.law
    # A word that opens a text and the same word after a space are two words.
    assert law.sample_words == len(count_words([text.decode() for text in texts])) == 203
    assert law.words(law.sample_bytes) == 203
    assert law.exponent == pytest.approx(0.51, abs=0.01)
    assert law.words(100 * law.sample_bytes) == pytest.approx(203 * 100**law.exponent)


def test_samples_that_tell_nothing() -> None:
    assert WordTable.fit([]) is None
    assert WordTable.fit([b""]) is None
    table = WordTable.fit([b"one text only"])
    assert table is not None
    assert table.law.exponent == USUAL_EXPONENT
    assert table.law.words(0) == 0


def test_kinds_of_text_add_up() -> None:
    table = WordTable(HeapsLaw(sample_bytes=1000, sample_words=100, exponent=0.5), stored_bytes=5)
    flat = WordTable(HeapsLaw(sample_bytes=1000, sample_words=50, exponent=0.0), stored_bytes=4)
    size = table_size([(table, 3.0), (flat, 1.0)], 400_000)
    assert size.distinct_words == pytest.approx(100 * 300**0.5 + 50)
    assert table_size([], 1e9).distinct_words == 0


def test_real_text(corpus_lines: "dict[str, list[str]]") -> None:
    """A tenth of a book collection predicts the number of words in all of it, within a quarter."""
    lines = [line.encode() for line in corpus_lines["books_sv"]]
    table = WordTable.fit(lines[::10])
    assert table is not None
    actual = len(count_words(lines))
    assert 0.75 < table.law.words(sum(map(len, lines))) / actual < 1.34
