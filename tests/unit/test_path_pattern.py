"""Patterns of paths: what the braces match, and what is refused."""

from pathlib import Path

import pytest

from piecework.common.path_pattern import PathPattern


def found(tmp_path: Path, pattern: str, *names: str) -> list[tuple[str, str | None, str | None]]:
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.write_text("hej")
    matches = PathPattern(pattern).find(tmp_path)
    return [(match.path.relative_to(tmp_path).as_posix(), match.category, match.language) for match in matches]


def test_the_language_is_as_short_as_can_be(tmp_path: Path) -> None:
    assert found(tmp_path, "{category}_{language}.txt", "old_books_sv.txt", "law_is.txt", "law.txt") == [
        ("law_is.txt", "law", "is"),
        ("old_books_sv.txt", "old_books", "sv"),
    ]
    assert found(tmp_path, "{language}-{category}.md", "sv-old-books.md") == [("sv-old-books.md", "old-books", "sv")]
    assert found(tmp_path, "{category}_{language}.*", "a_da.jsonl.zst")[0] == ("a_da.jsonl.zst", "a", "da")


def test_wildcards(tmp_path: Path) -> None:
    names = ("a/sv/1.txt", "a/sv/deep/2.txt", "b/is/3.txt", "a/.hidden/4.txt")
    assert [path for path, *_ in found(tmp_path, "**/*.txt", *names)] == ["a/sv/1.txt", "a/sv/deep/2.txt", "b/is/3.txt"]
    assert found(tmp_path, "{category}/{language}/**/[!13].txt") == [("a/sv/deep/2.txt", "a", "sv")]
    assert found(tmp_path, "?/{language}/*") == [("a/sv/1.txt", None, "sv"), ("b/is/3.txt", None, "is")]
    assert len(found(tmp_path, "{category}/**")) == 3


def test_a_brace_twice_stands_for_the_same(tmp_path: Path) -> None:
    names = ("sv/law_sv.txt", "sv/law_is.txt")
    assert found(tmp_path, "{language}/{category}_{language}.txt", *names) == [("sv/law_sv.txt", "law", "sv")]


def test_a_bare_brace_or_a_final_slash_finds_folders(tmp_path: Path) -> None:
    assert [path for path, *_ in found(tmp_path, "{language}", "sv/a.txt", "is/b.txt")] == ["is", "sv"]
    assert found(tmp_path, "{language}/", "sv/a.txt") == [("is", None, "is"), ("sv", None, "sv")]
    assert found(tmp_path, "*") == []


def test_a_folder_whose_name_is_a_pattern(tmp_path: Path) -> None:
    folder = tmp_path / "[x]*"
    folder.mkdir()
    assert found(folder, "{language}.txt", "sv.txt") == [("sv.txt", None, "sv")]


def test_an_absolute_pattern(tmp_path: Path) -> None:
    assert found(tmp_path, f"{tmp_path}/{{language}}.txt", "sv.txt") == [("sv.txt", None, "sv")]


@pytest.mark.parametrize(
    ("pattern", "mistake"),
    [
        ("", "the path is empty"),
        ("{langauge}.txt", 'unknown brace {langauge}; did you mean "language"?'),
        ("{x}.txt", "unknown brace {x}; a path can have {category} and {language}"),
        ("{language.txt", "a brace without its partner"),
        ("language}.txt", "a brace without its partner"),
        ("{category}{language}", "{category}{ leaves open where the name ends; put a character between them"),
        ("{language}*.txt", "{language}* leaves open where the name ends; put a character between them"),
        ("*{language}.txt", "*{language} leaves open where the name ends; put a character between them"),
    ],
)
def test_refused(pattern: str, mistake: str) -> None:
    assert list(PathPattern(pattern).mistakes()) == [mistake]


@pytest.mark.parametrize("pattern", ["a/*/{language}", "{category}_{language}-*.x", "**/*.py", "[ab]_{language}"])
def test_accepted(pattern: str) -> None:
    assert not list(PathPattern(pattern).mistakes())
