"""A study with several recipes: each is trained and evaluated on the same documents, and the report compares them."""

import shutil
from pathlib import Path

import pytest

import piecework as pw
from piecework.errors import StudyError
from piecework.pipeline.results import StudyResults
from piecework.playground.app import Answers
from piecework.playground.catalogue import Catalogue
from piecework.playground.requests import EstimatesRequest
from piecework.study.study import Study
from pipeline.studies import STUDY, change_study, contents, run_study, times, write_study
from report.html import parse

RECIPES = """
[recipes.bytes]
preset = "gpt4o"
vocab_size = 560
[recipes.small]
vocab_size = 500
[analysis]
"""
TEXT = STUDY.replace("[analysis]\n", RECIPES)


@pytest.fixture(scope="module")
def study_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_study(tmp_path_factory.mktemp("recipes"), text=TEXT)


@pytest.fixture(scope="module")
def results(study_file: Path) -> StudyResults:
    return run_study(study_file)[0]


def test_each_recipe_is_trained_on_its_own_counts(results: StudyResults) -> None:
    folder = results.folder / "recipes"
    assert sorted(path.name for path in folder.iterdir()) == ["bytes", "small"]
    bytes_study = results.recipes["bytes"]
    tokenizer = bytes_study.tokenizer()
    assert isinstance(tokenizer, pw.ByteLevelTokenizer)
    counts = bytes_study.counts
    assert counts is not None
    assert tokenizer.json_bytes == pw.train(counts.training(), bytes_study.study.recipe).json_bytes
    assert bytes_study.tokenizers[:3] == ["multilingual", "multilingual-400", "multilingual-512"]


def test_all_recipes_have_the_same_documents(results: StudyResults) -> None:
    first = results.counts
    assert first is not None
    keys = ("category", "language", "train_copies", "eval_documents", "eval_bytes")
    expected = [[row.get(key) for key in keys] for row in first.subset_rows]
    for further in results.recipes.values():
        counts = further.counts
        assert counts is not None
        assert [[row.get(key) for key in keys] for row in counts.subset_rows] == expected


def test_the_table_has_the_metrics_of_each_study(results: StudyResults) -> None:
    rows = results.tables["recipes"].rows()
    assert {row["recipe"] for row in rows} == {"multilingual", "bytes", "small"}
    studies = {"multilingual": results, **results.recipes}
    checked = 0
    for row in rows:
        found = {
            each["metric"]: each
            for each in studies[row["recipe"]].tables["metrics"].rows()
            if each["tokenizer"] == "multilingual" and each["language"] == row["language"]
        }
        if row["metric"] == "sequence_length":
            base = next(
                each["denominator"]
                for each in results.tables["metrics"].rows()
                if each["tokenizer"] == "multilingual"
                and each["language"] == row["language"]
                and each["metric"] == "bytes_per_token"
            )
            assert row["value"] == found["bytes_per_token"]["denominator"] / base
        else:
            assert (row["value"], row["low"]) == (found[row["metric"]]["value"], found[row["metric"]]["low"])
            checked += 1
    assert checked > 50
    # Every recipe has the same number of characters, except in code: SentencePiece recipes add the code token there.
    # The number of bytes may differ: SentencePiece reads a literal ▁ as a space.
    sizes = {
        (each["language"], each["numerator"])
        for study in studies.values()
        for each in study.tables["metrics"].rows()
        if each["tokenizer"] == "multilingual" and each["metric"] == "characters_per_token"
        if each["language"] not in ("code", "overall")
    }
    assert len(sizes) == len({language for language, _ in sizes})


def test_the_report_compares_them(results: StudyResults) -> None:
    page = parse(results.report.read_text(encoding="utf-8"))
    text = page.text
    assert "Recipes side by side" in text
    assert "bytes is byte-level BPE with 560 pieces" in text


def test_a_second_run_does_nothing(study_file: Path, results: StudyResults) -> None:
    before = times(results.folder)
    again, warnings = run_study(study_file)
    assert times(results.folder) == before and not warnings
    assert contents(again.folder) == contents(results.folder)


def test_the_playground_shows_them(results: StudyResults) -> None:
    answers = Answers(Catalogue.from_study(StudyResults.load(results.folder)))
    assert {"bytes", "small"} <= set(answers.about()["with_estimates"])
    row = next(
        row
        for row in results.tables["recipes"].rows()
        if (row["recipe"], row["language"], row["metric"]) == ("bytes", "sv", "bytes_per_token")
    )
    asked = EstimatesRequest(tokenizer="bytes", metric="bytes_per_token", vocab_size=560)
    found = {each["language"]: each["value"] for each in answers.estimates(asked)["estimates"]}
    assert found["sv"] == row["value"]


def test_a_recipe_that_is_dropped_leaves_the_report(results: StudyResults, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(results.folder.parent, folder)
    change_study(folder / "study.toml", STUDY, {})
    changed, _ = run_study(folder / "study.toml")
    assert "recipes" not in changed.tables
    assert "Recipes side by side" not in changed.report.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('preset = "gpt4o"', 'preset = "gpt5"', r':\d+: preset = "gpt5" in \[recipes.bytes\]'),
        (
            'preset = "gpt4o"',
            'preset = "gpt4o"\nbyte_fallback = true',
            r'"byte_fallback" in \[recipes.bytes\] is a setting of',
        ),
        (
            'preset = "gpt4o"',
            'preset = "gpt4o"\ndigitss = "ones"',
            r'"digitss" in \[recipes.bytes\]; did you mean "digits"',
        ),
        ("vocab_size = 560", "vocab_size = 100", r"vocab_size = 100 in \[recipes.bytes\]"),
        ("[recipes.bytes]", "[recipes.multilingual]", r'"multilingual" in \[recipes\] is taken'),
        ("[recipes.bytes]", '[recipes."../x"]', r'"\.\./x" in \[recipes\]'),
    ],
)
def test_mistakes_are_named(before: str, after: str, message: str, tmp_path: Path) -> None:
    path = change_study(tmp_path / "study.toml", TEXT, {before: after})
    with pytest.raises(StudyError, match=message):
        Study.load(path, check_corpus=False)
