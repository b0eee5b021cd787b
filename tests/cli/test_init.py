"""`piecework init`: a study file that validates, whatever the folder looks like."""

import gzip
import json
import random
from pathlib import Path

import pytest

from cli.command import Run
from piecework.study.study import Study
from piecework.study.subsets import find_subsets


def write(folder: Path, *names: str, record: str = '{"text": "hej"}\n') -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(record)


def test_a_study_that_validates(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "data/books_sv.jsonl", "data/law_is.jsonl", record='{"id": "1", "content": "hej"}\n')
    write(tmp_path, "data/src/a.py", "data/cover.png")
    done = run("init", "data")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    for expected in (
        "found 3 files, 76 bytes, in data",
        '  {category}_{language}.jsonl  2 files, is, sv: books, law, text in "content"',
        "  src/**/*.py  1 file, code: python, one document per file",
        "  left out: 1 .png",
        "wrote study.toml",
    ):
        assert expected in done.stderr
    assert done.stderr.splitlines()[-1] == "next: piecework validate study.toml"
    study = Study.load(tmp_path / "study.toml")
    assert study.name == "data"
    assert study.corpus.path == ("data/{category}_{language}.jsonl",)
    assert study.corpus.text == "content"
    assert [str(subset.name) for subset in find_subsets(study)] == ["python_code", "law_is", "books_sv"]
    assert run("validate", "study.toml").returncode == 0


def test_the_examples_in_the_comments_are_right(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "books_sv.jsonl", "law_is.jsonl")
    assert run("init").returncode == 0
    text = (tmp_path / "study.toml").read_text()
    for key in ("language", "category", "subset"):
        text = text.replace(f"# {key} = ", f"{key} = ")
    (tmp_path / "study.toml").write_text(text)
    weights = {str(subset.name): float(subset.weight) for subset in find_subsets(Study.load(tmp_path / "study.toml"))}
    assert weights == {"books_sv": pytest.approx(3 * 0.5 * 0.7), "law_is": 1}


def test_paths_start_at_the_study_file(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "my [data]/sv.txt")
    assert run("init", "my [data]", "--out", "studies/a.toml").returncode == 0
    study = Study.load(tmp_path / "studies/a.toml")
    assert study.corpus.path == ("../my [[]data]/{language}.txt",)
    assert study.corpus.documents == "line"
    assert find_subsets(study)[0].files[0].size_bytes == 16


@pytest.mark.parametrize(
    "names",
    [
        ["books_sv.jsonl", "law_sv.txt", "is/wiki.txt"],
        ["books_sv.txt", "my_notes.txt", "wiki.txt"],
        ["sv/1.txt", "da/2.txt", "sv/deep/3.txt", "x.jsonl"],
        ["a/b/c/d/e.txt"],
        ["we\"ird'_sv.jsonl", "a b_is.jsonl", "å_da.jsonl"],
        ["books_sv.jsonl", "sv_books.jsonl"],
        ["code.py", "more.sql"],
        ["notes.md"],
    ],
)
def test_any_folder(run: Run, tmp_path: Path, names: list[str]) -> None:
    write(tmp_path / "data", *names)
    done = run("init", "data")
    assert done.returncode == 0, done.stderr
    assert "needs corrections" not in done.stderr
    found = find_subsets(Study.load(tmp_path / "study.toml"))
    assert sum(len(subset.files) for subset in found) == len(names)


def test_files_of_different_kinds(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "books_sv.jsonl", "law_sv.jsonl")
    write(tmp_path, "wiki_is.ndjson", record='{"body": "halló"}')
    write(tmp_path, "news_da.txt")
    assert run("init").returncode == 0
    found = {str(subset.name): subset for subset in find_subsets(Study.load(tmp_path / "study.toml"))}
    assert {name: subset.text_field for name, subset in found.items()} == {
        "books_sv": "text",
        "law_sv": "text",
        "wiki_is": "body",
        "news_da": "text",
    }
    assert found["news_da"].documents == "line"


def test_a_language_that_no_name_tells(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "wiki.jsonl")
    done = run("init")
    assert 'replace "und" in study.toml' in done.stderr
    assert run("validate", "study.toml", "-q").returncode == 0


def test_nothing_is_overwritten(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "law_sv.jsonl")
    (tmp_path / "study.toml").write_text("mine")
    done = run("init")
    assert done.returncode == 1
    assert "study.toml exists already; pass --force" in done.stderr
    assert (tmp_path / "study.toml").read_text() == "mine"
    assert run("init", "--force", "-q").stderr == ""
    assert Study.load(tmp_path / "study.toml")


def test_no_text(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "data/a.png", "data/b.json")
    done = run("init", "data")
    assert done.returncode == 1
    assert "no text found" in done.stderr
    assert "left out: 1 .json, 1 .png" in done.stderr or "left out: 1 .png, 1 .json" in done.stderr
    assert run("init", "no-such").returncode == 1
    assert not (tmp_path / "study.toml").exists()


def test_the_development_corpus(run: Run, shared: Path, tmp_path: Path) -> None:
    assert run("init", shared / "corpus").returncode == 0
    done = run("validate", "study.toml", "--json")
    assert done.returncode == 0, done.stderr
    assert {subset["language"] for subset in json.loads(done.stdout)["subsets"]} == {"da", "en", "is", "no", "sv"}
    assert 'train = "90%"' in (tmp_path / "study.toml").read_text()


def test_the_language_in_the_folder_and_in_the_name(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "data/sv/sv_part.txt", "data/is/is_part.txt", "data/da/da_part.txt")
    assert run("init", "data").returncode == 0
    study = Study.load(tmp_path / "study.toml")
    assert study.corpus.path == ("data/{language}/{language}_*.txt",)
    assert [str(subset.name) for subset in find_subsets(study)] == ["all_da", "all_is", "all_sv"]


def test_english_names_of_languages(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "data/polish.txt", "data/german.txt", "data/law_english.txt")
    assert run("init", "data").returncode == 0
    found = {str(subset.name) for subset in find_subsets(Study.load(tmp_path / "study.toml"))}
    assert found == {"all_german", "all_polish", "law_english"}


def test_a_subset_with_its_text_in_another_field(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "data/books_sv.jsonl", "data/books_is.jsonl", record='{"text": "hej hej"}\n')
    write(tmp_path, "data/law_sv.jsonl", record='{"content": "paragraf ett", "id": "7"}\n')
    done = run("init", "data")
    assert done.returncode == 0, done.stderr
    assert 'law_sv: the text is in the field "content"' in done.stderr
    fields = {str(subset.name): subset.text_field for subset in find_subsets(Study.load(tmp_path / "study.toml"))}
    assert fields == {"books_sv": "text", "books_is": "text", "law_sv": "content"}
    assert "no field" not in run("validate", "study.toml").stderr


def test_validate_names_the_fields_it_finds(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "law_sv.jsonl", record='{"content": "paragraf ett", "id": "7"}\n')
    (tmp_path / "study.toml").write_text('[corpus]\npath = "{category}_{language}.jsonl"\n')
    done = run("validate", "study.toml")
    assert 'law_sv: no field "text" in its first records; its fields with text are content, id' in done.stderr


def test_the_output_of_a_study_is_no_corpus(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "sv.jsonl", "is.jsonl", "results/nordic/counts/x_sv.jsonl", "results/nordic/run.json")
    done = run("init")
    assert "results/nordic is left out: it is the output of a study" in done.stderr
    assert len(find_subsets(Study.load(tmp_path / "study.toml"))) == 2


def test_sizes_have_room_for_the_characters(run: Run, tmp_path: Path) -> None:
    letters = random.Random(1)
    words = ["".join(chr(0x4E00 + letters.randrange(1500)) for _ in range(6)) for _ in range(3000)]
    record = "".join(f'{{"text": "{" ".join(words[start : start + 10])}"}}\n' for start in range(0, 3000, 10))
    write(tmp_path, "data/zh.jsonl", "data/ja.jsonl", record=record)
    assert run("init", "data").returncode == 0
    assert Study.load(tmp_path / "study.toml").analysis.vocab_sizes == (2048, 4096, 8192)
    done = run("run", "study.toml")
    assert done.returncode == 0, done.stderr


def test_no_code_tokens_without_code_and_a_size_that_fits(run: Run, tmp_path: Path) -> None:
    letters = random.Random(1)
    words = ["".join(letters.choices("abdefgiklmnoprstuvå", k=6)) for _ in range(1000)]
    record = "".join(f'{{"text": "{" ".join(words[start : start + 10])}"}}\n' for start in range(0, 1000, 10))
    write(tmp_path, "data/sv.jsonl", "data/is.jsonl", record=record)
    assert run("init", "data").returncode == 0
    study = Study.load(tmp_path / "study.toml")
    assert study.recipe.user_defined_symbols == ()
    assert study.recipe.vocab_size < 8192
    assert study.analysis.vocab_sizes[-1] == study.recipe.vocab_size
    done = run("run", "study.toml")
    assert done.returncode == 0, done.stderr
    write(tmp_path, "data/src/a.py")
    assert run("init", "data", "--force").returncode == 0
    assert "<|python|>" in Study.load(tmp_path / "study.toml").recipe.user_defined_symbols


def test_the_language_in_place_of_the_suffix(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "data/news.cs", "data/news.de", "data/news.pl", "src/a.pl")
    for name in ("web.de.gz", "web.pl.gz"):
        (tmp_path / "data" / name).write_bytes(gzip.compress(b"hej\n"))
    assert run("init", ".").returncode == 0
    names = [str(subset.name) for subset in find_subsets(Study.load(tmp_path / "study.toml"))]
    assert names == ["perl_code", "news_cs", "news_de", "web_de", "news_pl", "web_pl"]


def test_source_code_has_no_language_in_its_suffix(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "src/main.cs", "src/main.pl", "src/main.de_", "text/a_sv.txt")
    assert run("init", ".").returncode == 0
    names = [str(subset.name) for subset in find_subsets(Study.load(tmp_path / "study.toml"))]
    assert names == ["csharp_code", "perl_code", "a_sv"]
