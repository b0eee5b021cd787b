"""Subsets: which files belong to which, with which settings; and the mistakes that a corpus on disk can have."""

import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from piecework.common.subset_name import SubsetName
from piecework.errors import StudyError
from piecework.study.study import Study
from piecework.study.subsets import Subset, find_subsets


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text('{"text": "hej", "en": "hi"}\n')


def subsets(folder: Path, corpus: dict[str, Any], **tables: Any) -> list[Subset]:
    return find_subsets(Study(folder=folder, corpus=corpus, **tables))


def names_of(subset: Subset, folder: Path) -> list[str]:
    return [file.path.relative_to(folder).as_posix() for file in subset.files]


def mistakes(folder: Path, corpus: dict[str, Any], **tables: Any) -> list[str]:
    with pytest.raises(StudyError) as caught:
        subsets(folder, corpus, **tables)
    return [str(mistake).replace(str(folder), "DIR") for mistake in caught.value.mistakes]


def test_sorted_by_language_then_category(tmp_path: Path) -> None:
    write(tmp_path, "wiki_da.jsonl", "law_sv.jsonl", "books_sv.jsonl", "law_da.jsonl")
    found = subsets(tmp_path, {"path": "{category}_{language}.jsonl"})
    assert [str(subset.name) for subset in found] == ["law_da", "wiki_da", "books_sv", "law_sv"]
    assert found[0] == Subset(
        name=SubsetName("law", "da"),
        files=found[0].files,
        text_field="text",
        documents="file",
        code_token=None,
        weight=Fraction(1),
    )
    assert names_of(found[0], tmp_path) == ["law_da.jsonl"]
    assert found[0].size_bytes == 28


def test_entries_that_agree_are_one_subset(tmp_path: Path) -> None:
    write(tmp_path, "b/law_sv.jsonl", "a/law_sv.jsonl", "c/more.jsonl")
    corpus = {
        "path": ["b/{category}_{language}.jsonl", "a/{category}_{language}.jsonl"],
        "subset": [{"path": ["c/*.jsonl", "./c/more.jsonl"], "language": "sv", "category": "law"}],
    }
    (law,) = subsets(tmp_path, corpus)
    assert names_of(law, tmp_path) == ["a/law_sv.jsonl", "b/law_sv.jsonl", "c/more.jsonl"]


def test_settings_of_an_entry(tmp_path: Path) -> None:
    write(tmp_path, "code/a.py", "code/deep/b.py", "sv.txt", "p.jsonl")
    corpus = {
        "documents": "line",
        "text": "content",
        "subset": [
            {
                "path": "code/**/*.py",
                "language": "code",
                "category": "python",
                "code_token": "<|python|>",
                "documents": "file",
            },
            {"path": "{language}.txt"},
            {"path": "p.jsonl", "language": "en", "text": "en"},
        ],
    }
    code, english, swedish = subsets(tmp_path, corpus)
    assert (str(code.name), code.documents, code.code_token, len(code.files)) == (
        "python_code",
        "file",
        "<|python|>",
        2,
    )
    assert (str(english.name), english.text_field) == ("all_en", "en")
    assert (str(swedish.name), swedish.documents, swedish.text_field) == ("all_sv", "line", "content")


def test_a_folder_stands_for_its_files(tmp_path: Path) -> None:
    write(tmp_path, "sv/a.txt", "sv/deep/b.jsonl", "sv/.hidden/c.txt", "is/d.txt")
    (tmp_path / "sv/cover.png").write_bytes(b"\x89PNG\0")
    icelandic, swedish = subsets(tmp_path, {"path": "{language}"})
    assert names_of(swedish, tmp_path) == ["sv/a.txt", "sv/deep/b.jsonl"]
    assert names_of(icelandic, tmp_path) == ["is/d.txt"]


def test_two_fields_of_a_file_are_two_texts(tmp_path: Path) -> None:
    write(tmp_path, "p.jsonl")
    entries = [{"path": "p.jsonl", "language": "sv"}, {"path": "p.jsonl", "language": "en", "text": "en"}]
    assert [str(subset.name) for subset in subsets(tmp_path, {"subset": entries})] == ["all_en", "all_sv"]


def test_the_same_text_in_two_subsets(tmp_path: Path) -> None:
    write(tmp_path, "law_sv.jsonl")
    corpus = {"path": "{category}_{language}.jsonl", "subset": [{"path": "*.jsonl", "language": "is"}]}
    assert mistakes(tmp_path, corpus) == [
        "DIR/law_sv.jsonl would be counted twice, for law_sv and for all_is; make one of the patterns narrower"
    ]


def test_entries_that_do_not_agree(tmp_path: Path) -> None:
    write(tmp_path, "a/law_sv.jsonl", "b/law_sv.jsonl")
    text = """\
[corpus]
path = "a/{category}_{language}.jsonl"
[[corpus.subset]]
path = "b/{category}_{language}.jsonl"
text = "content"
documents = "line"
"""
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(StudyError) as caught:
        Study.load(tmp_path / "study.toml")
    assert str(caught.value) == (
        f'{tmp_path}/study.toml:4: path = "b/{{category}}_{{language}}.jsonl" has files of law_sv too, and another '
        "text and documents than line 2 has for them; give both the same, or another category"
    )


def test_names_that_would_be_the_same(tmp_path: Path) -> None:
    write(tmp_path, "a_b/c.txt", "a/b_c.txt")
    assert mistakes(tmp_path, {"path": "{category}/{language}.txt"}) == [
        'two subsets would have the name "a_b_c": category a in language b_c, and category a_b in language c; '
        "rename one"
    ]


@pytest.mark.parametrize("language", ["multilingual", "multilingual-8000"])
def test_a_reserved_name(tmp_path: Path, language: str) -> None:
    write(tmp_path, f"{language}.txt")
    assert "is taken" in mistakes(tmp_path, {"path": "{language}.txt"})[0]


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    try:
        (tmp_path / os.fsdecode(b"\xff.txt")).write_text("hej")
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    assert "should be valid UTF-8" in mistakes(tmp_path, {"path": "{language}.txt"})[0]


def test_patterns_that_match_nothing(tmp_path: Path) -> None:
    write(tmp_path, "data/law_sv.jsonl", "data/a", "data/b", "data/c/d")
    (tmp_path / "empty").mkdir()
    corpus = {
        "path": ["data/{category}_{language}.jsonl.zst", "date/{language}.txt", "empty/{language}.txt"],
        "subset": [{"path": "no-such.txt", "language": "sv"}, {"path": "/no/such/*", "language": "sv"}],
    }
    assert mistakes(tmp_path, corpus, weights={"language": {"xx": 1}}) == [
        'path = "data/{category}_{language}.jsonl.zst" matches no file; the folder DIR/data has a, b, c/ and 1 more',
        'path = "date/{language}.txt" matches no file: there is no folder DIR/date',
        'path = "empty/{language}.txt" matches no file: the folder DIR/empty is empty',
        'path = "no-such.txt" matches no file; the folder DIR has data/, empty/',
        'path = "/no/such/*" matches no file: there is no folder /no/such',
    ]


def test_what_cannot_be_read(tmp_path: Path) -> None:
    write(tmp_path, "sv.parquet.gz")
    (tmp_path / "is").mkdir()
    found = mistakes(tmp_path, {"path": ["{language}.parquet.gz", "{language}"]})
    assert "Parquet inside .gz" in found[0]
    assert "no readable file in this folder" in found[1]


def test_tokenizers_that_are_not_there(tmp_path: Path) -> None:
    write(tmp_path, "sv.txt")
    found = mistakes(tmp_path, {"path": "{language}.txt"}, analysis={"tokenizers": {"theirs": "t.model"}})
    assert found == ['theirs = "t.model" in [analysis.tokenizers]: no such file or folder']


CORPUS = {"path": "{category}_{language}.jsonl"}


@pytest.mark.parametrize(
    ("weight", "fraction", "expected"),
    [
        (
            300,
            "0.2%",
            "eval = 0.2% in [sampling] times the largest weight, 300 of law_sv, is 60%: more than half of the "
            "documents; lower eval to 0.166% or less, or the weight to 250 or less",
        ),
        (1, "60%", "eval = 60% in [sampling]: more than half of the documents; lower eval to 50% or less"),
    ],
)
def test_too_much_to_evaluate(tmp_path: Path, weight: int, fraction: str, expected: str) -> None:
    write(tmp_path, "law_sv.jsonl", "law_is.jsonl")
    tables = {"weights": {"language": {"sv": weight}}, "sampling": {"eval": fraction}}
    assert mistakes(tmp_path, CORPUS, **tables) == [expected]


def test_as_much_as_can_be_evaluated(tmp_path: Path) -> None:
    write(tmp_path, "law_sv.jsonl")
    assert subsets(tmp_path, CORPUS, weights={"language": {"sv": 250}}, sampling={"eval": "0.2%"})
    # Weights that act on counts take no more documents.
    sampling = {"eval": "50%", "weighting": "counts"}
    assert subsets(tmp_path, CORPUS, weights={"language": {"sv": 300}}, sampling=sampling)


def test_the_weight_to_lower_is_named(tmp_path: Path) -> None:
    write(tmp_path, "law_sv.jsonl")
    text = (
        '[corpus]\npath = "{category}_{language}.jsonl"\n[weights]\ncategory = { law = 3 }\nlanguage = { sv = 100 }\n'
    )
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(StudyError, match=r"study.toml:5: .* 300 of law_sv, is 60%"):
        Study.load(tmp_path / "study.toml")


def test_nothing_left(tmp_path: Path) -> None:
    write(tmp_path, "law_sv.jsonl")
    assert mistakes(tmp_path, CORPUS, weights={"category": {"law": 0}}) == [
        "every subset has weight 0, so nothing is left of the corpus"
    ]


def test_a_file_with_several_names_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, "sv/a.txt")
    (tmp_path / "sv" / "loop").symlink_to(tmp_path / "sv")
    (tmp_path / "sv" / "b.txt").symlink_to(tmp_path / "sv" / "a.txt")
    [found] = subsets(tmp_path, {"path": "{language}/**/*.txt"})
    assert names_of(found, tmp_path) == ["sv/a.txt"]
    (tmp_path / "da").symlink_to(tmp_path / "sv")
    with pytest.raises(StudyError, match="would be counted twice, for all_da and for all_sv"):
        subsets(tmp_path, {"path": "{language}/*.txt"})
