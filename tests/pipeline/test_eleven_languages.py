"""A study of eleven languages, three of them written without spaces: what it says first, and what it leaves out."""

import re
from pathlib import Path

import pytest

import piecework as pw
from catalogue_corpus import LANGUAGES, WITHOUT_SPACES, write_eleven_languages
from piecework.corpus.languages import language_name
from piecework.pipeline.results import StudyResults
from piecework.report.sections.monolingual import monolingual_section
from piecework.report.study_data import StudyData

STUDY = """
name = "eleven"
[corpus]
path = "data/{category}_{language}.jsonl"
[sampling]
train = "70%"
eval = "30%"
[recipe]
vocab_size = 8192
[analysis]
vocab_sizes = [4096]
parallel = "par/{language}.txt"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("eleven")
    write_eleven_languages(folder)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def results(folder: Path) -> StudyResults:
    return pw.run(pw.Study.load(folder / "study.toml"), out=folder / "out", warn=lambda _message: None)


def sentences(results: StudyResults) -> dict[str, str]:
    return {row["topic"]: row["sentence"] for row in results.tables["summary"].rows()}


def test_languages_without_spaces_are_detected_from_their_text(results: StudyResults) -> None:
    table = results.tables["languages"]
    assert results.languages == LANGUAGES
    assert [row["language"] for row in table.rows() if row["without_spaces"]] == WITHOUT_SPACES
    assert [row["language"] for row in table.rows() if not row["per_word"]] == WITHOUT_SPACES
    # Far from the threshold on both sides.
    assert all(row["unspaced_share"] > 0.5 or row["unspaced_share"] < 0.001 for row in table.rows())


def test_the_names_of_languages_do_not_matter(folder: Path) -> None:
    lines = {name: (folder / "par" / f"{name}.txt").read_text(encoding="utf-8").splitlines() for name in ("th", "ko")}
    tokenizer = pw.train(pw.count_words(lines["th"]), pw.Recipe(vocab_size=300, hard_vocab_limit=False))
    evaluation = pw.evaluate(tokenizer, pw.count_units({"ko": lines["th"], "th": lines["ko"]}))
    assert evaluation.without_spaces == ["ko"]


def test_the_premium_comes_first(results: StudyResults) -> None:
    first = results.tables["summary"].rows()[0]
    premiums = results.tables["parallel"].where(tokenizer="multilingual", metric="premium").rows()
    worst = max(premiums, key=lambda row: row["value"])
    assert first["topic"] == "premium"
    name = language_name(worst["language"])
    start = f"For the same text, {name} needs {worst['value']:.2f} times as many tokens as English"
    assert first["sentence"].startswith(start)
    assert (first["value"], first["low"], first["high"]) == (worst["value"], worst["low"], worst["high"])


def test_premiums_are_ratios_of_tokens(results: StudyResults, folder: Path) -> None:
    tokenizer = results.tokenizer()
    tokens = {
        language: sum(map(len, tokenizer.encode_batch(_lines(folder / "par" / f"{language}.txt"))))
        for language in LANGUAGES
    }
    rows = results.tables["parallel"].where(tokenizer="multilingual", metric="premium").rows()
    assert {row["language"]: (row["numerator"], row["denominator"]) for row in rows} == {
        language: (count, tokens["en"]) for language, count in tokens.items()
    }
    assert {row["pivot"] for row in rows} == {"en"}


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_languages_without_spaces_are_left_out_of_tokens_per_word(results: StudyResults) -> None:
    found = sentences(results)
    names = [language_name(language) for language in WITHOUT_SPACES]
    per_word = [sentence for sentence in found.values() if "tokens per word than" in sentence]
    assert per_word == [found["languages"]]
    assert found["languages"].startswith("Of the languages that separate words by spaces, ")
    assert not any(name in found["languages"] for name in names)
    assert found["without spaces"].startswith("Chinese, Japanese and Thai are written without spaces")
    values = results.tables["metrics"].where(tokenizer="multilingual", metric="characters_per_token")
    for language in WITHOUT_SPACES:
        value = values.where(language=language).rows()[0]["value"]
        assert f"{language_name(language)} {value:.2f}" in found["without spaces"]


def test_the_papers_findings_are_tested_only_on_request(folder: Path, results: StudyResults) -> None:
    assert "findings" not in results.tables
    (folder / "asked.toml").write_text(STUDY + "paper_findings = true\n", encoding="utf-8")
    asked = pw.run(pw.Study.load(folder / "asked.toml"), out=folder / "asked", warn=lambda _message: None)
    rows = asked.tables["findings"].rows()
    assert len(rows) > 20
    for language in WITHOUT_SPACES:
        assert not [row for row in rows if re.search(rf"\b{language}\b", row["case"])]


def test_without_parallel_text_tokens_per_word_come_first(folder: Path, results: StudyResults) -> None:
    (folder / "plain.toml").write_text(STUDY.replace('parallel = "par/{language}.txt"\n', ""), encoding="utf-8")
    plain = pw.run(pw.Study.load(folder / "plain.toml"), out=folder / "out", warn=lambda _message: None)
    rows = plain.tables["summary"].rows()
    assert [row["topic"] for row in rows[:2]] == ["languages", "without spaces"]
    assert rows[1]["certainty"].endswith("give the study parallel text")
    assert "parallel" not in plain.tables
    assert plain.tables["metrics"].rows() == results.tables["metrics"].rows()


def test_the_report_names_languages_in_order_and_tokenizers_that_are_smaller(results: StudyResults) -> None:
    data = StudyData(results)
    names = [data.name(language) for language in data.languages]
    assert names == sorted(names)
    section = monolingual_section(data)
    assert section is not None
    sizes = {name: results.tokenizer(name).vocab_size for name in data.monolingual}
    smaller = {name: size for name, size in sizes.items() if size < 8192}
    assert smaller
    assert "Some are smaller, because their text has no more pieces: " in section.lead
    assert section.lead.count(" pieces)") == len(smaller)
    assert all(f"{data.inline_name(name)} ({size:,} pieces)" in section.lead for name, size in smaller.items())
