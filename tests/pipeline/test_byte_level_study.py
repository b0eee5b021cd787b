"""A study of byte-level BPE: counted, trained, evaluated and reported as a study of SentencePiece is."""

import json
from pathlib import Path

import pytest

import piecework as pw
from bytelevel.hugging_face import hf_train, saved_bytes
from evaluation.byte_level_direct import count_byte_level_directly
from evaluation.direct import texts_of
from piecework.counting.local import count
from piecework.counting.plan import Plan
from piecework.pipeline.results import StudyResults
from piecework.study.study import Study
from piecework.training.trainer import train_any
from pipeline.studies import change_study, contents, run_study, small_corpus, times, write_study
from report.html import parse

STUDY = """
name = "bytes"
[corpus]
path = "data/{category}_{language}.jsonl"
[weights]
language = { is = 2 }
[sampling]
train = "60%"
eval = "20%"
[recipe]
preset = "gpt4o"
vocab_size = 560
[analysis]
vocab_sizes = [400, 560]
"""


@pytest.fixture(scope="module")
def study_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    corpus = {name: texts for name, texts in small_corpus().items() if "_" in name}
    return write_study(tmp_path_factory.mktemp("bytes"), corpus=corpus, text=STUDY)


@pytest.fixture(scope="module")
def results(study_file: Path) -> StudyResults:
    return run_study(study_file)[0]


def sampled(study: Study) -> tuple[dict[str, list[str]], dict[str, list[str]], dict[str, list[int]]]:
    """By language: training documents as often as they are used, evaluation documents, and their buckets."""
    sampler = Plan.from_study(study).sampler()
    train: dict[str, list[str]] = {}
    evaluation: dict[str, list[str]] = {}
    buckets: dict[str, list[int]] = {}
    for subset in Plan.from_study(study).subsets:
        for file in subset.files:
            for line in Path(str(file.path)).read_text(encoding="utf-8").splitlines():
                text = json.loads(line)["text"]
                placement = sampler.place(text.encode(), subset.name)
                train.setdefault(subset.language, []).extend([text] * placement.copies)
                if placement.evaluation:
                    evaluation.setdefault(subset.language, []).append(text)
                    buckets.setdefault(subset.language, []).append(placement.bucket)
    return train, evaluation, buckets


@pytest.mark.parametrize("options", [{}, {"shard_bytes": 4000, "table_bytes": 2000}], ids=["whole", "spilled"])
def test_counts_are_those_of_the_sampled_documents(study_file: Path, tmp_path: Path, options: dict[str, int]) -> None:
    study = Study.load(study_file)
    counts = count(study, out=tmp_path, threads=2, **options)
    train, evaluation, buckets = sampled(study)
    assert counts.pre_tokenizer == pw.PreTokenizer("o200k")
    every = [text for texts in train.values() for text in texts]
    assert counts.training() == pw.count_pre_tokens(every, pre_tokenizer="o200k")
    assert counts.training("is") == pw.count_pre_tokens(train["is"], pre_tokenizer="o200k")
    expected = pw.count_units(evaluation, buckets=buckets, pre_tokenizer="o200k")
    for plain in (False, True):
        found, wanted = (
            sorted(
                ((row["language"], row["bucket"], row["context"], row["unit"]), row["count"])
                for row in each.evaluation(plain=plain).to_pylist()
            )
            for each in (counts, expected)
        )
        sums: dict[object, int] = {}
        for key, number in found:  # a language has several categories
            sums[key] = sums.get(key, 0) + number
        assert sorted(sums.items()) == wanted


def test_tokenizers_are_those_of_hugging_face(study_file: Path, results: StudyResults, tmp_path: Path) -> None:
    train = sampled(Study.load(study_file))[0]
    recipe = results.study.recipe
    assert isinstance(recipe, pw.ByteLevelRecipe)
    every = [text for texts in train.values() for text in texts]
    for name, texts in {"multilingual": every, "sv": train["sv"]}.items():
        saved = (results.folder / "tokenizers" / name / "tokenizer.json").read_bytes()
        assert saved == saved_bytes(hf_train(texts, recipe), tmp_path), name
    small = recipe.model_copy(update={"vocab_size": 400})
    saved = (results.folder / "tokenizers" / "multilingual-400" / "tokenizer.json").read_bytes()
    assert saved == saved_bytes(hf_train(every, small), tmp_path)


def test_metrics_are_those_of_the_documents(study_file: Path, results: StudyResults) -> None:
    evaluation = sampled(Study.load(study_file))[1]
    for name in ("multilingual", "multilingual-400", "is"):
        tokenizer = results.tokenizer(name)
        assert isinstance(tokenizer, pw.ByteLevelTokenizer)
        for language in ("sv", "is"):
            rows = results.tables["metrics"].where(tokenizer=name, language=language).rows()
            found = {row["metric"]: (row["numerator"], row["denominator"]) for row in rows}
            whole, plain = (
                count_byte_level_directly(tokenizer, texts_of(kind, evaluation[language])).totals
                for kind in ("eval", "eval_plain")
            )
            assert found["fertility"] == (plain["tokens"], plain["starts"])
            assert found["continued_words"] == (plain["continued"], plain["starts"])
            assert found["word_fertility"] == (whole["tokens"], whole["words"])
            assert found["split_words"] == (whole["split_words"], whole["words"])
            assert found["bytes_per_token"] == (whole["bytes"], whole["tokens"])
            assert found["partial_rate"] == (whole["partial"], whole["tokens"])


def test_report_and_cards(results: StudyResults) -> None:
    text = parse(results.report.read_text(encoding="utf-8")).text
    assert "byte-level BPE, pre-tokenizer o200k" in text
    card = (results.folder / "tokenizers" / "multilingual" / "README.md").read_text(encoding="utf-8")
    assert "byte-level BPE tokenizer of 560 pieces" in card
    assert "| pre_tokenizer | `o200k` |" in card
    assert results.tables["overlap"].rows()


def test_a_second_run_does_nothing_and_settings_are_kept(study_file: Path, results: StudyResults) -> None:
    before = times(results.folder)
    again, warnings = run_study(study_file)
    assert times(again.folder) == before
    assert not warnings
    assert again.study.recipe == Study.load(study_file).recipe
    assert contents(again.folder) == contents(results.folder)


def test_another_pre_tokenizer_counts_again(study_file: Path, results: StudyResults) -> None:
    counts = results.counts
    assert counts is not None
    with pytest.raises(pw.InputError, match="and the recipe is SentencePiece's"):
        train_any(counts.training(), pw.Recipe(vocab_size=400))
    changed = change_study(study_file.parent / "other.toml", STUDY, {"gpt4o": "llama3"})
    with pytest.raises(pw.InputError, match="settings that differ: pre_tokenizer"):
        count(Study.load(changed), out=results.folder)
    assert counts.pre_tokenizer == pw.PreTokenizer("o200k")
