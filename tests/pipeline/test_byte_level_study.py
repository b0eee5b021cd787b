"""A study of byte-level BPE: counted, trained, evaluated and reported as a study of SentencePiece is."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import piecework as pw
from bytelevel.hugging_face import hf_train, saved_bytes
from evaluation.byte_level_direct import count_byte_level_directly
from evaluation.direct import texts_of
from piecework.common.pre_tokenizer import SLOW
from piecework.counting.local import count
from piecework.counting.plan import Plan
from piecework.pipeline.results import StudyResults
from piecework.playground.catalogue import Catalogue, NativeTokenizer
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


PATTERN = r"\s?\p{L}+|\p{N}{1,2}|[^\s\p{L}\p{N}]+|\s+"
CUSTOM = STUDY.replace("vocab_size = 560", f"pre_tokenizer = 'custom'\npattern = '{PATTERN}'\nvocab_size = 560")
STUDIES = {"o200k": (STUDY, pw.PreTokenizer("o200k")), "custom": (CUSTOM, pw.PreTokenizer("custom", pattern=PATTERN))}


@pytest.fixture(scope="module", params=list(STUDIES))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def study_file(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    corpus = {name: texts for name, texts in small_corpus().items() if "_" in name}
    return write_study(tmp_path_factory.mktemp(kind), corpus=corpus, text=STUDIES[kind][0])


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
def test_counts_are_those_of_the_sampled_documents(
    kind: str, study_file: Path, tmp_path: Path, options: dict[str, int]
) -> None:
    study = Study.load(study_file)
    counts = count(study, out=tmp_path, threads=2, warn=lambda _message: None, **options)
    train, evaluation, buckets = sampled(study)
    cut = STUDIES[kind][1]
    assert counts.pre_tokenizer == cut
    every = [text for texts in train.values() for text in texts]
    assert counts.training() == pw.count_pre_tokens(every, pre_tokenizer=cut)
    assert dict(counts.training("is").items()) == Counter(part for text in train["is"] for part in cut.split(text))
    expected = pw.count_units(evaluation, buckets=buckets, pre_tokenizer=cut)
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


def test_report_and_cards(kind: str, results: StudyResults) -> None:
    text = parse(results.report.read_text(encoding="utf-8")).text
    assert f"byte-level BPE, pre-tokenizer {kind}" in text
    assert kind != "custom" or f"with pattern = {PATTERN}" in text
    card = (results.folder / "tokenizers" / "multilingual" / "README.md").read_text(encoding="utf-8")
    assert "byte-level BPE tokenizer of 560 pieces" in card
    assert f"| pre_tokenizer | `{kind}` |" in card
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
    with pytest.raises(pw.RecipeError, match='the recipe is for "llama3"; count again'):
        train_any(counts.training(), pw.Recipe.byte_level("llama3", vocab_size=400))
    changed = change_study(study_file.parent / "other.toml", STUDY, {"gpt4o": "llama3"})
    with pytest.raises(pw.InputError, match="settings that differ: pre_tokenizer"):
        count(Study.load(changed), out=results.folder)
    assert counts.pre_tokenizer == Study.load(study_file).recipe.count_settings().pre_tokenizer


def test_a_pattern_is_slower_and_another_one_counts_again(tmp_path: Path) -> None:
    study = write_study(tmp_path, corpus={"a_sv": small_corpus()["books_sv"]}, text=CUSTOM, **{"is = 2": "sv = 2"})
    said: list[str] = []
    counts = count(Study.load(study), out=tmp_path, warn=said.append)
    assert [message for message in said if message == SLOW]
    again: list[str] = []
    assert count(Study.load(study), out=tmp_path, warn=again.append).training() == counts.training()
    assert not again, "nothing was counted"
    other = change_study(tmp_path / "other.toml", study.read_text("utf-8"), {"{1,2}": "{1,3}"})
    with pytest.raises(pw.InputError, match="settings that differ: pre_tokenizer"):
        count(Study.load(other), out=tmp_path)


def test_parts_that_a_pattern_leaves_out_are_counted_and_reported(tmp_path: Path) -> None:
    """A run does not end for them, and loses nothing."""
    pattern = r"(?!xyzzy)\S|\s"
    text = (
        CUSTOM.replace(PATTERN, pattern).replace('"60%"', '"50%"').replace('"20%"', '"50%"').replace("is = 2", "sv = 1")
    )
    study = write_study(tmp_path, corpus={"a_sv": ["hej xyzzy", "xyzzy", *map(str, range(40))]}, text=text)
    said: list[str] = []
    counts = count(Study.load(study), out=tmp_path, shard_bytes=100, warn=said.append)
    train = sampled(Study.load(study))[0]["sv"]
    expected = Counter(part for text in train for part in pw.PreTokenizer("custom", pattern=pattern).split(text))
    assert dict(counts.training().items()) == expected
    message = next(message for message in said if "does not match" in message)
    assert "most of them start with 'x' (U+0078). Each is a pre-token of its own, as in tokenizers" in message


def test_a_killed_count_of_a_pattern_resumes(tmp_path: Path) -> None:
    study = write_study(tmp_path, corpus={"a_sv": small_corpus()["books_sv"]}, text=CUSTOM, **{"is = 2": "sv = 2"})
    whole = count(Study.load(study), out=tmp_path / "whole", warn=lambda _message: None, shard_bytes=3000)

    def stop(_stage: str, done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count(Study.load(study), out=tmp_path / "out", threads=1, progress=stop, warn=print, shard_bytes=3000)
    assert list((tmp_path / "out/counts/.partial").iterdir())
    count(Study.load(study), out=tmp_path / "out", warn=print, shard_bytes=3000)
    assert contents(tmp_path / "out/counts") == contents(whole.folder)


def test_the_playground_and_datasets(results: StudyResults, study_file: Path, tmp_path: Path) -> None:
    """At smaller sizes too."""
    tokenizer = results.tokenizer()
    assert isinstance(tokenizer, pw.ByteLevelTokenizer)
    lane = Catalogue.from_study(results)["multilingual"]
    assert isinstance(lane, NativeTokenizer)
    text = "Hej, på dig 2024! det er 10"
    cuts = lane.sized().cuts(text)
    for size in range(lane.sized().sizes.smallest, 561, 40):
        assert (
            cuts.token_count(size) == len(tokenizer.resize(size).encode(text))
            if size != 560
            else len(tokenizer.encode(text))
        )
    dataset = pw.tokenize(
        pw.Study.load(study_file), tokenizer, out=tmp_path / "ids", to="numpy", sizes=[400, 560], threads=1
    )
    for size in (400, 560):
        ids = np.load(next((dataset.folder / str(size)).glob("books_sv-*0.npy")))
        texts = [
            json.loads(line)["text"]
            for line in (study_file.parent / "data/books_sv.jsonl").read_text("utf-8").splitlines()
        ]
        own = tokenizer.resize(size)
        assert ids.tolist() == [number for each in own.encode_batch(texts) for number in each]


def test_the_code_token_of_a_byte_level_study(tmp_path: Path) -> None:
    """It is no text to count; `tokenize` puts it before code documents."""
    corpus = small_corpus()
    code = '[[corpus.subset]]\npath = "data/python.jsonl"\nlanguage = "code"\ncategory = "python"\n'
    token = 'code_token = "<|python|>"\n'
    text = STUDY.replace("[weights]", f"{code}{token}[weights]")
    refused = write_study(tmp_path, corpus=corpus, text=text)
    with pytest.raises(pw.StudyError, match=r'code_token = "<\|python\|>" in .* not among the special_tokens'):
        pw.Study.load(refused)
    special = {"vocab_size = 560": 'vocab_size = 560\nspecial_tokens = ["<|endoftext|>", "<|python|>"]'}
    study = change_study(tmp_path / "study.toml", text, special)
    plain = change_study(tmp_path / "plain.toml", text.replace(token, ""), special)
    found, without = run_study(study)[0], run_study(plain, out=tmp_path / "plain")[0]
    assert found.counts is not None and without.counts is not None
    assert found.counts.training() == without.counts.training()
    assert found.counts.evaluation() == without.counts.evaluation()
    tokenizer = found.tokenizer()
    assert isinstance(tokenizer, pw.ByteLevelTokenizer)
    assert tokenizer.json_bytes == without.tokenizer().json_bytes  # type: ignore[union-attr]
    dataset = pw.tokenize(pw.Study.load(study), tokenizer, out=tmp_path / "ids", to="numpy", threads=1)
    ids = np.load(next(dataset.folder.glob("python_code-*0.npy"))).tolist()
    expected = [[tokenizer.model.special_tokens["<|python|>"], *tokenizer.encode(each)] for each in corpus["python"]]
    assert ids == [number for each in expected for number in each]
