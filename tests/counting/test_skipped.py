"""Records that cannot be used are counted exactly, with the first locations, however files are cut. `--strict`."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from counting.corpora import make_study, write
from piecework.corpus import Reason
from piecework.counting.local import count
from piecework.errors import EmptySubsetError, InputError

BAD_LINES = {
    Reason.MALFORMED_JSON: [b'{"text": "cut', b"no json", b'{"text": NaN}'],
    Reason.NOT_AN_OBJECT: [b'["text"]', b"null"],
    Reason.FIELD_MISSING: [b"{}", b'{"Text": "x"}'],
    Reason.FIELD_NULL: [b'{"text": null}'],
    Reason.NOT_A_STRING: [b'{"text": 1}', b'{"text": ["x"]}', b'{"text": true}', b'{"text": {}}'],
    Reason.INVALID_UTF8: [b'{"text": "\xff"}', b'{"text": "\xed\xa0\x80"}'],
    Reason.LONE_SURROGATE: [b'{"text": "\\ud800"}'],
    Reason.EMPTY: [b'{"text": ""}'],
}


def skipped_in(folder: Path) -> dict[str, tuple[int, list[str]]]:
    """For each reason, the number of records and the locations of the first ones. The corpus has one subset."""
    rows: list[dict[str, Any]] = json.loads((folder / "counts.json").read_bytes())["skipped"]
    assert {(row["category"], row["language"]) for row in rows} <= {("a", "x")}
    return {row["reason"]: (row["records"], row["first"]) for row in rows}


@pytest.mark.parametrize("shard_bytes", [None, 200])
def test_every_kind_is_counted_and_placed(tmp_path: Path, shard_bytes: int | None) -> None:
    lines: list[bytes] = []
    expected: dict[str, list[int]] = {}
    for _ in range(4):
        for reason, bad in BAD_LINES.items():
            for line in bad:
                lines += [b'{"text": "good %d"}' % len(lines), b"", b" \r", line]
                expected.setdefault(str(reason), []).append(len(lines))
    (tmp_path / "a_x-0.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\n".join(lines))
    counts = count(make_study(tmp_path), out=tmp_path / "out", threads=2, shard_bytes=shard_bytes)
    assert skipped_in(counts.folder) == {
        reason: (len(numbers), [f"a_x-0.jsonl:{line}" for line in numbers[:3]]) for reason, numbers in expected.items()
    }
    [row] = counts.subsets.to_pylist()
    assert row["read_documents"] == row["skipped_records"] == sum(map(len, expected.values()))


def test_parquet(tmp_path: Path) -> None:
    values = [b"good", None, b"", b"\xff", None, b"also good", b"\xc3", None, None]
    column = pyarrow.array(values, pyarrow.binary()).view(pyarrow.string())
    path = tmp_path / "a_x-0.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": column}), path, row_group_size=2)
    pyarrow.parquet.write_table(pyarrow.table({"other": ["a"] * 5}), tmp_path / "a_x-1.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"text": [1, None]}), tmp_path / "a_x-2.parquet")
    counts = count(make_study(tmp_path), out=tmp_path / "out", threads=1, shard_bytes=path.stat().st_size // 3)

    def rows(name: str, *numbers: int) -> list[str]:
        return [f"{name}: row {number}" for number in numbers]

    assert skipped_in(counts.folder) == {
        "field null": (5, rows("a_x-0.parquet", 2, 5, 8)),
        "invalid UTF-8": (2, rows("a_x-0.parquet", 4, 7)),
        "empty": (1, rows("a_x-0.parquet", 3)),
        "field missing": (5, rows("a_x-1.parquet", 1, 2, 3)),
        "not a string": (1, rows("a_x-2.parquet", 1)),
    }


def test_plain_text(tmp_path: Path) -> None:
    (tmp_path / "a_x-0.txt").write_bytes(b"good\n\xff\n\n \nalso good\n\xfe")
    (tmp_path / "a_x-1.txt").write_bytes(b"")
    lines = count(
        make_study(tmp_path, corpus={"path": "{category}_{language}-*", "documents": "line"}), out=tmp_path / "lines"
    )
    assert lines.subsets.column("read_documents").to_pylist() == [2]
    assert skipped_in(lines.folder) == {"invalid UTF-8": (2, ["a_x-0.txt:2", "a_x-0.txt:6"])}
    (tmp_path / "a_x-2.txt").write_bytes(b"\xef\xbb\xbfgood\n\ngood")
    (tmp_path / "a_x-3.txt").write_bytes(b"\xef\xbb\xbf")
    files = count(make_study(tmp_path), out=tmp_path / "files")
    assert files.subsets.column("read_documents").to_pylist() == [1]
    assert files.subsets.column("read_characters").to_pylist() == [10]
    assert skipped_in(files.folder) == {
        "invalid UTF-8": (1, ["a_x-0.txt"]),
        "empty": (2, ["a_x-1.txt", "a_x-3.txt"]),
    }


def test_strict(tmp_path: Path) -> None:
    write(tmp_path / "a_x-0.jsonl", [f"document {number}" for number in range(2000)])
    with (tmp_path / "a_x-0.jsonl").open("ab") as file:
        file.write(b'{"text": ""}\n{"text": null}\n')
    write(tmp_path / "b_x-0.jsonl", [f"document {number}" for number in range(2000)])
    with (tmp_path / "b_x-0.jsonl").open("ab") as file:
        file.write(b"bad\n")
    study = make_study(tmp_path)
    options: dict[str, Any] = {"out": tmp_path / "out", "threads": 2, "shard_bytes": 10_000}
    first = r"a_x-0\.jsonl:2001: empty; without --strict"
    for _ in range(2):
        with pytest.raises(InputError, match=first):
            count(study, strict=True, **options)
    # Shards that were counted without `strict` are checked too, and so are existing counts.
    count(study, **options)
    with pytest.raises(InputError, match=r"a_x-0\.jsonl:2002: field null; without --strict"):
        count(study, strict=True, **options)
    with pytest.raises(InputError, match=first):
        count(study, strict=True, force=True, **options)


def test_nothing_usable_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a_x-0.jsonl").write_bytes(b'{"content": "x"}\n' * 3)
    with pytest.raises(InputError, match=r"no document in 1 file: 3 records skipped: 3 field missing \(a_x-0"):
        count(make_study(tmp_path), out=tmp_path / "out")


def test_a_subset_that_loses_all_its_documents_stops_the_count(tmp_path: Path) -> None:
    (tmp_path / "a_x-0.jsonl").write_bytes(b'{"content": "x", "id": "1"}\n' * 3)
    write(tmp_path / "b_x-0.jsonl", ["one", "two"])
    message = r"a_x loses all its documents: 3 records skipped: 3 field missing \(a_x-0.jsonl:1\); there is no field "
    for _ in range(2):
        with pytest.raises(EmptySubsetError, match=message + '"text"; its fields with text are content, id') as caught:
            count(make_study(tmp_path), out=tmp_path / "out")
        assert caught.value.subsets == ("a_x",)
    assert not (tmp_path / "out/counts/counts.json").exists()
    counts = count(make_study(tmp_path), out=tmp_path / "out", allow_empty=True)
    assert counts.subsets.column("read_documents").to_pylist() == [0, 2]
