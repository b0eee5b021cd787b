"""Every total equals that of the definition applied directly to whole documents, in whole numbers."""

from collections.abc import Mapping

import numpy as np
import pytest

import piecework as pw
from evaluation.conftest import SIZES, Directly, Sample
from evaluation.direct import SIZE_TOTALS, Direct, count_directly, count_with_arrays, texts_of
from thinned import EVERYTHING, thinned

KINDS = ("eval", "eval_plain")


@pytest.mark.parametrize("kind", KINDS)
def test_totals_of_all_tokenizers(evaluation: pw.Evaluation, direct: Directly, kind: str) -> None:
    for name in evaluation.tokenizers:
        for row in evaluation.totals(name, kind).rows():
            language = row.pop("language")
            assert row == dict(direct(name, language, kind).totals), (name, language)


@pytest.mark.parametrize("kind", KINDS)
def test_totals_of_all_sizes(
    sample: Sample, tokenizers: Mapping[str, pw.Tokenizer], evaluation: pw.Evaluation, kind: str
) -> None:
    counted = evaluation._result("multilingual").totals[kind]
    smallest = evaluation._result("multilingual").sizes.smallest
    for number, size in enumerate(SIZES):
        resized = tokenizers["multilingual"].resize(size)
        for group, language in enumerate(evaluation.groups):
            direct = count_directly(resized, texts_of(kind, sample.evaluation[language])).totals
            expected = [direct[name] for name in SIZE_TOTALS]
            assert counted.sizes[group, :, number].sum(axis=0).tolist() == expected, (size, language)
            assert counted.curve[group, size - smallest].tolist() == expected, (size, language)


def test_frequencies_types_and_estimates(evaluation: pw.Evaluation, direct: Directly) -> None:
    for name, tokenizer in evaluation.tokenizers.items():
        frequencies = evaluation.frequency_array(name)
        for group, language in enumerate(evaluation.groups):
            found, bare = (direct(name, language, kind) for kind in KINDS)
            expected = np.zeros(tokenizer.vocab_size, int)
            for token, count in found.frequencies.items():
                expected[token] = count
            assert frequencies[group].tolist() == expected.tolist()
            check_estimates(evaluation, name, language, found, bare, expected)


def check_estimates(
    evaluation: pw.Evaluation, name: str, language: str, direct: Direct, bare: Direct, frequencies: np.ndarray
) -> None:
    rows = {row["metric"]: row for row in evaluation.metrics.where(tokenizer=name, language=language).rows()}
    totals = direct.totals
    expected = {
        "fertility": (bare.totals["tokens"], bare.totals["starts"]),
        "continued_words": (bare.totals["continued"], bare.totals["starts"]),
        "word_fertility": (totals["tokens"], totals["words"]),
        "split_words": (totals["split_words"], totals["words"]),
        "bytes_per_token": (totals["bytes"], totals["tokens"]),
        "characters_per_token": (totals["characters"], totals["tokens"]),
        "unknown_rate": (totals["unknown"], totals["tokens"]),
        "byte_rate": (totals["byte_tokens"], totals["tokens"]),
        "partial_rate": (totals["partial"], totals["tokens"]),
        "vocabulary_utilisation": (len(direct.frequencies), len(frequencies)),
        "single_token_types": (len(direct.single_types), len(direct.types)),
    }
    for metric, (numerator, denominator) in expected.items():
        row = rows.pop(metric)
        assert (row["numerator"], row["denominator"]) == (numerator, denominator), (name, language, metric)
        assert row["value"] == numerator / denominator
        assert row["low"] <= row["value"] <= row["high"]
    renyi = rows.pop("renyi_efficiency")
    shares = frequencies / frequencies.sum()
    assert renyi["value"] == pytest.approx(np.log((shares**2.5).sum()) / -1.5 / np.log(len(frequencies)), rel=1e-12)
    assert not rows


def test_threads_and_recipes(sample: Sample) -> None:
    """Without byte fallback, without a dummy prefix, with runs in the other order; on one thread and on two."""
    words = sample.word_counts["da"] + sample.word_counts["code"]
    texts = {language: sample.evaluation[language][::3] for language in ("code", "da", "is")}
    recipes = {
        "unknown": pw.Recipe(vocab_size=2000, character_coverage=0.99, hard_vocab_limit=False),
        "no prefix": pw.Recipe.gpt_sw3(vocab_size=2000, add_dummy_prefix=False, whitespace_runs=None),
        "portable": pw.Recipe.gpt_sw3(vocab_size=2000, whitespace_runs="portable"),
    }
    tokenizers = {name: pw.train(words, recipe) for name, recipe in recipes.items()}
    units = pw.count_units(texts)
    one, two = (pw.evaluate(tokenizers, units, sizes=[1000, 1500], threads=threads) for threads in (1, 2))
    assert one.metrics.rows() == two.metrics.rows()
    assert one.sizes.rows() == two.sizes.rows()
    for name, tokenizer in tokenizers.items():
        totals = {row.pop("language"): row for row in one.totals(name).rows()}
        curve = one._result(name).totals["eval"].curve
        for group, (language, documents) in enumerate(texts.items()):
            direct = count_directly(tokenizer, documents)
            assert totals[language] == dict(direct.totals)
            row = one.metrics.where(tokenizer=name, language=language, metric="single_token_types").rows()[0]
            # Without a prefix this cannot be compared: for the oracle, each word is the first of its text.
            if name != "no prefix":
                assert row["numerator"] == len(direct.single_types)
            smaller = count_directly(tokenizer.resize(1000), documents).totals
            at = 1000 - one._result(name).sizes.smallest
            assert curve[group, at].tolist() == [smaller[total] for total in SIZE_TOTALS]


def test_arrays_count_what_plain_python_counts(sample: Sample, tokenizers: Mapping[str, pw.Tokenizer]) -> None:
    for texts in sample.evaluation.values():
        direct = count_directly(tokenizers["multilingual"], texts[::3]).totals
        assert count_with_arrays(tokenizers["multilingual"], texts[::3]) == {n: direct[n] for n in SIZE_TOTALS}


@pytest.mark.slow
def test_the_whole_corpus(all_texts: dict[str, list[str]]) -> None:
    """A vocabulary from a third of all documents, and every size on another sixtieth of them.

    `make parity` takes all documents at all sizes, and a tokenizer for each language too, which takes SentencePiece a
    quarter of an hour.
    """
    sizes = [10_000, 20_000, 30_000, 40_000, 51_200, 64_000]
    counts = {language: pw.count_words(thinned(texts, 3)) for language, texts in all_texts.items()}
    together = pw.WordCounts.from_mapping({})
    for words in counts.values():
        together += words
    multilingual = pw.train(together, pw.Recipe.gpt_sw3())
    if EVERYTHING:
        check_sizes("multilingual", multilingual, sizes, all_texts)
        for language, words in counts.items():
            check_sizes(language, pw.train(words, pw.Recipe.gpt_sw3()), [64_000], all_texts)
    else:
        for number, size in enumerate(sizes):
            part = {language: texts[number::60] for language, texts in all_texts.items()}
            check_sizes("multilingual", multilingual, [size], part)


def check_sizes(name: str, tokenizer: pw.Tokenizer, sizes: list[int], texts_by_language: dict[str, list[str]]) -> None:
    units = pw.count_units(texts_by_language)
    evaluation = pw.evaluate({name: tokenizer}, units, sizes=sizes, metrics=["fertility", "word_fertility"])
    for kind in KINDS:
        counted = evaluation._result(name).totals[kind].sizes
        assert counted is not None
        for group, (language, texts) in enumerate(texts_by_language.items()):
            documents = texts_of(kind, texts)
            for number, size in enumerate(sizes):
                expected = count_with_arrays(tokenizer.resize(size), documents)
                found = counted[group, :, number].sum(axis=0).tolist()
                assert found == list(expected.values()), (name, kind, language, size)
