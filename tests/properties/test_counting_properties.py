"""What holds for the counts of any text, however it is split, ordered and shared among threads."""

from collections import Counter

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import piecework as pw
from properties.texts import documents, raw, texts


def count_slowly(texts: list[str]) -> Counter[str]:
    """The rules of words, line by line."""
    counts: Counter[str] = Counter()
    for text in texts:
        for line in text.split("\n"):
            if line and "▅" not in line:
                first, *others = line.replace("▁", " ").split(" ")
                counts[first] += 1
                counts.update("▁" + word for word in others)
    return counts


@given(documents)
def test_counts_by_the_rules(texts: list[str]) -> None:
    counts = pw.count_words(texts)
    assert dict(counts.items()) == count_slowly(texts)
    assert counts.total == count_slowly(texts).total()
    lines = [line for text in texts for line in text.split("\n")]
    assert counts.dropped_lines == sum("▅" in line for line in lines)


@given(documents)
def test_sorted_and_distinct(texts: list[str]) -> None:
    words = [word for word, _ in pw.count_words(texts).items()]
    assert words == sorted(set(words), key=str.encode)


@given(documents, st.randoms(use_true_random=False), st.integers(1, 5))
def test_any_order_and_any_split(texts: list[str], random: object, size: int) -> None:
    expected = pw.count_words(texts)
    shuffled = sorted(texts, key=lambda _: random.random())  # type: ignore[attr-defined]
    assert pw.count_words(shuffled) == expected
    total = pw.count_words([])
    for at in range(0, len(texts), size):
        total += pw.count_words(texts[at : at + size])
    assert total == expected
    assert pw.count_words("\n".join(texts).split("\n")) == expected
    assert pw.count_words(["\n".join(texts)]) == expected


@given(documents, st.integers(2, 9), st.integers(1, 40_000))
def test_any_number_of_threads(texts: list[str], threads: int, times: int) -> None:
    # The text is repeated, so that it is sometimes longer than the share of one thread (256 KB).
    texts = [*texts, ("\n".join(texts)[:20] + "\n") * times]
    assert pw.count_words(texts, threads=threads) == pw.count_words(texts)


@given(documents)
def test_texts_bytes_and_arrow(texts: list[str]) -> None:
    expected = pw.count_words(texts)
    assert pw.count_words([text.encode() for text in texts]) == expected
    for layout in (pa.string(), pa.large_string(), pa.string_view()):
        assert pw.count_words(pa.array(["", *texts], layout)[1:]) == expected


@given(st.lists(raw, max_size=5))
def test_any_bytes(texts: list[bytes]) -> None:
    counts = pw.count_words(texts)
    replaced = []
    for text in texts:
        characters = []
        while text:
            try:
                characters.append(text.decode())
                break
            except UnicodeDecodeError as error:
                characters.append(text[: error.start].decode() + "\ufffd")
                text = text[error.start + 1 :]
        replaced.append("".join(characters))
    assert counts == pw.count_words(replaced)


@given(documents, documents, st.integers(1, 1_000))
def test_sums_and_multiples(first: list[str], second: list[str], factor: int) -> None:
    a, b = pw.count_words(first), pw.count_words(second)
    assert (a + b).total == a.total + b.total
    assert a + b == b + a == pw.count_words(first + second)
    assert (a + b).scale(factor) == a.scale(factor) + b.scale(factor)
    assert a.scale(factor).total == a.total * factor


@given(documents)
def test_there_and_back(texts: list[str]) -> None:
    counts = pw.count_words(texts)
    assert pw.WordCounts.from_mapping(dict(counts.items())) == counts


@given(texts, st.integers(1, 50))
def test_a_limit_on_lines(text: str, limit: int) -> None:
    counts = pw.count_words([text], max_sentence_length=limit)
    kept = [line for line in text.split("\n") if len(line.encode()) <= limit]
    assert dict(counts.items()) == count_slowly(kept)
    assert counts.long_lines == sum(len(line.encode()) > limit for line in text.split("\n"))
