"""Balances of made-up languages: what is found, held out, put back into the study; and what cannot be found.

The first tests are of SentencePiece and of byte-level recipes.
"""

import json
from fractions import Fraction
from pathlib import Path

import pytest

import piecework as pw
from balance.corpora import counted, parallel, write_corpus
from piecework.balancing.balance import balance
from piecework.balancing.result import Balance
from piecework.counting.store import Counts
from piecework.dataset.plan import model_bytes
from piecework.errors import InputError, VocabularyTooLargeError
from piecework.study.recipe import AnyRecipe
from piecework.tokenizer.trained import TrainedTokenizer
from piecework.training.trainer import train_any
from pipeline.studies import run_study

AMOUNTS = {"aa": 1200, "bb": 500, "cc": 250}
RECIPE = pw.Recipe(vocab_size=1500, character_coverage=1.0)
BYTES = pw.Recipe.byte_level("gpt4o", vocab_size=1500)
BYTES_IN_STUDY = 'preset = "gpt4o"\nvocab_size = 1500\n'


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Counts:
    return counted(tmp_path_factory.mktemp("made-up"), AMOUNTS)


@pytest.fixture(scope="module")
def byte_counts(tmp_path_factory: pytest.TempPathFactory) -> Counts:
    return counted(tmp_path_factory.mktemp("bytes"), AMOUNTS, recipe=BYTES_IN_STUDY)


Found = tuple[Balance, Counts, AnyRecipe]


@pytest.fixture(scope="module", params=["sentencepiece", "byte-level"])
def found_in(request: pytest.FixtureRequest) -> Found:
    is_bytes = request.param == "byte-level"
    counts: Counts = request.getfixturevalue("byte_counts" if is_bytes else "counts")
    recipe: AnyRecipe = BYTES if is_bytes else RECIPE
    return balance(counts, recipe, parallel=parallel(), pivot="aa"), counts, recipe


@pytest.fixture(scope="module")
def found(found_in: Found) -> Balance:
    return found_in[0]


def test_premiums_become_equal(found: Balance) -> None:
    assert found.stopped == "met"
    assert found.before.worst == "cc" and found.before.spread > 1.1
    assert found.after.spread - 1 < (found.before.spread - 1) / 3
    assert found.after.factors["cc"] > found.after.factors["bb"] > found.after.factors["aa"]
    assert found.frontier[0] is found.before and found.frontier[-1] is found.after
    spreads = [point.spread for point in found.frontier]
    assert spreads == sorted(spreads, reverse=True)


def test_training_has_as_much_text_as_before(found_in: Found) -> None:
    found, counts, _ = found_in
    text = {row["language"]: row["train_bytes"] for row in counts.subset_rows}
    after = sum(size * found.after.factors[language] for language, size in text.items())
    assert float(after) == pytest.approx(sum(text.values()), rel=0.01)


def test_the_weights_give_the_tokenizer(found_in: Found) -> None:
    found, counts, recipe = found_in
    again = train_any(counts.training(weights=found.weights), recipe)
    assert model_bytes(again) == model_bytes(found.tokenizer)


def test_costs_are_of_the_other_half(found: Balance) -> None:
    texts = parallel()
    chosen = [number for number in range(640) if number * 32 // 640 % 2]
    tokens = {name: sum(map(len, found.tokenizer.encode_batch([texts[name][n] for n in chosen]))) for name in texts}
    values = {cost.group: cost.value for cost in found.after.costs}
    assert values == {name: number / tokens["aa"] for name, number in tokens.items()}


def test_the_same_result_again(found_in: Found) -> None:
    found, counts, recipe = found_in
    again = balance(counts, recipe, parallel=parallel(), pivot="aa")
    assert again.weights == found.weights and again.trainings == found.trainings


def test_a_language_without_parallel_text_keeps_its_cost(counts: Counts) -> None:
    found = balance(counts, RECIPE, parallel=parallel("aa bb"), pivot="aa")
    cost = next(cost for cost in found.after.costs if cost.group == "cc")
    assert not cost.compared and cost.value == pytest.approx(1, abs=0.03)
    assert any("cc: no parallel text" in note for note in found.notes)
    assert found.after.spread < found.before.spread


def test_at_most_raises_only_who_is_above(counts: Counts) -> None:
    found = balance(counts, RECIPE, parallel=parallel(), pivot="aa", goal="at-most", limit=1.08)
    values = {cost.group: cost.value for cost in found.after.costs}
    assert found.stopped == "met"
    assert values["cc"] == pytest.approx(1.08, abs=0.04)
    assert found.after.factors["cc"] > found.after.factors["aa"]


def test_a_target(counts: Counts) -> None:
    found = balance(counts, RECIPE, parallel=parallel(), pivot="aa", goal="targets", targets={"cc": 1.2})
    assert found.stopped == "met"
    assert next(cost.value for cost in found.after.costs if cost.group == "cc") == pytest.approx(1.2, abs=0.05)
    assert found.after.factors["aa"] == found.after.factors["bb"]


def test_a_target_that_cannot_be_met(counts: Counts) -> None:
    found = balance(counts, RECIPE, parallel=parallel(), pivot="aa", goal="targets", targets={"cc": 0.1})
    assert found.stopped == "out of reach" and found.out_of_reach == ("cc",)


def test_a_metric_of_the_sample(counts: Counts) -> None:
    found = balance(counts, RECIPE, metric="characters_per_token")
    assert found.after.spread < found.before.spread
    assert found.pivot is None and found.metric == "characters_per_token"


def test_one_language(tmp_path: Path) -> None:
    found = balance(counted(tmp_path, {"aa": 100}), pw.Recipe(vocab_size=500))
    assert found.stopped == "met" and found.trainings == 1
    assert set(found.weights.values()) == {Fraction(1)}
    assert any("nothing to balance" in note for note in found.notes)


def test_weights_of_the_study_are_multiplied(tmp_path: Path) -> None:
    weights = '[weights]\nlanguage = { "cc" = 2.5 }'
    counts = counted(tmp_path, {"aa": 1000, "cc": 250}, weights=weights)
    found = balance(counts, RECIPE, parallel=parallel("aa cc"), pivot="aa")
    factors = found.after.factors
    assert {name.language: weight for name, weight in found.weights.items()} == {
        "aa": factors["aa"],
        "cc": factors["cc"] * Fraction(5, 2),
    }


def test_predicted_from_counts_and_seen_with_documents(tmp_path: Path) -> None:
    """A study that runs from documents with these weights has the premiums that were predicted from counts."""
    counts = counted(tmp_path / "counts", AMOUNTS)
    found = balance(counts, RECIPE, parallel=parallel(), pivot="aa")
    write_corpus(tmp_path / "documents", AMOUNTS)
    study = tmp_path / "documents/study.toml"
    text = study.read_text(encoding="utf-8").replace('weighting = "counts"', 'weighting = "documents"')
    study.write_text(text.replace("[sampling]", f"{found.toml()}\n[sampling]").replace('"40%"', '"10%"'))
    sampled = pw.count(pw.Study.load(study), out=tmp_path / "again")
    premiums = pw.evaluate_parallel(pw.train(sampled.training(), RECIPE), parallel(), pivot="aa").where(
        metric="premium"
    )
    seen = {row["language"]: row for row in premiums.rows()}
    for cost in found.after.costs:
        low, high = cost.interval or (cost.value, cost.value)
        assert low - 0.03 <= seen[cost.group]["value"] <= high + 0.03, cost.group


def test_a_byte_level_study_run_with_the_weights(byte_counts: Counts, tmp_path: Path) -> None:
    """The tokenizer and the costs of the sample are those of the balance, with `==`."""
    found = balance(byte_counts, BYTES, metric="word_fertility")
    assert found.after.spread < found.before.spread
    path = write_corpus(tmp_path, AMOUNTS, weights=found.toml(), recipe=BYTES_IN_STUDY)
    results, _ = run_study(path)
    assert model_bytes(results.tokenizer()) == model_bytes(found.tokenizer)
    assert results.counts is not None
    for cost in found.after.costs:
        rows = [row for row in results.counts.evaluation(cost.group).to_pylist() if row["bucket"] % 2]
        tokens = sum(row["count"] * len(_ids_of(found.tokenizer, row["unit"])) for row in rows)
        # A word counts where it starts: bit 4 is of a pre-token whose first word starts in the one before.
        words = sum(row["count"] * (len(row["unit"].split()) - (row["context"] & 4 > 0)) for row in rows)
        assert cost.value == tokens / words


def _ids_of(tokenizer: TrainedTokenizer, pre_token: str) -> list[int]:
    assert isinstance(tokenizer, pw.ByteLevelTokenizer)
    return tokenizer._encoder.encode_batch([pre_token], 1)[0]


def test_counts_without_a_recipe_have_their_own_pre_tokenizer(byte_counts: Counts) -> None:
    with pytest.raises(VocabularyTooLargeError, match="vocab_size = 32,000 is too large for this text"):
        balance(byte_counts)
    with pytest.raises(InputError, match="count again with this recipe"):
        balance(byte_counts, RECIPE)
    with pytest.raises(pw.RecipeError, match='counts are of "o200k", the recipe is for "llama3"'):
        balance(byte_counts, pw.Recipe.byte_level("llama3", vocab_size=1500))


def test_saved(found: Balance, tmp_path: Path) -> None:
    found.save(tmp_path / "out")
    content = json.loads((tmp_path / "out/balance.json").read_text(encoding="utf-8"))
    assert content["after"]["spread"] == found.after.spread
    assert found.toml() in (tmp_path / "out/weights.toml").read_text(encoding="utf-8")
    assert len((tmp_path / "out/frontier.csv").read_text(encoding="utf-8").splitlines()) == 1 + len(found.frontier)
    with pytest.raises(InputError, match="--force"):
        found.save(tmp_path / "out")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"goal": "at-most"}, "needs a limit"),
        ({"limit": 1.1}, 'for goal "at-most"'),
        ({"goal": "targets"}, "needs targets"),
        ({"goal": "targets", "targets": {"ccc": 1.1}}, 'no language "ccc" in these counts; did you mean "cc"'),
        ({"goal": "targets", "targets": {"aa": 1.1}}, "aa is the pivot"),
        ({"goal": "targets", "targets": {"cc": 0}}, "cc = 0"),
        ({"goal": "at-most", "limit": 0.9}, "the limit is 1 or more"),
        ({"goal": "best"}, "not 'best'"),
        ({"by": "subset"}, "no subsets"),
        ({"metric": "renyi_efficiency"}, "distinct things"),
        ({"pivot": "dd"}, 'the pivot "dd"'),
        ({"parallel": {name: [""] * 40 for name in AMOUNTS}}, 'the parallel text of "aa" is too short'),
        ({"parallel": {"aa": ["a b"] * 9, "bb": ["c d", *[""] * 8]}}, 'the parallel text of "bb" is too short'),
    ],
)
def test_refusals(counts: Counts, settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        balance(counts, RECIPE, **{"parallel": parallel(), "pivot": "aa", **settings})  # type: ignore[arg-type]
