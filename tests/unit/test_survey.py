"""The patterns that `piecework init` finds for the names in a folder."""

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from piecework.corpus.fields import guess_text_field
from piecework.corpus.inputs import find_files
from piecework.errors import InputError
from piecework.study.survey import Survey, survey_folder

RECORD = '{"text": "hej"}\n'


def survey(folder: Path, *names: str) -> Survey:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        data = RECORD.encode()
        (folder / name).write_bytes(zstandard.compress(data) if name.endswith(".zst") else data)
    return survey_folder(folder)


@pytest.mark.parametrize(
    ("names", "pattern", "languages", "categories"),
    [
        (
            ["books_sv.jsonl.zst", "law_sv.jsonl.zst", "law_is.jsonl.zst"],
            "{category}_{language}.jsonl.zst",
            "is sv",
            "books law",
        ),
        (["books-sv.txt", "old-law-is.txt"], "{category}-{language}.txt", "is sv", "books old-law"),
        (["books.sv.jsonl", "books.pt-BR.jsonl"], "{category}.{language}.jsonl", "pt-BR sv", "books"),
        (["sv_books.jsonl", "sv_old_law.jsonl", "is_law.jsonl"], "{language}_{category}.jsonl", "is sv", ""),
        (["data/sv.jsonl", "data/is.jsonl"], "data/{language}.jsonl", "is sv", "all"),
        (["train_sv.jsonl", "train_en.jsonl"], "*_{language}.jsonl", "en sv", "all"),
        (["books/sv.jsonl", "law/sv.jsonl", "law/is.jsonl"], "{category}/{language}.jsonl", "is sv", "books law"),
        (["sv/books.jsonl", "sv/law.jsonl", "is/law.jsonl"], "{language}/{category}.jsonl", "is sv", "books law"),
        (["sv/1.txt", "sv/2.txt", "is/a.txt"], "{language}/*.txt", "is sv", "all"),
        (["swe_Latn/a.txt", "eng_Latn/b.txt"], "{language}/*.txt", "eng_Latn swe_Latn", "all"),
        (["d/law/sv/1.txt", "d/law/is/x.txt", "d/wiki/sv/2.txt"], "d/{category}/{language}/*.txt", "is sv", "law wiki"),
        (["d/sv/law/1.txt", "d/is/law/x.txt", "d/sv/wiki/2.txt"], "d/{language}/{category}/*.txt", "is sv", "law wiki"),
        (["books_sv-1-of-2.jsonl", "books_sv-2-of-2.jsonl"], "{category}_{language}-*.jsonl", "sv", "books"),
        (["sv/part-0001.jsonl", "da/part-0001.jsonl"], "{language}/*.jsonl", "da sv", "all"),
        (["sv/law-0001.jsonl", "sv/law-0002.jsonl"], "{language}/{category}-*.jsonl", "sv", "law"),
        (["2020/law_sv.jsonl", "2021/law_is.jsonl"], "*/{category}_{language}.jsonl", "is sv", "law"),
        (["wiki.jsonl", "books.jsonl"], "{category}.jsonl", "und", "books wiki"),
        (["a.txt", "b.txt"], "*.txt", "und", "all"),
    ],
)
def test_one_pattern(tmp_path: Path, names: list[str], pattern: str, languages: str, categories: str) -> None:
    (group,) = survey(tmp_path, *names).groups
    assert group.patterns == (pattern,)
    assert len(group.files) == len(names)
    assert group.languages == languages.split()
    if categories:
        assert group.categories == categories.split()


def test_a_pattern_takes_in_nothing_else(tmp_path: Path) -> None:
    found = survey(tmp_path, "books_sv.txt", "law_sv.txt", "law_en.txt", "some_text.txt")
    assert [(group.patterns, group.language) for group in found.groups] == [
        (("{category}_en.txt",), "en"),
        (("{category}_sv.txt",), "sv"),
        (("some_text.txt",), "und"),
    ]


def test_source_code(tmp_path: Path) -> None:
    found = survey(
        tmp_path, "law_sv.txt", "lib/a.py", "lib/deep/b.py", "web/c.js", "rust/d.rs", "prepare.py", "notes.md"
    )
    sources = found.groups[1:]
    assert [(group.patterns, group.category, group.code_token) for group in sources] == [
        (("web/**/*.js",), "javascript", "<|javascript|>"),
        (("lib/**/*.py",), "python", "<|python|>"),
        (("rust/**/*.rs",), "rust", None),
    ]
    assert {group.language for group in sources} == {"code"}
    assert all(group.documents == "file" for group in sources)


def test_what_is_left_out(tmp_path: Path) -> None:
    names = (
        "law_sv.jsonl",
        "a.png",
        "b.png",
        "data.json",
        "README.md",
        "LICENSE",
        ".hidden_sv.jsonl",
        "out/x_sv.jsonl",
    )
    found = survey(tmp_path, *names, "a{b}_sv.jsonl")
    assert found.left_out == {".png": 2, ".json": 1}
    assert [len(group.files) for group in found.groups] == [1]
    assert "no pattern can name it" in found.notes[0]
    with pytest.raises(InputError, match="no such folder"):
        survey_folder(tmp_path / "law_sv.jsonl")


def test_lines_or_files(tmp_path: Path) -> None:
    assert survey(tmp_path / "few", "sv/1.txt").groups[0].documents == "line"
    assert survey(tmp_path / "many", *(f"sv/{index}.txt" for index in range(50))).groups[0].documents == "file"


def test_the_field_of_the_text(tmp_path: Path) -> None:
    def guess(name: str, *records: object) -> tuple[str | None, list[str]]:
        path = tmp_path / name
        if name.endswith("parquet"):
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(records)), path)
        else:
            path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return guess_text_field(find_files([path]))

    assert guess("a.jsonl", {"id": "a" * 99, "content": "b"})[0] == "content"
    assert guess("b.jsonl", {"id": "a", "prose": "b" * 99, "year": 1})[0] == "prose"
    assert guess("c.jsonl", {"content": "a", "text": "b"})[0] == "text"
    assert guess("d.jsonl", [1, 2], {"n": 1}) == (None, [])
    assert guess("e.parquet", {"id": 1, "url": "a", "body": "b"}) == ("body", ["body", "url"])
    assert guess("f.parquet", {"id": 1, "title": "a", "prose": "bcd"})[0] == "prose"
    (tmp_path / "g.jsonl").write_text("no JSON\n\n{")
    (tmp_path / "h.parquet").write_text("no Parquet")
    assert guess_text_field(find_files([tmp_path / "g.jsonl", tmp_path / "h.parquet"])) == (None, [])


def test_a_field_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "law_sv.jsonl").write_text('{"n": 1}\n')
    found = survey(tmp_path)
    assert found.groups[0].text == "text"
    assert "no field with text" in found.notes[0]
