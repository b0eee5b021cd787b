"""The counts equal those of an obvious reference exactly. Layout, threads and memory change no byte."""

import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Corpus
from counting.corpora import (
    count_here,
    made_up_corpus,
    made_up_documents,
    make_study,
    reference_settings,
    result_bytes,
    write,
    write_corpus,
)
from counting.reference import assert_same, reference_counts
from piecework.common.subset_name import SubsetName
from piecework.counting.local import count
from piecework.study.study import Study

CORPUS = made_up_corpus()


def test_the_shared_corpus(shared: Path, corpus: Corpus, tmp_path: Path) -> None:
    study = Study(
        folder=shared,
        corpus={"path": "corpus/{category}_{language}.jsonl.zst"},
        sampling={"train": "8%", "eval": "2%"},
        weights={"language": {"is": 3, "no": 0}, "category": {"law": 0.5}},
    )
    counts = count(study, out=tmp_path, threads=2)
    assert_same(counts.folder, reference_counts(corpus, **reference_settings(study)))
    read = {f"{row['category']}_{row['language']}": row["read_documents"] for row in counts.subsets.to_pylist()}
    assert read == {name: 0 if name.endswith("no") else len(texts) for name, texts in corpus.items()}


WORDS = st.text(alphabet="ab▁▅ ,.\n\t\r\0é\u0301日🙂-", max_size=12)


@given(
    corpus=st.fixed_dictionaries({name: st.lists(WORDS.filter(bool), max_size=12) for name in ("a_x", "b_x", "a_y")}),
    seed=st.integers(0, 2**64 - 1),
    train=st.sampled_from(["100%", "50%", "7%"]),
    evaluation=st.sampled_from(["50%", "20%", "0%"]),
    weights=st.fixed_dictionaries({}, optional={"a_x": st.sampled_from([0, 0.25, 1]), "b_x": st.just(0.5)}),
    suffix=st.sampled_from([".jsonl", ".jsonl.zst", ".parquet"]),
    shard_bytes=st.sampled_from([40, 100, 100_000]),
    table_bytes=st.sampled_from([0, 1 << 30]),
)
@settings(max_examples=60)
@patch("os.fsync", new=lambda _: None)  # on a disk, fsync takes most of the time
def test_random_corpora(
    corpus: dict[str, list[str]],
    seed: int,
    train: str,
    evaluation: str,
    weights: dict[str, float],
    suffix: str,
    shard_bytes: int,
    table_bytes: int,
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(folder / "data", corpus, suffix=suffix, files=2)
        study = make_study(
            folder / "data", seed=seed, sampling={"train": train, "eval": evaluation}, weights={"subset": weights}
        )
        count_here(study, folder, shard_bytes=shard_bytes, table_bytes=table_bytes)
        assert_same(folder, reference_counts(corpus, **reference_settings(study)))


def test_code_tokens_and_documents_that_are_files(tmp_path: Path) -> None:
    documents = {"py_code": made_up_documents(60), "law_sv": made_up_documents(60, seed=2)}
    for number, text in enumerate(documents["py_code"]):
        (tmp_path / f"{number}.py").write_bytes(text.encode())
    lines = [text.replace("\n", " ") for text in documents["law_sv"]]
    lines = [line.removesuffix("\r") for line in lines if line.strip()]
    (tmp_path / "law.txt").write_bytes("\r\n\n".join(lines).encode())
    study = make_study(
        tmp_path,
        corpus={
            "subset": [
                {"path": "*.py", "language": "code", "category": "py", "code_token": "<|python|>"},
                {"path": "law.txt", "language": "sv", "category": "law", "documents": "line"},
            ]
        },
    )
    count_here(study, tmp_path / "out", shard_bytes=200)
    expected = reference_counts(documents | {"law_sv": lines}, **reference_settings(study))
    assert any(unit.startswith("<|python|>") for *_, unit in expected.eval_plain)
    assert_same(tmp_path / "out", expected)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The result for one file of JSONL per subset, on one thread; checked against the reference."""
    folder = tmp_path_factory.mktemp("plain")
    write_corpus(folder, CORPUS)
    study = make_study(folder)
    counts = count(study, out=folder / "out", threads=1)
    assert_same(counts.folder, reference_counts(CORPUS, **reference_settings(study)))
    return result_bytes(folder / "out")


@pytest.mark.parametrize(
    ("layout", "options"),
    [
        ({}, {"threads": 2}),
        ({"shuffled": 1, "files": 5}, {"threads": 2}),
        ({"suffix": ".jsonl.gz", "files": 2}, {"threads": 2, "memory": "600MB"}),
        ({"suffix": ".jsonl.zst", "shuffled": 2}, {"threads": 1, "table_bytes": 20_000}),
        ({"suffix": ".parquet", "files": 3}, {"threads": 2, "shard_bytes": 5_000}),
        ({"shuffled": 3}, {"threads": 2, "shard_bytes": 10_000, "table_bytes": 1}),
    ],
    ids=str,
)
def test_same_files_whatever_the_layout(
    tmp_path: Path, plain: dict[str, bytes], layout: dict[str, Any], options: dict[str, Any]
) -> None:
    write_corpus(tmp_path, CORPUS, **layout)
    count(make_study(tmp_path), out=tmp_path / "out", **options)
    assert result_bytes(tmp_path / "out") == plain


def test_a_memory_limit_that_forces_spilling(tmp_path: Path) -> None:
    """Hundreds of thousands of distinct words, with the lowest memory limit that is possible."""
    words = [f"{number * 2654435761 % 2**32:x}" * 8 for number in range(500_000)]
    write(tmp_path / "a_x-0.jsonl", [" ".join(words[start : start + 50]) for start in range(0, len(words), 50)])
    study = make_study(tmp_path, sampling={"train": "70%", "eval": "30%"})
    partial_tables = {}
    for memory in ("360MB", "2GB"):

        def progress(stage: str, _done: int, total: int, memory: str = memory) -> None:
            if stage == "merging":
                partial_tables[memory] = total

        count(study, out=tmp_path / memory, threads=1, memory=memory, shard_bytes=10**9, progress=progress)
    assert partial_tables["2GB"] == 3
    assert partial_tables["360MB"] > 3
    assert result_bytes(tmp_path / "360MB") == result_bytes(tmp_path / "2GB")


def test_row_groups_end_where_the_rows_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("piecework.counting.merge.GROUP_ROWS", 100)
    monkeypatch.setattr("piecework.counting.merge.GROUP_TEXT_BYTES", 700)
    write_corpus(tmp_path / "data", CORPUS)
    results = []
    for batch_bytes, table_bytes in ((50, 1), (1 << 20, 1 << 30)):
        monkeypatch.setattr("piecework.counting.merge.BATCH_TEXT_BYTES", batch_bytes)
        folder = tmp_path / str(batch_bytes)
        study = make_study(tmp_path / "data")
        count_here(study, folder, table_bytes=table_bytes)
        assert_same(folder, reference_counts(CORPUS, **reference_settings(study)))
        results.append([(folder / f"{name}.parquet").read_bytes() for name in ("train", "eval", "eval_plain")])
    assert results[0] == results[1]


def test_sides_are_disjoint_and_fractions_hold(tmp_path: Path) -> None:
    """Also across subsets that share documents, with weights from 0 to 150 and two in a thousand for evaluation."""
    shared_documents = [f"document {number} in several subsets" for number in range(3000)]
    weights = {"a_x": 0, "b_x": 0.5, "c_x": 1, "d_x": 3, "e_x": 150}
    own = {name: [f"document {number} of {name}" for number in range(20_000)] for name in weights}
    documents = {name: texts + shared_documents + texts[:100] for name, texts in own.items()}
    write_corpus(tmp_path, documents)
    study = make_study(
        tmp_path, sampling={"train": "1%", "eval": "0.2%"}, weights={"subset": {**weights, "c_x": 1}}, seed=5
    )
    counts = count(study, out=tmp_path / "out", threads=2)
    expected = reference_counts(documents, **reference_settings(study))
    assert_same(counts.folder, expected)
    assert expected.training_texts.isdisjoint(expected.evaluation_texts)
    for row in counts.subsets.to_pylist():
        name, n = f"{row['category']}_{row['language']}", row["read_documents"]
        weight = Fraction(str(weights[name]))
        assert n == (len(documents[name]) if weight else 0)
        assert Fraction(row["weight"]) == weight
        assert row["train_copies"] == expected.copies[name]
        assert row["eval_documents"] == expected.evaluated[name]
        assert row["read_documents"] == row["train_documents"] + row["eval_documents"] + row["unused_documents"]
        assert row["read_bytes"] == row["train_bytes"] + row["eval_bytes"] + row["unused_bytes"]
        assert row["read_bytes"] == (sum(len(text.encode()) for text in documents[name]) if weight else 0)
        assert row["train_intended"] == pytest.approx(float(weight) / 100)
        assert row["eval_intended"] == pytest.approx(float(weight) / 500)
        if weight:
            for achieved, intended in (
                (row["train_achieved"], row["train_intended"]),
                (row["eval_achieved"], row["eval_intended"]),
            ):
                # Five standard deviations of a binomial; copies come in whole numbers around the mean.
                part = intended % 1
                assert abs(achieved - intended) <= 5 * (part * (1 - part) / n) ** 0.5 + 1e-9


def test_weights_on_counts(tmp_path: Path) -> None:
    """One sample for all weights, and a change of weight that reads no document."""
    write_corpus(tmp_path, CORPUS)
    sampling = {"train": "40%", "eval": "10%", "weighting": "counts"}
    weights = {"books_sv": 3, "law_sv": 0.5, "code_xx": 0}
    study = make_study(tmp_path, sampling=sampling, weights={"subset": weights})
    counts = count(study, out=tmp_path / "out")
    expected = reference_counts(CORPUS, **reference_settings(study))
    assert_same(counts.folder, expected)
    weighted: dict[str, int] = {}
    for (language, category, word), number in expected.train.items():
        # The common denominator of 3, 0.5 and 1 is 2.
        weight = 2 * Fraction(str(weights.get(f"{category}_{language}", 1)))
        weighted[word] = weighted.get(word, 0) + int(number * weight)
    assert dict(counts.training().items()) == weighted

    before = {path.name: path.stat().st_mtime_ns for path in counts.folder.iterdir()}
    again = make_study(tmp_path, sampling=sampling, weights={"subset": {**weights, "books_sv": 7}})
    changed = count(again, out=tmp_path / "out")
    assert changed.weights[SubsetName("books", "sv")] == 7
    assert changed.training("sv", "books").total == 7 * counts.training("sv", "books", {}).total
    after = {path.name: path.stat().st_mtime_ns for path in counts.folder.iterdir()}
    assert [name for name in sorted(after) if after[name] != before[name]] == ["counts.json", "subsets.parquet"]
