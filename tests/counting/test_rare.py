"""Rare words that are left out of training: which words, how many, and the limit of the change in frequencies."""

import json
import subprocess
import tempfile
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.command import COMMAND, environment
from counting.corpora import count_here, made_up_corpus, make_study, write_corpus
from piecework.common.subset_name import SubsetName
from piecework.counting import spill_files
from piecework.counting.pre_tokens import PreTokenCounts
from piecework.counting.rare import RareWords, add_up
from piecework.counting.store import Counts
from piecework.counting.words import WordCounts
from piecework.errors import InputError
from piecework.study.recipe import Recipe
from piecework.training.trainer import train


def left_out(table: dict[str, int], min_count: int, batch: int = 3) -> tuple[dict[str, int], RareWords]:
    rare = RareWords(min_count)
    words = list(table)
    batches = [
        (
            pa.array(words[at : at + batch], pa.large_string()),
            pa.array([table[word] for word in words[at : at + batch]], pa.uint64()),
        )
        for at in range(0, len(words), batch)
    ]
    kept = {}
    for some, counts in rare.leave_out(add_up(batches)):
        kept |= dict(zip(some.to_pylist(), counts.to_pylist(), strict=True))
    return kept, rare


def test_worked_example() -> None:
    kept, rare = left_out({"▁hus": 9, "▁huset": 2, "mus": 1, "▁musmus": 2}, 3)
    assert kept == {"▁hus": 9}
    assert (rare.distinct, rare.occurrences) == (3, 5)
    # "us": twice in ▁huset, once in mus, four times in ▁musmus.
    assert rare.largest_change == (7, "us")
    assert left_out({"▁a": 1}, 1)[1].largest_change == (0, "")


WORDS = st.builds(str.__add__, st.sampled_from(["", "▁"]), st.text("abå😀\0", max_size=6))


def add_up_forms(table: dict[str, int]) -> Counter[str]:
    totals: Counter[str] = Counter()
    for word, count in table.items():
        totals[word.removeprefix("▁")] += count
    return totals


@given(st.dictionaries(WORDS, st.integers(1, 9), max_size=12), st.integers(1, 10))
def test_no_piece_is_rarer_than_the_bound_says(table: dict[str, int], min_count: int) -> None:
    kept, rare = left_out(table, min_count)
    totals = add_up_forms(table)
    assert kept == {word: count for word, count in table.items() if totals[word.removeprefix("▁")] >= min_count}
    dropped = {word: count for word, count in totals.items() if count < min_count}
    assert (rare.distinct, rare.occurrences) == (len(dropped), sum(dropped.values()))
    substrings: Counter[str] = Counter()
    bigrams: Counter[str] = Counter()
    for word, count in dropped.items():
        text = f"▁{word}"
        for start in range(len(text)):
            for end in range(start + 2, len(text) + 1):
                substrings[text[start:end]] += count
            if start + 1 < len(text):
                bigrams[text[start : start + 2]] += count
    change, characters = rare.largest_change
    assert change == max(substrings.values(), default=0) == bigrams.get(characters, 0)


@given(
    st.dictionaries(st.text("ab å😀\0\n▁", min_size=1, max_size=6), st.integers(1, 9), max_size=12),
    st.integers(1, 10),
)
def test_no_token_is_rarer_than_the_bound_says(table: dict[str, int], min_count: int) -> None:
    """The same for pre-tokens, in bytes."""
    batch = pa.array(table.keys(), pa.large_string()), pa.array(table.values(), pa.uint64())
    rare = RareWords(min_count, pre_tokens=True)
    kept = {}
    for words, counts in rare.leave_out(add_up([batch], pre_tokens=True)):
        kept |= dict(zip(words.to_pylist(), counts.to_pylist(), strict=True))
    assert kept == {word: count for word, count in table.items() if count >= min_count}
    dropped = {word.encode(): count for word, count in table.items() if count < min_count}
    assert (rare.distinct, rare.occurrences) == (len(dropped), sum(dropped.values()))
    substrings: Counter[bytes] = Counter()
    for text, count in dropped.items():
        for start in range(len(text)):
            for end in range(start + 2, len(text) + 1):
                substrings[text[start:end]] += count
    change, shown = rare.largest_change
    assert change == max(substrings.values(), default=0)
    assert not change or change in {
        n for text, n in substrings.items() if text.decode("utf-8", "backslashreplace") == shown
    }


def test_spill_files_give_the_same_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["hus", "▁hus", "▁mus", "", "▁", "\0", "x" * 40, "▁å"]
    batches = [
        (pa.array(words[at % 8 :], pa.large_string()), pa.array(range(at, at + 8 - at % 8), pa.uint64()))
        for at in range(30)
    ]
    in_memory = add_up(batches)
    monkeypatch.setattr(spill_files, "MAX_OPEN_FILES", 4)
    spilled = add_up(batches, memory_bytes=0)  # a spill file for each batch
    as_rows = [
        [
            row
            for forms in each
            for row in zip(*(c.to_pylist() for c in (forms.words, forms.opening, forms.other)), strict=True)
        ]
        for each in (in_memory, spilled)
    ]
    assert as_rows[0] == as_rows[1]
    assert [word for word, *_ in as_rows[0]] == ["", "\0", "hus", "mus", "x" * 40, "å"]


def test_a_temporary_folder_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/dev/full")
    with pytest.raises(InputError, match="cannot add up the counts"):
        list(add_up([(pa.array(["a"], pa.large_string()), pa.array([1], pa.uint64()))]))


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Counts:
    folder = tmp_path_factory.mktemp("rare")
    write_corpus(folder / "data", made_up_corpus(150))
    count_here(make_study(folder / "data", weights={"language": {"sv": "1.5"}}), folder / "counts")
    return Counts.load(folder)


@pytest.mark.parametrize("language", [None, "is", ["is", "sv"]])
@pytest.mark.parametrize("min_count", [2, 5])
def test_words_of_all_subsets_are_added_up_first(counts: Counts, language: str | None, min_count: int) -> None:
    weights = {SubsetName("law", "sv"): Fraction(1, 3)}
    everything = counts.training(language, weights=weights)
    assert everything.rare is None
    kept = counts.training(language, weights=weights, min_count=min_count)
    threshold = min_count * (3 if language != "is" else 1)
    totals = add_up_forms(dict(everything.items()))
    expected = {word: count for word, count in everything.items() if totals[word.removeprefix("▁")] >= threshold}
    assert dict(kept.items()) == expected
    assert kept.rare is not None
    assert kept.rare.occurrences == everything.total - kept.total
    assert kept.rare.distinct == sum(count < threshold for count in totals.values())
    assert counts.training(language, weights=weights, min_count=1) == everything


def test_merges_that_are_ahead_are_the_same() -> None:
    """What the bound promises: frequent pairs are merged in the same order with and without the rare words."""
    table = {"▁ab": 1000, "ab": 500, "▁cd": 300, "cd": 150}  # merges: ab 1500, ▁ab 1000, cd 450, ▁cd 300
    rare_words = {f"▁{first}{second}": 1 for first in "abcdefghij" for second in "abcdefghij"}
    everything = rare_words | table
    kept, rare = left_out(everything, 2)
    assert rare.largest_change[0] < 100, "less than what each of them is ahead"
    recipe = Recipe(vocab_size=30, character_coverage=1.0, hard_vocab_limit=False, add_dummy_prefix=False)
    for words in (everything, kept):
        pieces = train(WordCounts.from_mapping(words), recipe).pieces
        assert [piece.text for piece in pieces[3:7]] == ["ab", "▁ab", "cd", "▁cd"]


def test_the_command(counts: Counts, tmp_path: Path) -> None:
    def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
        command = [*COMMAND, "train", *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", env=environment())

    done = run("--counts", counts.folder.parent, "--min-count", 3, "--vocab-size", 384, "--out", "a", "--json")
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    rare = counts.training(min_count=3).rare
    assert rare is not None
    change, _ = rare.largest_change
    assert content["left_out"] == {
        "distinct_words": rare.distinct,
        "words": rare.occurrences,
        "largest_change": change,
    }
    assert f"--min-count 3 left out {rare.distinct:,} distinct words" in done.stderr
    assert f"this lowers the frequency of a pair by at most {change:,}" in done.stderr
    refused = run("x.txt", "--min-count", 3, "--out", "b")
    assert refused.returncode == 2
    assert "need --counts DIR" in refused.stderr


@pytest.mark.parametrize("language", [None, "is"])
def test_pre_tokens_of_all_subsets_are_added_up_first(language: str | None, tmp_path: Path) -> None:
    write_corpus(tmp_path / "data", made_up_corpus(100))
    study = make_study(tmp_path / "data", weights={"language": {"sv": "1.5"}}, recipe={"preset": "gpt4o"})
    count_here(study, tmp_path / "counts")
    counts = Counts.load(tmp_path)
    weights = {SubsetName("law", "sv"): Fraction(1, 3)}
    everything = counts.training(language, weights=weights)
    kept = counts.training(language, weights=weights, min_count=2)
    threshold = 2 * (3 if language != "is" else 1)
    assert isinstance(kept, PreTokenCounts) and everything.rare is None and kept.rare is not None
    assert dict(kept.items()) == {word: count for word, count in everything.items() if count >= threshold}
    assert kept.rare.occurrences == everything.total - kept.total
    recipe = Recipe.byte_level("gpt4o", vocab_size=400)
    expected = PreTokenCounts.from_mapping(dict(kept.items()), pre_tokenizer="o200k")
    assert train(kept, recipe).json_bytes == train(expected, recipe).json_bytes


def test_the_command_on_pre_tokens(tmp_path: Path) -> None:
    write_corpus(tmp_path / "data", made_up_corpus(100))
    count_here(make_study(tmp_path / "data", recipe={"preset": "gpt4o"}), tmp_path / "counts")
    arguments = ["--counts", tmp_path, "--min-count", 3, "--preset", "gpt4o", "--vocab-size", 300, "--out", "a"]
    done = subprocess.run(
        [*COMMAND, "train", *map(str, arguments)],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    rare = Counts.load(tmp_path).training(min_count=3).rare
    assert rare is not None
    assert f"--min-count 3 left out {rare.distinct:,} distinct pre-tokens" in done.stderr
    assert f"this lowers the frequency of a pair by at most {rare.largest_change[0]:,}" in done.stderr


def test_counts_that_do_not_fit(counts: Counts) -> None:
    with pytest.raises(InputError, match=r"do not fit in 64 bits|more than 64 bits"):
        counts.training(weights={SubsetName("law", "sv"): Fraction(10**18)}, min_count=2)
