"""A whole study in the playground: its tokenizers, estimates at every size, frequencies; with counts and without."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import piecework as pw
from piecework.common.manifest import write_manifest
from piecework.pipeline.results import StudyResults
from piecework.playground.app import Answers
from piecework.playground.catalogue import Catalogue, NativeTokenizer
from piecework.playground.estimates import METRICS, Estimates, EstimateStore
from piecework.playground.known import known_tokenizers
from piecework.playground.requests import EncodeRequest, EstimatesRequest, MergesRequest, VocabularyRequest
from piecework.results.folder import read_run
from pipeline.studies import run_study, write_study
from playground.running import running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write_study(tmp_path_factory.mktemp("study"))
    results, _ = run_study(path)
    return results.folder


@pytest.fixture(scope="module")
def results(folder: Path) -> StudyResults:
    return StudyResults.load(folder)


@pytest.mark.parametrize("name", ["multilingual", "multilingual-512", "sv"])
def test_estimates_of_its_tokenizers_equal_resize(results: StudyResults, name: str) -> None:
    estimates = EstimateStore(Catalogue.from_study(results)).get(name)
    tokenizer = results.tokenizer(name)
    assert results.counts is not None
    for size in (450, 500, tokenizer.vocab_size):
        if size > tokenizer.vocab_size:
            continue
        evaluation = pw.evaluate({"smaller": tokenizer.resize(size)}, results.counts, metrics=METRICS)
        for metric in METRICS:
            wanted = {row["language"]: row["value"] for row in evaluation.metrics.where(metric=metric).rows()}
            found = {row["language"]: row["value"] for row in estimates.at(metric, size) if row["language"] in wanted}
            assert found == wanted
    drawn = estimates.curve_points("fertility")
    assert drawn["sizes"][0] == estimates.first_size
    assert drawn["sizes"][-1] == tokenizer.vocab_size


def test_use_of_the_pieces(results: StudyResults) -> None:
    answers = Answers(Catalogue.from_study(results))
    search = {"sort": "sv", "descending": True, "limit": 5}
    asked = VocabularyRequest.model_validate({"tokenizer": "multilingual", "search": search})
    found = answers.vocabulary(asked)
    assert found["languages"] == results.languages
    place = results.languages.index("sv")
    counts = sorted(results.tables["pieces"].column("tokens_sv"), reverse=True)
    assert [row["use"][place] for row in found["rows"]] == counts[:5]


@pytest.mark.parametrize("name", ["multilingual", "multilingual-512", "sv"])
def test_merges_have_the_frequencies_of_training(results: StudyResults, name: str) -> None:
    answers = Answers(Catalogue.from_study(results))
    tokenizer = results.tokenizer(name)
    words = [piece.text for piece in tokenizer.pieces if piece.group == "regular" and piece.text.startswith("▁")]
    asked = MergesRequest(text=max(words, key=len)[1:], tokenizer=name, at=0)
    steps = answers.merges(asked)["steps"]
    assert steps
    assert results.counts is not None
    language = None if name.startswith("multilingual") else name
    trained = pw.train(results.counts.training(language), pw.Recipe.gpt_sw3(vocab_size=640))
    assert trained.frequencies is not None
    assert [step["frequency"] for step in steps] == [trained.frequencies[step["piece"]] for step in steps]


def test_without_counts_the_tables_tell(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "moved")
    shutil.rmtree(tmp_path / "moved" / "counts")
    with running(tmp_path / "moved", cwd=tmp_path) as server:
        _, about, _ = server.request("GET", "/api/about")
        assert about["study"] == "small"
        assert about["tokenizers"][:2] == ["multilingual", "multilingual-400"]
        assert about["with_estimates"] == ["multilingual"]
        asked = {"tokenizer": "multilingual", "metric": "fertility", "vocab_size": 500, "curves": True}
        answer = server.ask("estimates", asked)
        assert {row["language"] for row in answer["estimates"]} == {"code", "da", "is", "sv", "overall"}
        status, content, _ = server.request("POST", "/api/estimates", asked | {"tokenizer": "sv"})
        assert status == 400
        assert "no counted text" in content["error"]


def test_samples_are_the_passages_of_the_study(results: StudyResults) -> None:
    about = Answers(Catalogue.from_study(results)).about()
    passages = {(row["language"], row["text"]) for row in results.tables["examples"].rows()}
    assert {(sample["language"], sample["text"]) for sample in about["samples"]} <= passages
    first = [sample["language"] for sample in about["samples"][: len(results.languages)]]
    assert sorted(first) == sorted(results.languages)


def test_installed_tokenizers_are_offered(
    results: StudyResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "hub" / "models--someone--small" / "snapshots" / "0"
    shutil.copytree(results.folder / "tokenizers" / "sv", model)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    known = known_tokenizers()
    assert known == {"someone/small": str(model / "tokenizer.json")}
    catalogue = Catalogue.from_study(results)
    catalogue.add_known({**known, "sv": "elsewhere"})
    assert catalogue.known == ["someone/small"]
    assert catalogue.names[-1] == "someone/small"
    asked = EncodeRequest.model_validate({"text": "hej", "lanes": [{"tokenizer": "someone/small"}]})
    lane = Answers(catalogue).encode(asked)["lanes"][0]
    assert lane["ids"].tolist() == results.tokenizer("sv").encode("hej")


def test_a_study_that_is_not_done(tmp_path: Path, folder: Path) -> None:
    shutil.copytree(folder, tmp_path / "half")
    run = read_run(folder)
    assert run is not None
    write_manifest(tmp_path / "half" / "run.json", {**run, "complete": False})
    with pytest.raises(pw.InputError, match="has not finished"):
        StudyResults.load(tmp_path / "half")


def test_languages_without_spaces_have_no_estimates_per_word(results: StudyResults) -> None:
    thai = ["ภาษาไทยเขียนโดยไม่เว้นวรรคระหว่างคำ", "คนอ่านแยกคำเอง"] * 60
    counts = pw.count_units({"sv": ["ett hus vid havet", "en båt på sjön"] * 60, "th": thai})
    tokenizer = results.tokenizer()
    catalogue = Catalogue({"own": lambda: NativeTokenizer(tokenizer, name="own")}, counts=counts)
    answers = Answers(catalogue)
    size = tokenizer.vocab_size

    def ask(metric: str) -> tuple[list[str], list[str], list[str]]:
        asked = EstimatesRequest(tokenizer="own", metric=metric, vocab_size=size, curves=True)
        answer = answers.estimates(asked)
        shown = [row["language"] for row in answer["estimates"]]
        return shown, list(answer["curves"]["values"]), list(answer["without_spaces"])

    assert ask("fertility") == (["sv"], ["sv"], ["th"])
    assert ask("bytes_per_token") == (["sv", "th"], ["sv", "th"], [])
    # The estimate for all text would mix words with strings that are no words.
    values = dict.fromkeys(("sv", "th", "overall"), np.array([3.0, 2.0]))
    curves = dict.fromkeys(("fertility", "bytes_per_token"), values)
    estimates = Estimates(10, curves, ("sv", "th"), np.zeros((2, 11)), without_spaces=("th",))
    assert [row["language"] for row in estimates.at("fertility", 11)] == ["sv"]
    assert [row["language"] for row in estimates.at("bytes_per_token", 11)] == ["sv", "th", "overall"]
