"""Parity with SentencePiece on real text in 21 scripts that the test extra installs: nothing else is needed."""

import unicodedata

import pytest
import tokenizers

import piecework as pw
from evaluation.direct import count_directly
from installed_text import NORDIC, SCRIPTS, lines, translations
from sentencepiece_oracle import assert_same_ids, assert_same_model, encode_batch, load, sp_train

LONG_LINES = 2**30


def recipe(name: str, vocab_size: int) -> pw.Recipe:
    if name == "plain":
        return pw.Recipe(vocab_size=vocab_size, character_coverage=0.999, max_sentence_length=LONG_LINES)
    return pw.Recipe.gpt_sw3(vocab_size=vocab_size, whitespace_runs=None, max_sentence_length=LONG_LINES)


@pytest.fixture(scope="module")
def nordic() -> pw.Tokenizer:
    """The paper's recipe on four Nordic languages."""
    texts = [text for language in NORDIC for text in translations(language)]
    return pw.train(pw.count_words(texts, threads=2), pw.Recipe.gpt_sw3(vocab_size=16_000))


def test_the_scripts_are_what_they_are_called() -> None:
    for language, script in SCRIPTS.items():
        text = "".join(translations(language))
        expected = {"Han": "CJK"}.get(script.split()[0].rstrip(","), script.split()[0]).upper()
        letters = [unicodedata.name(character, "") for character in text if character.isalpha()]
        assert sum(name.startswith(expected) for name in letters) > 0.1 * len(letters), language


@pytest.mark.parametrize("name", ["plain", "gpt-sw3"])
@pytest.mark.parametrize("language", SCRIPTS)
def test_training_each_script(language: str, name: str) -> None:
    # Amharic has too little text for 3,000 pieces, and Chinese needs that many characters.
    chosen = recipe(name, 3_000).model_copy(update={"hard_vocab_limit": False})
    expected = sp_train(lines(language), chosen)
    assert_same_model(pw.train(pw.count_words(lines(language), threads=2), chosen).model_bytes, expected)


@pytest.mark.parametrize("name", ["plain", "gpt-sw3"])
def test_training_all_scripts_together(name: str) -> None:
    """One vocabulary for 21 scripts, and every smaller size from it."""
    all_lines = [line for language in SCRIPTS for line in lines(language)]
    largest = pw.train(pw.count_words(all_lines, threads=2), recipe(name, 20_000))
    assert_same_model(largest.model_bytes, sp_train(all_lines, recipe(name, 20_000)))
    assert_same_model(largest.resize(8_000).model_bytes, sp_train(all_lines, recipe(name, 8_000)))


@pytest.mark.parametrize("language", SCRIPTS)
def test_encoding_each_script(language: str, nordic: pw.Tokenizer) -> None:
    """With a model of other languages, so that much of the text falls back to bytes."""
    texts = translations(language)
    ids = nordic.encode_batch(texts, threads=2)
    assert_same_ids(texts, ids, encode_batch(load(nordic.model_bytes), texts))
    assert [nordic.decode(each) for each in ids] == load(nordic.model_bytes).decode(ids)


def test_evaluation_is_what_counting_every_token_gives(nordic: pw.Tokenizer) -> None:
    texts = {language: translations(language)[::10] for language in (*NORDIC, "ja", "ar")}
    metrics = pw.evaluate({"nordic": nordic}, pw.count_units(texts)).metrics
    for language, documents in texts.items():
        direct = count_directly(nordic, documents).totals
        (row,) = metrics.where(metric="word_fertility", language=language).rows()
        assert (row["numerator"], row["denominator"]) == (direct["tokens"], direct["words"]), language
        (row,) = metrics.where(metric="bytes_per_token", language=language).rows()
        assert (row["numerator"], row["denominator"]) == (direct["bytes"], direct["tokens"]), language


def test_the_exported_tokenizer_gives_the_same_ids(
    nordic: pw.Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("hf")
    pw.export(nordic, folder, to="hf")
    exported = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    for language in (*NORDIC, "hi", "zh_CN"):
        texts = translations(language)[::5]
        theirs = [encoding.ids for encoding in exported.encode_batch(texts, add_special_tokens=False)]
        assert_same_ids(texts, nordic.encode_batch(texts), theirs)
