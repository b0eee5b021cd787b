"""Text of six languages, and tokenizers trained on some of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

import pytest

import piecework as pw
from conftest import Corpus
from evaluation.direct import Direct, count_directly, texts_of

SIZES = (1_000, 2_000, 3_000, 4_000, 5_120, 6_400)


Directly = Callable[[str, str, str], Direct]


@dataclass(frozen=True)
class Sample:
    """Documents by language, for training and for evaluation. They have a space instead of each ▁, like units."""

    training: Mapping[str, list[str]]
    evaluation: Mapping[str, list[str]]

    @cached_property
    def word_counts(self) -> dict[str, pw.WordCounts]:
        return {language: pw.count_words(texts) for language, texts in self.training.items()}

    @cached_property
    def units(self):  # type: ignore[no-untyped-def]
        return pw.count_units(self.evaluation)


def by_language(corpus: Corpus, sources: list[str]) -> dict[str, list[str]]:
    """Every document of the corpus and of the standard library, by language."""
    texts: dict[str, list[str]] = {"code": sources}
    for stem in corpus:
        texts.setdefault(stem.rsplit("_", 1)[1], []).extend(corpus[stem])
    return {language: [text.replace("▁", " ") for text in found] for language, found in sorted(texts.items())}


@pytest.fixture(scope="session")
def all_texts(corpus: Corpus, stdlib_sources: list[str]) -> dict[str, list[str]]:
    return by_language(corpus, stdlib_sources)


@pytest.fixture(scope="session")
def sample(all_texts: dict[str, list[str]]) -> Sample:
    training, evaluation = {}, {}
    for language, texts in all_texts.items():
        # Documents are cut, so that more of them fit in.
        step = max(len(texts) // 45, 1)
        training[language] = [text[:10_000] for text in texts[::step]]
        evaluation[language] = [text[:2_000] for text in texts[step // 2 + 1 :: step]]
    return Sample(training, evaluation)


@pytest.fixture(scope="session")
def tokenizers(sample: Sample) -> dict[str, pw.Tokenizer]:
    """The multilingual one, and one for each language."""
    together = pw.WordCounts.from_mapping({})
    for counts in sample.word_counts.values():
        together += counts
    found = {"multilingual": pw.train(together, pw.Recipe.gpt_sw3(vocab_size=SIZES[-1]))}
    for language, counts in sample.word_counts.items():
        found[language] = pw.train(counts, pw.Recipe.gpt_sw3(vocab_size=SIZES[-1], hard_vocab_limit=False))
    return found


@pytest.fixture(scope="session")
def direct(sample: Sample, tokenizers: dict[str, pw.Tokenizer]) -> Directly:
    """Applies the definition to a tokenizer and the text of a language, with or without punctuation. Keeps results."""

    @cache
    def count(name: str, language: str, kind: str) -> Direct:
        return count_directly(tokenizers[name], texts_of(kind, sample.evaluation[language]))

    return count


@pytest.fixture(scope="session")
def evaluation(sample: Sample, tokenizers: dict[str, pw.Tokenizer]) -> pw.Evaluation:
    return pw.evaluate(tokenizers, sample.units, sizes={"multilingual": SIZES}, curves=True)
