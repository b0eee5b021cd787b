"""Files of parallel text: what is read, and what is refused."""

import gzip
import re
from pathlib import Path

import pytest

from piecework.corpus.parallel_text import read_parallel
from piecework.errors import InputError


def write(folder: Path, **texts: str) -> Path:
    for language, text in texts.items():
        (folder / f"{language}.txt").write_text(text, encoding="utf-8", newline="")
    return folder


def test_lines_by_language(tmp_path: Path) -> None:
    write(tmp_path, de="eins\r\nzwei\r\n\r\n", en="one\ntwo\n\n", sv="ett\ntvå\n\n")
    found = read_parallel("{language}.txt", tmp_path)
    assert found.lines == {"de": ["eins", "zwei", ""], "en": ["one", "two", ""], "sv": ["ett", "två", ""]}
    assert found.pivot == "en"
    assert read_parallel("{language}.txt", tmp_path, pivot="sv").pivot == "sv"


def test_without_english_the_first_language_is_the_pivot(tmp_path: Path) -> None:
    assert read_parallel("{language}.txt", write(tmp_path, sv="ett", da="en")).pivot == "da"


def test_jsonl_and_compression(tmp_path: Path) -> None:
    (tmp_path / "en.jsonl").write_text('{"line": "one\\ntwo"}\n', encoding="utf-8")
    (tmp_path / "sv.jsonl").write_text('{"line": "ett\\ntvå"}\n', encoding="utf-8")
    found = read_parallel("{language}.jsonl", tmp_path, text_field="line")
    assert found.lines == {"en": ["one\ntwo"], "sv": ["ett\ntvå"]}
    with pytest.raises(InputError, match=r'en\.jsonl:1: no JSON object with the text field "text"'):
        read_parallel("{language}.jsonl", tmp_path)
    for language, text in (("en", "one\n"), ("sv", "ett\n")):
        (tmp_path / f"{language}.txt.gz").write_bytes(gzip.compress(text.encode()))
    assert read_parallel("{language}.txt.gz", tmp_path).lines == {"en": ["one"], "sv": ["ett"]}


def test_the_key_is_of_text_and_pivot(tmp_path: Path) -> None:
    folder = write(tmp_path, en="one", sv="ett")
    key = read_parallel("{language}.txt", folder).key
    assert key == read_parallel("{language}.txt", folder, pivot="en").key
    assert key != read_parallel("{language}.txt", folder, pivot="sv").key
    assert key != read_parallel("{language}.txt", write(folder, sv="två")).key


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"en": "one\ntwo\n", "sv": "ett\n"}, "sv.txt: 1 lines, but .*en.txt has 2; line n must say the same"),
        ({"en": "one\n\n", "sv": "ett\ntvå\n"}, "en.txt:2: empty, but .*sv.txt has text there"),
        ({"en": "", "sv": ""}, "the file is empty"),
        ({"en": "one\n"}, "finds only .*en.txt; parallel text needs a file for each of two or more languages"),
        ({}, "finds no file; parallel text needs"),
    ],
)
def test_what_is_not_parallel_is_refused(tmp_path: Path, texts: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_parallel("{language}.txt", write(tmp_path, **texts))


def test_a_missing_pivot_and_broken_text(tmp_path: Path) -> None:
    folder = write(tmp_path, en="one\ntwo", sv="ett\ntvå")
    with pytest.raises(InputError, match=re.escape('no file of the pivot "da"; there is en, sv')):
        read_parallel("{language}.txt", folder, pivot="da")
    (folder / "sv.txt").write_bytes(b"ett\n\xff\n")
    with pytest.raises(InputError, match=r"sv\.txt:2: not valid UTF-8"):
        read_parallel("{language}.txt", folder)
