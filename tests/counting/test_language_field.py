"""A field gives the language of each record: the counts equal those of the same corpus in one file per language."""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

import piecework as pw
from counting.corpora import count_here, made_up_documents, result_bytes, write_corpus
from piecework.counting.partial import PartialResults
from piecework.counting.plan import Plan
from piecework.errors import EmptySubsetError, StudyError
from piecework.study.study import Study
from piecework.study.survey import survey_folder

LANGUAGES = ("da", "is", "sv")
SAMPLING = {"train": "40%", "eval": "15%"}


@pytest.fixture(scope="module")
def texts() -> dict[str, list[str]]:
    return {name: made_up_documents(150, seed=seed) for seed, name in enumerate(LANGUAGES)}


def mixed(texts: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """The documents of all languages as records, in random order."""
    records = [{"lang": language, "text": text} for language, each in texts.items() for text in each]
    random.Random(1).shuffle(records)
    return records


def write_mixed(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(records)), path, row_group_size=100)
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in records))


def field_study(folder: Path, pattern: str = "{category}-*", **settings: Any) -> Study:
    corpus = {"path": pattern, "language_field": "lang", "languages": list(LANGUAGES)}
    return Study(**{"folder": folder, "name": "test", "corpus": corpus, "sampling": SAMPLING, **settings})


def split_study(folder: Path, **settings: Any) -> Study:
    corpus = {"path": "{category}_{language}-*"}
    return Study(**{"folder": folder, "name": "test", "corpus": corpus, "sampling": SAMPLING, **settings})


@pytest.mark.parametrize(
    ("suffix", "shard_bytes", "settings"),
    [
        (".jsonl", None, {}),
        (".jsonl", 5_000, {"weights": {"language": {"is": 3, "da": "0.5"}}}),
        (".parquet", 5_000, {}),
        (".jsonl", None, {"weights": {"language": {"da": 0}}}),
    ],
    ids=["jsonl", "weights and shards", "parquet", "left out"],
)
def test_the_counts_of_a_file_per_language(
    suffix: str, shard_bytes: int | None, settings: dict[str, Any], texts: dict[str, list[str]], tmp_path: Path
) -> None:
    write_corpus(tmp_path / "split", {f"books_{name}": each for name, each in texts.items()})
    records = mixed(texts)
    for number in range(2):
        write_mixed(tmp_path / "mixed" / f"books-{number}{suffix}", records[number::2])
    expected = count_here(split_study(tmp_path / "split", **settings), tmp_path / "expected" / "counts")
    plan = count_here(
        field_study(tmp_path / "mixed", **settings),
        tmp_path / "found" / "counts",
        shard_bytes=shard_bytes,
        table_bytes=60_000 if shard_bytes else 1 << 30,
    )
    assert result_bytes(tmp_path / "found") == result_bytes(tmp_path / "expected")
    descriptions = [pw.Counts.load(tmp_path / name).description for name in ("found", "expected")]
    assert descriptions[0]["passages"] == descriptions[1]["passages"]
    assert [subset.name for subset in plan.subsets] == [subset.name for subset in expected.subsets]
    assert descriptions[0]["inputs"]["files"] == len(plan.files()) == 2


def test_any_number_of_threads_and_after_an_interrupt(texts: dict[str, list[str]], tmp_path: Path) -> None:
    write_mixed(tmp_path / "books-0.jsonl", mixed(texts))
    study = field_study(tmp_path)
    pw.count(study, out=tmp_path / "one", threads=1)
    pw.count(study, out=tmp_path / "two", threads=2, shard_bytes=20_000)

    def interrupt(_stage: str, done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pw.count(study, out=tmp_path / "resumed", threads=1, shard_bytes=5_000, progress=interrupt)
    shards = Plan.from_study(study, shard_bytes=5_000).shards
    partial = PartialResults(tmp_path / "resumed" / "counts" / ".partial")
    assert 0 < sum(partial.load(shard) is not None for shard in shards) < len(shards)
    pw.count(study, out=tmp_path / "resumed", threads=1, shard_bytes=5_000)
    assert result_bytes(tmp_path / "one") == result_bytes(tmp_path / "two") == result_bytes(tmp_path / "resumed")


def test_what_is_skipped_of_each_language(texts: dict[str, list[str]], tmp_path: Path) -> None:
    records: list[Any] = mixed(texts)
    records[4:4] = [{"lang": "sv", "text": ""}, {"lang": "pl", "text": "x"}, {"text": "x"}, {"lang": 5, "text": "x"}]
    lines = [json.dumps(record) for record in records]
    lines[10:10] = ["{"]
    (tmp_path / "books-0.jsonl").write_text("\n".join(lines))
    counts = pw.count(field_study(tmp_path), out=tmp_path / "out", threads=1, shard_bytes=2_000)
    skipped = {
        (each["language"], each["reason"]): (each["records"], each["first"]) for each in counts.description["skipped"]
    }
    assert skipped == {
        ("sv", "empty"): (1, ["books-0.jsonl:5"]),
        ("und", "language not in the study"): (1, ["books-0.jsonl:6"]),
        ("und", "no language"): (2, ["books-0.jsonl:7", "books-0.jsonl:8"]),
        ("und", "malformed JSON"): (1, ["books-0.jsonl:11"]),
    }
    assert [row["skipped_records"] for row in counts.subset_rows] == [0, 0, 1]


def test_a_language_that_no_record_has(texts: dict[str, list[str]], tmp_path: Path) -> None:
    write_mixed(tmp_path / "books-0.jsonl", mixed({"sv": texts["sv"], "da": texts["da"]}))
    with pytest.raises(EmptySubsetError, match='no record has the language "is" in the field "lang"'):
        pw.count(field_study(tmp_path), out=tmp_path / "out", threads=1)


def test_temperature_measures_each_language(texts: dict[str, list[str]], tmp_path: Path) -> None:
    write_mixed(tmp_path / "books-0.jsonl", mixed({**texts, "is": texts["is"][:20]}))
    weights = {subset.language: subset.weight for subset in Plan.from_study(_warm(tmp_path)).subsets}
    assert weights["is"] > 1 > weights["sv"]


def _warm(folder: Path) -> Study:
    return field_study(folder, weights={"temperature": 0.5})


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ({"path": "*.jsonl", "language_field": "lang"}, r'needs the languages.*languages = \["da", "is", "sv"\]'),
        ({"path": "*.txt", "language_field": "lang", "languages": ["sv"]}, "is plain text and has no field 'lang'"),
        ({"path": "*.jsonl", "language_field": "lang", "languages": ["sv", "sv"]}, 'has "sv" twice'),
        (
            {"subset": [{"path": "*.jsonl", "language": "sv", "language_field": "lang", "languages": ["sv"]}]},
            "language_field is given too",
        ),
    ],
)
def test_mistakes(corpus: dict[str, Any], message: str, texts: dict[str, list[str]], tmp_path: Path) -> None:
    write_mixed(tmp_path / "books-0.jsonl", mixed(texts))
    (tmp_path / "a.txt").write_text("hej")
    with pytest.raises((StudyError, ValueError), match=message):
        Plan.from_study(Study(folder=tmp_path, name="test", corpus=corpus))


def test_init_finds_the_field(texts: dict[str, list[str]], tmp_path: Path) -> None:
    write_mixed(tmp_path / "web.jsonl", mixed(texts))
    (group,) = survey_folder(tmp_path).groups
    assert (group.language, group.language_field, group.languages) == (None, "lang", list(LANGUAGES))
