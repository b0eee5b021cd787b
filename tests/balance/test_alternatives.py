"""What other weights would give: presets, balanced weights and parity-aware training, side by side on held-out text."""

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import piecework as pw
from balance.corpora import PLAIN, counted, parallel, write_corpus
from piecework.balancing.alternatives import BALANCED, PARITY, TODAY, alternatives
from piecework.corpus.parallel_text import parallel_text
from piecework.errors import StudyError
from piecework.study.recipe import AnyRecipe
from piecework.study.weights import unimax_weights
from pipeline.studies import run_study
from report.html import parse

AMOUNTS = {"aa": 1200, "bb": 500, "cc": 250}
RECIPE = pw.Recipe(vocab_size=1500, character_coverage=1.0)


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=6), st.integers(1, 20))
def test_unimax_gives_all_the_same_or_all_they_have(sizes: list[int], epochs: int) -> None:
    text = {str(number): size for number, size in enumerate(sizes)}
    weights = unimax_weights(text, epochs)
    amounts = {name: weights[name] * size for name, size in text.items() if size}
    rounding = Fraction(1, 10**6)
    for name, amount in amounts.items():
        slack = rounding * max(text.values())
        assert weights[name] <= epochs
        # A language that gets less than another one uses its text as often as allowed.
        assert weights[name] == epochs or amount + 2 * slack >= max(amounts.values())


@pytest.mark.parametrize(
    ("weighting", "recipe", "in_study"),
    [
        ("counts", RECIPE, PLAIN),
        ("documents", RECIPE, PLAIN),
        ("counts", pw.Recipe.byte_level("gpt4o", vocab_size=1500), 'preset = "gpt4o"\nvocab_size = 1500\n'),
    ],
    ids=["counts", "documents", "byte-level"],
)
def test_all_ways_side_by_side(weighting: str, recipe: AnyRecipe, in_study: str, tmp_path: Path) -> None:
    weights = "[weights]\nlanguage = { bb = 0.5 }"
    counts = counted(tmp_path, AMOUNTS, weights=weights, weighting=weighting, recipe=in_study)
    table = alternatives(counts, recipe, parallel=parallel_text(parallel(), pivot="aa"))
    assert table is not None
    rows = {(row["alternative"], row["language"]): row for row in table.rows()}
    names = list(dict.fromkeys(name for name, _ in rows))
    assert names == [TODAY, "as in the corpus", "temperature 0.3", "UniMax, at most 4 times", BALANCED, PARITY]
    for name in names:
        assert sum(rows[name, language]["share"] for language in AMOUNTS) == pytest.approx(1)
    spreads = {name: rows[name, "aa"]["spread"] - 1 for name in names}
    assert spreads[BALANCED] < spreads[TODAY] / 3
    assert spreads[PARITY] < spreads[TODAY] / 3
    assert rows["as in the corpus", "bb"]["share"] > rows[TODAY, "bb"]["share"]
    equal = rows["UniMax, at most 4 times", "aa"]["share"]
    assert rows["UniMax, at most 4 times", "bb"]["share"] == pytest.approx(equal, abs=1e-3)
    assert rows[TODAY, "cc"]["low"] < rows[TODAY, "cc"]["cost"] < rows[TODAY, "cc"]["high"]
    assert rows[TODAY, "aa"]["more_tokens"] == 0


def test_one_language_has_no_alternatives(tmp_path: Path) -> None:
    assert alternatives(counted(tmp_path, {"aa": 300}), pw.Recipe(vocab_size=400)) is None


def test_without_parallel_text(tmp_path: Path) -> None:
    table = alternatives(counted(tmp_path, AMOUNTS), RECIPE)
    assert table is not None
    assert {row["metric"] for row in table.rows()} == {"word_fertility"}
    assert PARITY not in {row["alternative"] for row in table.rows()}


def test_a_study_shows_them(tmp_path: Path) -> None:
    path = write_corpus(tmp_path, AMOUNTS)
    for language, lines in parallel().items():
        (tmp_path / f"{language}.par").write_text("\n".join(lines), encoding="utf-8")
    with path.open("a", encoding="utf-8") as file:
        file.write('[analysis]\nmonolingual = false\nalternatives = true\nparallel = "{language}.par"\n')
    results, _ = run_study(path)
    page = parse(results.report.read_text(encoding="utf-8"))
    assert "Other weights" in page.text and "parity-aware" in page.text
    before = (results.folder / "results/alternatives.parquet").stat().st_mtime_ns
    run_study(path)
    assert (results.folder / "results/alternatives.parquet").stat().st_mtime_ns == before
    path.write_text(path.read_text(encoding="utf-8").replace("alternatives = true\n", ""), encoding="utf-8")
    assert "alternatives" not in run_study(path)[0].tables


def test_a_study_with_unimax(tmp_path: Path) -> None:
    path = write_corpus(tmp_path, AMOUNTS, weights="[weights]\nunimax = 2")
    weights = {name.language: weight for name, weight in run_study(path)[0].counts.weights.items()}  # type: ignore[union-attr]
    assert weights["aa"] < weights["bb"] < weights["cc"] <= 2
    path.write_text(path.read_text(encoding="utf-8").replace("unimax = 2", "unimax = 2\ntemperature = 0.3"), "utf-8")
    with pytest.raises(StudyError, match="or unimax"):
        pw.Study.load(path)
