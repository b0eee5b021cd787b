"""A study with the language in a field of each record: its results equal those with one file per language."""

import json
import random
from pathlib import Path

from pipeline.studies import STUDY, contents, run_study, small_corpus, write_study

FIELD = """[corpus]
path = "data/{category}.jsonl"
language_field = "lang"
languages = ["da", "is", "sv"]
"""
FILES = """[corpus]
path = "data/{category}_{language}.jsonl"
"""
CODE = """[[corpus.subset]]
path = "data/python.jsonl"
language = "code"
category = "python"
code_token = "<|python|>"
"""
LAW = """[weights]
language = { is = 2 }
category = { law = 0.5 }
"""


def test_the_results_of_a_file_per_language(tmp_path: Path) -> None:
    corpus = {name: texts for name, texts in small_corpus().items() if name.startswith("books_")}
    corpus["books_da"] = small_corpus()["law_da"]
    changes = {CODE: "", LAW: "[weights]\nlanguage = { is = 2 }\n"}
    by_file, _ = run_study(write_study(tmp_path / "files", corpus=corpus, **changes))

    records = [
        json.dumps({"lang": name.removeprefix("books_"), "text": text})
        for name, texts in corpus.items()
        for text in texts
    ]
    random.Random(1).shuffle(records)
    study = write_study(tmp_path / "field", corpus={}, text=STUDY.replace(FILES, FIELD), **changes)
    (tmp_path / "field" / "data").mkdir()
    (tmp_path / "field" / "data" / "books.jsonl").write_text("\n".join(records) + "\n")
    by_field, warnings = run_study(study)

    assert not [message for message in warnings if "skipped" in message]
    for name in ("tokenizers", "results"):
        expected, found = (contents(results.folder / name) for results in (by_file, by_field))
        assert expected.keys() == found.keys()
        # Model cards name the study's file; the rest is the same to the byte.
        assert {path for path in expected if expected[path] != found[path]} <= {
            path for path in expected if path.endswith("README.md")
        }
    page = (by_field.folder / "report.html").read_text(encoding="utf-8")
    assert all(language in page for language in ("Danish", "Icelandic", "Swedish"))
    assert by_field.folder.joinpath("counts", "train.parquet").read_bytes() == (
        by_file.folder.joinpath("counts", "train.parquet").read_bytes()
    )
