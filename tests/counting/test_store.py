"""Counts on disk: found again, read in parts, weighted exactly, and refused when they are not whole."""

import json
import os
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from counting.corpora import made_up_corpus, make_study, reference_settings, write_corpus
from counting.reference import Reference, reference_counts
from piecework.common.subset_name import SubsetName
from piecework.counting import spill_files
from piecework.counting.local import count
from piecework.counting.merge import MergeJob, SubsetTables, merge_tables
from piecework.counting.store import Counts
from piecework.counting.tables import DocumentCounter
from piecework.errors import InputError

CORPUS = made_up_corpus(100)


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Counts:
    folder = tmp_path_factory.mktemp("counts")
    write_corpus(folder, CORPUS)
    return count(make_study(folder), out=folder / "out")


@pytest.fixture(scope="module")
def expected(counts: Counts) -> Reference:
    return reference_counts(CORPUS, **reference_settings(make_study(counts.folder.parents[1])))


def test_loaded_from_either_folder(counts: Counts) -> None:
    for folder in (counts.folder, counts.folder.parent, str(counts.folder)):
        assert Counts.load(folder).folder == counts.folder
    loaded = Counts.load(counts.folder)
    assert loaded.description == counts.description
    assert loaded.languages == ["is", "sv", "xx"]
    assert loaded.subsets.equals(counts.subsets)


def summed(expected: Reference, *, language: str | None = None, category: str | None = None) -> dict[str, int]:
    words: dict[str, int] = {}
    for (of_language, of_category, word), number in expected.train.items():
        if language in (None, of_language) and category in (None, of_category):
            words[word] = words.get(word, 0) + number
    return words


def test_training(counts: Counts, expected: Reference) -> None:
    assert dict(counts.training().items()) == summed(expected)
    assert dict(counts.training("sv").items()) == summed(expected, language="sv")
    assert dict(counts.training(category=["books"]).items()) == summed(expected, category="books")
    assert dict(counts.training("sv", "law").items()) == summed(expected, language="sv", category="law")
    assert len(counts.training("is", "law")) == 0


def test_weights_are_exact(counts: Counts, expected: Reference) -> None:
    weights = {
        SubsetName("law", "sv"): Fraction(1, 3),
        SubsetName("books", "sv"): Fraction("0.25"),
        SubsetName("books", "is"): Fraction(0),
    }
    words: dict[str, int] = {}
    for (language, category, word), number in expected.train.items():
        scaled = 12 * weights.get(SubsetName(category, language), Fraction(1)) * number
        assert scaled.denominator == 1
        if scaled:
            words[word] = words.get(word, 0) + int(scaled)
    assert dict(counts.training(weights=weights).items()) == words
    # The denominator of a subset that is left out does not matter.
    half = counts.training("sv", "books", {**weights, SubsetName("books", "sv"): Fraction(1, 2)})
    assert dict(half.items()) == summed(expected, language="sv", category="books")
    with pytest.raises(InputError, match="no subset sv_law in these counts"):
        counts.training(weights={SubsetName("sv", "law"): Fraction(2)})
    with pytest.raises(InputError, match="law_sv is negative"):
        counts.training(weights={SubsetName("law", "sv"): Fraction(-1)})
    with pytest.raises(InputError, match=r"books_is times .* do not fit in 64 bits"):
        counts.training(weights={SubsetName("books", "is"): Fraction(2**63)})


def test_evaluation(counts: Counts, expected: Reference) -> None:
    def rows(table: pyarrow.Table) -> dict[tuple[object, ...], int]:
        return {tuple(row.values())[:-1]: row["count"] for row in table.to_pylist()}

    assert rows(counts.evaluation()) == expected.eval
    assert rows(counts.evaluation(plain=True)) == expected.eval_plain
    assert rows(counts.evaluation("is")) == {key: number for key, number in expected.eval.items() if key[0] == "is"}


def test_languages_that_are_not_there(counts: Counts) -> None:
    with pytest.raises(InputError, match='no language "da" in these counts; there is is, sv, xx'):
        counts.training("da")
    with pytest.raises(InputError, match='no category "news"'):
        counts.evaluation(category="news")


def test_folders_without_whole_counts(tmp_path: Path, counts: Counts) -> None:
    with pytest.raises(InputError, match="no counts in this folder; first run piecework count"):
        Counts.load(tmp_path)
    for path in counts.folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert Counts.load(tmp_path).languages == counts.languages
    os.truncate(tmp_path / "eval.parquet", 100)
    with pytest.raises(
        InputError, match=r"eval\.parquet: damaged since it was written \(its size is another\); run piecework count"
    ):
        Counts.load(tmp_path)
    (tmp_path / "eval.parquet").write_bytes((counts.folder / "eval.parquet").read_bytes())
    (tmp_path / "counts.json").write_text(json.dumps({**counts.description, "format": 99}))
    with pytest.raises(InputError, match=r"counts\.json: format 99, and this version reads 3"):
        Counts.load(tmp_path)


def write_spill_files(folder: Path, *documents: tuple[str, int]) -> list[Path]:
    """A spill file for the words of each document. Each document is counted `copies` times."""
    paths = []
    for number, (document, copies) in enumerate(documents):
        counter = DocumentCounter()
        counter.add_training([document], copies)
        paths.append(folder / f"{number}.spill")
        counter.write("train", paths[-1])
    return paths


def merge_spill_files(folder: Path, files: Sequence[Path]) -> dict[str, int]:
    subset = SubsetTables(SubsetName("a", "x"), {"train": tuple(files)})
    rows = ({"language": "x", "category": "a", "weight": "1"},)
    merge_tables(MergeJob((subset,), rows, folder, folder / "tmp"), lambda _: None)
    table = pyarrow.parquet.read_table(folder / "train.parquet")
    words = table.column("word").to_pylist()
    assert words == sorted(words, key=str.encode)
    return dict(zip(words, table.column("count").to_pylist(), strict=True))


def test_counts_never_overflow_silently(tmp_path: Path) -> None:
    files = write_spill_files(tmp_path, ("a", 2**63), ("a", 2**63 - 1))
    assert merge_spill_files(tmp_path, files) == {"a": 2**64 - 1}
    with pytest.raises(InputError, match="a count is too large for 64 bits"):
        merge_spill_files(tmp_path, [*files, files[0]])
    assert not list(tmp_path.glob(".*.tmp"))


@pytest.mark.parametrize("number", [0, 1, 3, 4, 5, 20])
def test_more_spill_files_than_can_be_open(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill_files, "MAX_OPEN_FILES", 3)
    documents = [
        (f"hus {'ä' * (index % 4)} {index} mus" + "x" * 70_000 * (index == 4), index + 1) for index in range(number)
    ]
    expected: Counter[str] = Counter()
    for document, copies in documents:
        first, *others = document.split(" ")
        for word in (first, *(f"▁{word}" for word in others)):
            expected[word] += copies
    assert merge_spill_files(tmp_path, write_spill_files(tmp_path, *documents)) == expected
    assert not (tmp_path / "tmp").exists()


def test_a_damaged_spill_file(tmp_path: Path) -> None:
    (file,) = write_spill_files(tmp_path, ("ett två tre", 1000))
    whole = file.read_bytes()
    ends = {0, len(whole)}
    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        try:
            merge_spill_files(tmp_path, [file])
            ends.add(size)  # between two rows
        except InputError as error:
            assert str(error).startswith(f"{tmp_path}: cannot merge the counts: {file} is truncated; remove the folder")
    assert len(ends) == 4
    file.write_bytes(b"\x05" + whole[1:])
    with pytest.raises(InputError, match="is damaged"):
        merge_spill_files(tmp_path, [file])
