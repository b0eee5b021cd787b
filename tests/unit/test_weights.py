"""Weights: tables that multiply, a CSV with its mistakes by row and column, and temperature."""

import gzip
import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from piecework.corpus.inputs import find_files
from piecework.errors import StudyError
from piecework.study.study import Study
from piecework.study.subsets import find_subsets
from piecework.study.weights import estimate_text_bytes, temperature_weights


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("books_sv", "law_sv", "law_is"):
        (tmp_path / f"{name}.txt").write_text("hej " * 10)
    return tmp_path


def weights(folder: Path, **settings: Any) -> dict[str, Fraction]:
    study = Study(folder=folder, corpus={"path": "{category}_{language}.txt"}, weights=settings)
    return {str(subset.name): subset.weight for subset in find_subsets(study)}


def test_one_where_nothing_is_said(folder: Path) -> None:
    assert set(weights(folder).values()) == {Fraction(1)}


def test_the_three_multiply(folder: Path) -> None:
    found = weights(folder, language={"sv": "0.3"}, category={"law": 0.5}, subset={"law_sv": "70%"})
    assert found == {"books_sv": Fraction(3, 10), "law_sv": Fraction(105, 1000), "law_is": Fraction(1, 2)}
    assert weights(folder, language={"sv": 0})["law_sv"] == 0


@pytest.mark.parametrize(
    "settings",
    [
        {"csv": "w.csv", "temperature": 0.3},
        {"csv": "w.csv", "language": {"sv": 1}},
        {"temperature": 1, "subset": {"a": 1}},
    ],
)
def test_one_source_of_weights(folder: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(StudyError, match="give tables, or csv, or temperature"):
        weights(folder, **settings)


def of_csv(folder: Path, table: str | bytes) -> dict[str, Fraction]:
    (folder / "w.csv").write_bytes(table if isinstance(table, bytes) else table.encode())
    return weights(folder, csv="w.csv")


def csv_mistakes(folder: Path, table: str | bytes) -> list[str]:
    with pytest.raises(StudyError) as caught:
        of_csv(folder, table)
    return [str(mistake).replace(f"{folder}/", "") for mistake in caught.value.mistakes]


@pytest.mark.parametrize(
    "table",
    [
        "category,sv,is\nbooks,0.7,\nlaw,1,3\n",
        "\ufeff,sv,is,\r\nbooks,70%,9,\r\nlaw,1.0,3e0",
        ' category , "is", sv \nlaw, 3 ,1\n\n"books",,0.70,\n,,\n',
    ],
)
def test_csv(folder: Path, table: str) -> None:
    assert of_csv(folder, table) == {"books_sv": Fraction(7, 10), "law_sv": Fraction(1), "law_is": Fraction(3)}


def test_all_mistakes_of_a_csv(folder: Path) -> None:
    table = """\
category,sv,si,,sv
books,x,1
law,-1,1,5
boks,1,1

law,1,1
,1
"""
    assert csv_mistakes(folder, table) == [
        'w.csv:1: column 5: language "sv" has a column already',
        'w.csv:2: column 2 (sv): "x": should be a number such as 0.01, or a percentage such as "1%"',
        'w.csv:3: column 2 (sv): "-1": a weight should not be negative; 0 leaves documents out',
        'w.csv:3: column 4: "5" has no language above it',
        'w.csv:6: column 1: category "law" has a row already, line 3',
        "w.csv:7: column 1 is empty; it should name the category",
        'w.csv:1: column 3: the corpus has no language "si"; its languages are is, sv',
        'w.csv:4: column 1: the corpus has no category "boks"; did you mean "books"?',
        'w.csv: no column for language "is" of the corpus',
    ]


def test_an_empty_cell_is_no_weight(folder: Path) -> None:
    assert csv_mistakes(folder, "category,sv,is\nbooks,1,\nlaw,1\n") == [
        "w.csv:3: column 3 (is) is empty, and the corpus has law_is; give it a weight, 0 to leave it out"
    ]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("", "w.csv: the table is empty"),
        ("category;sv;is\nlaw;1;1", "w.csv:1: the cells should be separated by commas"),
        ("category\nlaw", "w.csv:1: no language"),
        ("category,sv,is\nlaw,1,1\n", 'w.csv: no row for category "books" of the corpus'),
        ('category,sv,is\nlaw,1,"0,5"\nbooks,1,1', 'w.csv:2: column 3 (is): "0,5": should be a number'),
        ('category,sv,is\nlaw,1,"1', "w.csv:2: not valid CSV"),
        ("category,sv,is\nlaw,1,1,7\nbooks,1,1", 'w.csv:2: column 4: "7" has no language above it'),
        (b"category,sv,is\nl\xe5w,1,1", "w.csv: not valid UTF-8"),
    ],
)
def test_broken_csv(folder: Path, table: str | bytes, expected: str) -> None:
    assert csv_mistakes(folder, table)[0].startswith(expected)


def test_no_csv(folder: Path) -> None:
    with pytest.raises(StudyError, match=r'csv = "w.csv" in \[weights\]: no such file'):
        weights(folder, csv="w.csv")


def test_temperature_by_hand() -> None:
    # Shares 0.8 and 0.2; square roots 0.8944 and 0.4472, so two thirds and one third are wanted.
    found = temperature_weights({"sv": 80, "is": 20}, Fraction(1, 2))
    assert found == {"sv": Fraction("0.833333"), "is": Fraction("1.666667")}
    assert temperature_weights({"sv": 80, "is": 20}, Fraction(1)) == {"sv": 1, "is": 1}
    assert temperature_weights({"sv": 80, "is": 20}, Fraction(0)) == {"sv": Fraction(5, 8), "is": Fraction(5, 2)}


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 10**12), min_size=1),
    st.fractions(0, 1, max_denominator=100),
)
def test_temperature_keeps_the_size_of_the_sample(sizes: dict[str, int], alpha: Fraction) -> None:
    found = temperature_weights(sizes, alpha)
    total = sum(sizes.values())
    assert all(weight > 0 and (weight * 10**6).denominator == 1 for weight in found.values())
    if total:
        sample = sum(found[name] * size for name, size in sizes.items())
        assert abs(sample / total - 1) < Fraction(1, 10**5)


def test_temperature_of_a_study(folder: Path) -> None:
    (folder / "law_is.txt").write_text("a" * 20)
    (folder / "law_sv.txt").write_text("a" * 40)
    (folder / "books_sv.txt").write_text("a" * 40)
    sv, is_ = Fraction("0.833333"), Fraction("1.666667")
    assert weights(folder, temperature=0.5) == {"books_sv": sv, "law_sv": sv, "law_is": is_}


def test_text_is_measured_however_it_is_stored(tmp_path: Path) -> None:
    generator = random.Random(1)
    texts = ["".join(generator.choices("abcdefgh åäö", k=200)) for _ in range(2000)]
    lines = "".join(json.dumps({"id": index, "text": text}) + "\n" for index, text in enumerate(texts)).encode()
    (tmp_path / "a.jsonl").write_bytes(lines)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines))
    (tmp_path / "c.jsonl.zst").write_bytes(zstandard.compress(lines))
    (tmp_path / "d.txt.zst").write_bytes(zstandard.compress("\n".join(texts).encode()))
    pyarrow.parquet.write_table(pyarrow.table({"text": texts}), tmp_path / "e.parquet")
    (tmp_path / "f.txt").write_text("\n".join(texts))
    (tmp_path / "empty.jsonl").write_text("")
    text_bytes = sum(len(text.encode()) for text in texts)
    for path in sorted(tmp_path.glob("?.*")):
        estimate = estimate_text_bytes(find_files([path]), "text")
        assert abs(estimate / text_bytes - 1) < 0.02, path.name
    assert estimate_text_bytes(find_files([tmp_path]), "text") == pytest.approx(6 * text_bytes, rel=0.02)


def test_a_corpus_that_cannot_be_measured(tmp_path: Path) -> None:
    (tmp_path / "law_sv.txt").write_text("hej")
    (tmp_path / "law_is.txt.zst").write_bytes(zstandard.compress(b"hej")[:-2])
    study = Study(folder=tmp_path, corpus={"path": "{category}_{language}.*"}, weights={"temperature": 0.3})
    with pytest.raises(StudyError, match=r"cannot measure the corpus: .*law_is.txt.zst.*truncated"):
        find_subsets(study)
