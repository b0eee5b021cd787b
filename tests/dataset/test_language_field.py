"""A field gives the language of each record: the dataset equals that of the same corpus in one file per language."""

from pathlib import Path
from typing import Any

import pytest

import piecework as pw
from counting.corpora import made_up_documents, write_corpus
from counting.test_language_field import LANGUAGES, field_study, mixed, split_study, write_mixed
from dataset.readers import read_dataset, read_megatron
from dataset.test_faults import dataset_bytes
from piecework.errors import InputError


@pytest.fixture(scope="module")
def texts() -> dict[str, list[str]]:
    return {name: made_up_documents(60, seed=seed) for seed, name in enumerate(LANGUAGES)}


@pytest.mark.parametrize(
    ("suffix", "weights"), [(".jsonl", {"is": "2.5", "da": "0.5"}), (".parquet", {}), (".jsonl", {"da": 0})]
)
def test_each_subset_has_files_of_its_own(
    tmp_path: Path, tokenizer: pw.Tokenizer, texts: dict[str, list[str]], suffix: str, weights: dict[str, Any]
) -> None:
    records = [*mixed(texts), {"lang": "pl", "text": "a"}, {"text": "b"}]
    write_mixed(tmp_path / "mixed" / f"books-0{suffix}", records)
    in_order = {f"books_{name}": [r["text"] for r in records if r.get("lang") == name] for name in LANGUAGES}
    write_corpus(tmp_path / "split", in_order)
    options: dict[str, Any] = {"sizes": (500, 900), "append_eos": True, "shard_size": 6_000}
    settings = {"weights": {"language": weights}}
    whole = pw.tokenize(split_study(tmp_path / "split", **settings), tokenizer, out=tmp_path / "one", **options)
    study = field_study(tmp_path / "mixed", **settings)
    found = pw.tokenize(study, tokenizer, out=tmp_path / "field", threads=2, **options)
    taken = [name for name in LANGUAGES if weights.get(name) != 0]
    assert {row["language"]: row["tokens"] for row in found.subset_rows} == {
        row["language"]: row["tokens"] for row in whole.subset_rows
    }
    for size in ("500", "900"):
        for name in taken:
            parts = [
                [document for stem in _stems(tmp_path / folder / size, f"books_{name}") for document in stem]
                for folder in ("one", "field")
            ]
            assert parts[0] == parts[1], "the documents of a language, in the order of the file"
    skipped = {row["reason"]: row["records"] for row in found.description["skipped"]}
    assert skipped == {"language not in the study": 1, "no language": 1}
    assert not list((tmp_path / "field/900").glob("books_da*")) or "da" in taken
    pw.tokenize(study, tokenizer, out=tmp_path / "again", threads=1, **options)
    assert dataset_bytes(tmp_path / "again") == dataset_bytes(tmp_path / "field")


def _stems(folder: Path, prefix: str) -> list[list[list[int]]]:
    return [read_megatron(path.with_suffix("")) for path in sorted(folder.glob(f"{prefix}-*.idx"))]


def test_shuffled_with_all_languages(tmp_path: Path, tokenizer: pw.Tokenizer, texts: dict[str, list[str]]) -> None:
    write_mixed(tmp_path / "mixed/books-0.jsonl", mixed(texts))
    study = field_study(tmp_path / "mixed")
    pw.tokenize(study, tokenizer, out=tmp_path / "ids", shuffle=2, threads=1, shard_size=9_000)
    found = read_dataset(tmp_path / "ids", "megatron")
    expected = tokenizer.encode_batch([text for each in texts.values() for text in each])
    assert sorted(found) == sorted(expected)
    assert found != expected


def test_a_shard_without_documents_has_no_files(tmp_path: Path, tokenizer: pw.Tokenizer) -> None:
    records = [{"lang": "da", "text": f"en {n}"} for n in range(300)] + [{"lang": "sv", "text": "tack"}]
    write_mixed(tmp_path / "mixed/books-0.jsonl", records)
    study = field_study(tmp_path / "mixed")
    dataset = pw.tokenize(study, tokenizer, out=tmp_path / "ids", threads=1, shard_size=4_000)
    names = {path.name for path in (tmp_path / "ids").glob("*.bin")}
    assert len([name for name in names if name.startswith("books_da")]) > 2
    assert len([name for name in names if name.startswith("books_sv")]) == 1
    assert {row["name"] for row in dataset.description["shards"]} == {name.removesuffix(".bin") for name in names}
    assert {row["language"]: row["documents"] for row in dataset.subset_rows} == {"da": 300, "is": 0, "sv": 1}
    with pytest.raises(InputError, match=r"books-0.jsonl:1: language not in the study; without --strict"):
        write_mixed(tmp_path / "mixed/books-0.jsonl", [{"lang": "pl", "text": "a"}, *records])
        pw.tokenize(study, tokenizer, out=tmp_path / "strict", threads=1, strict=True)
