"""Training gives the bytes that SentencePiece gives, whatever the text, recipe, order and threads."""

import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import adversarial
import piecework as pw
from sentencepiece_oracle import (
    assert_same_model,
    largest_size_in,
    limits,
    parse,
    sp_train,
    sp_train_file,
)
from thinned import EVERYTHING, thinned

# SentencePiece drops lines of more than 4,192 bytes unless told otherwise.
LONG_LINES = 2**30
SIZES = [10_000, 20_000, 30_000, 40_000, 51_200] if EVERYTHING else [10_000, 51_200]
RECIPES = {
    "plain": pw.Recipe(vocab_size=64_000, max_sentence_length=LONG_LINES),
    "gpt-sw3": pw.Recipe.gpt_sw3(vocab_size=64_000, whitespace_runs=None, max_sentence_length=LONG_LINES),
}


def train(lines: Iterable[str | bytes], recipe: pw.Recipe) -> bytes:
    return pw.train(pw.count_words(lines, threads=2), recipe).model_bytes


@pytest.fixture(scope="module")
def all_lines(corpus_lines: Mapping[str, list[str]]) -> list[str]:
    """All of the corpus, or a quarter of its lines."""
    return [line for stem in corpus_lines for line in thinned(corpus_lines[stem], 4)]


@pytest.fixture(scope="module")
def all_counts(all_lines: list[str]) -> pw.WordCounts:
    return pw.count_words(all_lines, threads=2)


@pytest.fixture(scope="module")
def source_lines(stdlib_sources: list[str]) -> list[str]:
    """Code with tabs and the scripts of the library's own tests: about 2 MB, or a third of it."""
    lines = [line.rstrip("\r") for text in thinned(stdlib_sources[::15], 3) for line in text.split("\n")]
    return [line for line in lines if line]


@pytest.mark.slow
def test_each_file(stem: str, corpus_lines: Mapping[str, list[str]]) -> None:
    recipe = pw.Recipe(vocab_size=8_000, max_sentence_length=LONG_LINES)
    lines = thinned(corpus_lines[stem], 2)
    assert_same_model(train(lines, recipe), sp_train(lines, recipe))


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_the_whole_corpus(name: str, all_lines: list[str], all_counts: pw.WordCounts) -> None:
    ours = pw.train(all_counts, RECIPES[name]).model_bytes
    assert_same_model(ours, sp_train(all_lines, RECIPES[name]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        *({name: True} for name in adversarial.SWITCHES),
        *({name: False} for name in adversarial.SWITCHES),
        *({"character_coverage": value} for value in (0.98, 0.985, 0.99, 0.999, 0.9995, 0.9999, 1.0)),
        *({"max_sentencepiece_length": value} for value in (4, 7, 16, 24, 32)),
        {"user_defined_symbols": ["def ", "self", "▁self", "==", "="]},
        {"user_defined_symbols": ["<|python|>"], "byte_fallback": True, "character_coverage": 0.98},
        {"control_symbols": ["<c>", "import"], "user_defined_symbols": ["e"]},
        {"hard_vocab_limit": False},
        {"pad_id": 3, "unk_id": 2, "bos_id": 0, "eos_id": 1, "bos_piece": "<bos>", "unk_surface": "?"},
        {"bos_id": -1, "eos_id": -1},
        {"split_by_unicode_script": False, "split_digits": True, "add_dummy_prefix": False},
    ],
    ids=str,
)
def test_options(options: dict[str, Any], source_lines: list[str]) -> None:
    recipe = pw.Recipe(vocab_size=3_000, max_sentence_length=LONG_LINES, **options)
    assert_same_model(train(source_lines, recipe), sp_train(source_lines, recipe))


@pytest.mark.parametrize("symbols", [(), ("<|python|>", "§", "▁och", "och")], ids=["plain", "symbols"])
@pytest.mark.parametrize(("coverage", "length"), [(0.98, 4), (0.9995, 32), (1.0, 16)])
def test_options_on_prose(
    coverage: float, length: int, symbols: tuple[str, ...], corpus_lines: Mapping[str, list[str]]
) -> None:
    recipe = pw.Recipe.gpt_sw3(
        vocab_size=4_000,
        whitespace_runs=None,
        character_coverage=coverage,
        max_sentencepiece_length=length,
        user_defined_symbols=symbols,
        max_sentence_length=LONG_LINES,
    )
    lines = corpus_lines["manual_sv"]
    assert_same_model(train(lines, recipe), sp_train(lines, recipe))


@pytest.mark.parametrize("seed", range(320))
def test_adversarial_lines(seed: int) -> None:
    _compare_adversarial(adversarial.corpus(seed), seed)


@pytest.mark.parametrize("seed", range(1_000, 1_160))
def test_adversarial_bytes(seed: int) -> None:
    _compare_adversarial(adversarial.corpus_bytes(seed), seed)


def _compare_adversarial(lines: list[str] | list[bytes], seed: int) -> None:
    """One training at a random size; and if that is the largest, one beyond it."""
    options = adversarial.options(seed)
    try:
        allowed = limits(lines, **options)
    except RuntimeError as error:
        assert "all_chars_count" in str(error)  # nothing but NUL
        with pytest.raises(pw.InputError, match="no character but NUL"):
            train(lines, pw.Recipe(**options))
        return
    size = adversarial.vocab_size(seed, allowed.smallest, allowed.largest)
    recipe = pw.Recipe(vocab_size=size, **options)
    assert_same_model(train(lines, recipe), sp_train(lines, recipe))
    if size == allowed.largest:
        with pytest.raises(pw.VocabularyTooLargeError) as error:
            train(lines, pw.Recipe(vocab_size=size + 1, **options))
        assert error.value.largest == allowed.largest


def test_pairs_of_frequency_zero() -> None:
    # "abab" becomes [ab][a][b], then [ab][ab]: the pair (ab, a) exists for a moment, and is merged at the end.
    recipe = pw.Recipe(vocab_size=9, add_dummy_prefix=False)
    ours = pw.train(pw.count_words(["abab"]), recipe)
    assert [piece.text for piece in ours.pieces[3:]] == ["ab", "abab", "ba", "aba", "a", "b"]
    assert_same_model(ours.model_bytes, sp_train(["abab"], recipe))


def test_a_carriage_return_is_a_character(tmp_path: Path) -> None:
    text = "ab\r\nab\r\n\r\na\rb\r\r\n"
    (tmp_path / "lines.txt").write_bytes(text.encode())
    recipe = pw.Recipe(vocab_size=12)
    assert_same_model(train([text], recipe), sp_train_file(tmp_path / "lines.txt", recipe))


def test_vocabulary_too_large() -> None:
    lines, recipe = ["hello world hello there"] * 3, pw.Recipe(vocab_size=300)
    with pytest.raises(RuntimeError) as theirs:
        sp_train(lines, recipe)
    with pytest.raises(pw.VocabularyTooLargeError) as ours:
        train(lines, recipe)
    assert ours.value.largest == largest_size_in(str(theirs.value))
    assert str(ours.value.largest) in str(ours.value)


def test_vocabulary_too_large_but_not_hard() -> None:
    lines, recipe = ["hello world hello there"] * 3, pw.Recipe(vocab_size=300, hard_vocab_limit=False)
    assert_same_model(train(lines, recipe), sp_train(lines, recipe))


@pytest.mark.parametrize("lines", [["hello world"], [], ["▅"], [""]], ids=repr)
def test_no_room_or_no_text_is_an_error_in_both(lines: list[str]) -> None:
    recipe = pw.Recipe(vocab_size=5)
    with pytest.raises(RuntimeError):
        sp_train(lines, recipe)
    with pytest.raises(pw.PieceworkError):
        train(lines, recipe)


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_resize_is_training_at_that_size(name: str, all_counts: pw.WordCounts) -> None:
    largest = pw.train(all_counts, RECIPES[name])
    for size in SIZES:
        recipe = RECIPES[name].model_copy(update={"vocab_size": size})
        smaller = pw.train(all_counts, recipe)
        assert_same_model(largest.resize(size).model_bytes, smaller.model_bytes)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["paper", "portable"])
def test_resize_with_whitespace_runs(order: str, all_counts: pw.WordCounts) -> None:
    recipe = RECIPES["gpt-sw3"].model_copy(update={"whitespace_runs": order})
    largest = pw.train(all_counts, recipe)
    for size in SIZES:
        smaller = pw.train(all_counts, recipe.model_copy(update={"vocab_size": size}))
        assert_same_model(largest.resize(size).model_bytes, smaller.model_bytes)


def test_resize_is_sentencepiece_at_that_size(corpus_lines: Mapping[str, list[str]]) -> None:
    lines = corpus_lines["books_sv"] + corpus_lines["law_is"]
    recipe = pw.Recipe.gpt_sw3(vocab_size=40_000, whitespace_runs=None, max_sentence_length=LONG_LINES)
    largest = pw.train(pw.count_words(lines, threads=2), recipe)
    for size in (10_000, 30_000):
        expected = sp_train(lines, recipe.model_copy(update={"vocab_size": size}))
        assert_same_model(largest.resize(size).model_bytes, expected)


# Threads, order and batches: the counts, and so the model, stay the same.

SMALL = pw.Recipe.gpt_sw3(vocab_size=6_000)


@pytest.fixture(scope="module")
def documents(stdlib_sources: list[str]) -> list[str]:
    return [*stdlib_sources[::15], *("\n".join(adversarial.corpus(seed)) for seed in range(200))]


@pytest.fixture(scope="module")
def counts(documents: list[str]) -> pw.WordCounts:
    return pw.count_words(documents, threads=1)


@pytest.fixture(scope="module")
def model(counts: pw.WordCounts) -> bytes:
    return pw.train(counts, SMALL).model_bytes


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_threads(threads: int, documents: list[str], counts: pw.WordCounts, model: bytes) -> None:
    again = pw.count_words(documents, threads=threads)
    assert again == counts
    assert_same_model(pw.train(again, SMALL).model_bytes, model)


@pytest.mark.parametrize("seed", [1, 2])
def test_order(seed: int, documents: list[str], counts: pw.WordCounts, model: bytes) -> None:
    shuffled = random.Random(seed).sample(documents, len(documents))
    again = pw.count_words(shuffled, threads=2)
    assert again == counts
    assert_same_model(pw.train(again, SMALL).model_bytes, model)


def test_lines_or_documents_or_one_text(documents: list[str], counts: pw.WordCounts) -> None:
    assert pw.count_words(line for text in documents for line in text.split("\n")) == counts
    assert pw.count_words(["\n".join(documents)], threads=7) == counts
    assert pw.count_words(text.encode() for text in documents) == counts


@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_sum_of_batches(size: int, documents: list[str], counts: pw.WordCounts) -> None:
    few = documents[-200:]
    parts = [pw.count_words(few[at : at + size]) for at in range(0, len(few), size)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    assert total + pw.count_words(documents[:-200], threads=2) == counts


@pytest.mark.parametrize("layout", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_arrow(layout: pa.DataType, documents: list[str], counts: pw.WordCounts) -> None:
    assert pw.count_words(pa.array(documents, layout), threads=2) == counts
    chunks = [pa.array(documents[:10], layout), pa.array(documents[10:], layout)]
    assert pw.count_words(pa.chunked_array(chunks), threads=2) == counts
    assert pw.count_words(pa.array(["left out", *documents], layout)[1:], threads=2) == counts


def test_scores_and_types() -> None:
    model = parse(train(["abab ab"], pw.Recipe(vocab_size=9)))
    assert [piece.score for piece in model.pieces] == [0, 0, 0, 0, -1, -2, -3, -4, -5]
    assert [piece.HasField("type") for piece in model.pieces] == [True] * 3 + [False] * 6
