"""The demonstration: real text in five languages and four kinds of code, and a study of it, every table filled."""

import json
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from piecework.corpus.catalogues import parallel_documents, read_catalogue
from piecework.errors import InputError, PieceworkError
from piecework.pipeline.run import run
from piecework.study import demo
from piecework.study.demo import demo_study, write_demo

LANGUAGES = ["da", "en", "is", "no", "sv"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    assert write_demo(folder)
    return folder


def documents(folder: Path, name: str) -> list[str]:
    return [json.loads(line)["text"] for line in (folder / "corpus" / f"{name}.jsonl").read_bytes().splitlines()]


def test_the_languages_say_the_same(folder: Path) -> None:
    for category, least in (("genealogy", 150_000), ("web", 10_000)):
        texts = {language: documents(folder, f"text/{category}_{language}") for language in LANGUAGES}
        assert len({len(each) for each in texts.values()}) == 1
        for each in texts.values():
            assert sum(map(len, each)) > least
            assert len(set(each)) == len(each)
    # Each subset is in its language: these words are frequent there.
    frequent = {"da": "ikke", "en": "the", "is": "ekki", "no": "ikke", "sv": "inte"}
    for language, word in frequent.items():
        words = " ".join(documents(folder, f"text/genealogy_{language}")).lower().split()
        assert words.count(word) > 50
    assert "ikke" not in " ".join(documents(folder, "text/genealogy_sv")).lower().split()


def test_code(folder: Path) -> None:
    signs = {"python": "def ", "javascript": "function", "sql": "SELECT", "shell": "fi\n"}
    for kind, sign in signs.items():
        blocks = documents(folder, f"code/{kind}")
        assert len(blocks) > 100
        assert 200_000 < sum(map(len, blocks)) < 400_000
        assert sum(sign in block for block in blocks) > 20
        assert len(set(blocks)) == len(blocks)


def test_it_is_written_once(folder: Path) -> None:
    assert not write_demo(folder)
    path = folder / "corpus" / "text" / "web_sv.jsonl"
    before = path.read_bytes()
    path.write_bytes(b"")
    assert write_demo(folder)
    assert path.read_bytes() == before


def test_a_missing_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(demo, "distribution", missing)
    with pytest.raises(PieceworkError, match=r'not installed \(gramps, .*\): pip install "piecework\[demo\]"'):
        write_demo(tmp_path)


def test_the_study(folder: Path) -> None:
    warnings: list[str] = []
    results = run(demo_study(folder), out=folder, threads=2, warn=warnings.append)
    assert warnings == []
    assert results.languages == ["code", *LANGUAGES]
    assert results.tokenizers == [
        "multilingual",
        *(f"multilingual-{size}" for size in (1024, 2048, 3072, 4096, 6144)),
        *results.languages,
    ]
    for name, table in results.tables.items():
        assert len(table) or name == "skipped", name
    # Every estimate is there, with its interval.
    for row in results.tables["metrics"].rows():
        assert row["low"] <= row["value"] <= row["high"] or row["metric"] == "unknown_rate"
    assert len(results.tables["summary"]) == 6
    assert {row["language"] for row in results.tables["examples"].rows()} == set(results.languages)
    page = results.report.read_text(encoding="utf-8")
    assert "A demonstration on a small corpus" in page
    card = (folder / "tokenizers" / "sv" / "README.md").read_text(encoding="utf-8")
    assert card.startswith('---\nlanguage: ["sv"]\n')
    assert "# demo: sv" in card
    assert "A BPE tokenizer of 8,192 pieces for Swedish" in card
    assert "| genealogy\\_sv | 1 |" in card


def test_a_damaged_catalogue(tmp_path: Path) -> None:
    for data in (b"", b"\xde\x12\x04\x95" + b"\0" * 8, b"no catalogue at all"):
        (tmp_path / "a.mo").write_bytes(data)
        with pytest.raises(InputError, match=r"a\.mo: no catalogue of translations"):
            read_catalogue(tmp_path / "a.mo")
    with pytest.raises(InputError, match=r"b\.mo: cannot read"):
        read_catalogue(tmp_path / "b.mo")


def test_messages_to_documents() -> None:
    swedish = {
        ("", 0): "Project-Id-Version: 1",
        ("menu\x04_File", 0): "_Arkiv",
        ("%d person\0%d people", 0): "%d person",
        ("%d person\0%d people", 1): "%d personer",
        ("OK", 0): "OK",
        ("Only here", 0): "Bara här",
    }
    danish = {key: text.replace("personer", "personer i alt") for key, text in swedish.items() if key[0] != "Only here"}
    assert parallel_documents({"sv": swedish, "da": danish}, english="en") == {
        "en": ["%d people File"],
        "sv": ["%d personer Arkiv"],
        "da": ["%d personer i alt Arkiv"],
    }
