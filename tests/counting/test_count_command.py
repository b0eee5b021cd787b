"""`piecework count`: the table at the end, the plan before, JSON, refusals."""

import json
import subprocess
from pathlib import Path

import pytest

from cli.command import COMMAND, environment
from counting.corpora import made_up_corpus, write_corpus
from piecework.counting.store import Counts

STUDY = """
name = "nordic"
[corpus]
path = "data/{category}_{language}-*"
[weights]
language = { is = 2.0, xx = 0 }
[sampling]
train = "20%"
eval = "5%"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    write_corpus(folder / "data", made_up_corpus(300))
    with (folder / "data" / "law_sv-00000.jsonl").open("ab") as file:
        file.write(b'{"text": ""}\nbad\n{"text": null}\nbad\n')
    (folder / "study.toml").write_text(STUDY)
    return folder


def run(folder: Path, *arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [*COMMAND, "count", "study.toml", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", env=environment(), timeout=60)


def test_count(folder: Path) -> None:
    done = run(folder)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()[1:]
    assert lines[0].split()[:4] == ["subset", "weight", "documents", "text"]
    assert [line.split()[0] for line in lines[1:]] == ["books_is", "books_sv", "law_sv", "code_xx", "all"]
    assert lines[3].split()[-1] == lines[5].split()[-1] == "4"
    assert "40 %" in lines[1]
    assert "wrote out/nordic/counts" in done.stderr
    assert "warning: 4 records skipped: 2 malformed JSON, 1 field null, 1 empty" in done.stderr
    assert "  law_sv: 1 empty, first in data/law_sv-00000.jsonl:331\n" in done.stderr
    assert done.stderr.splitlines()[-1] == "next: piecework run study.toml"
    assert Counts.load(folder / "out" / "nordic").languages == ["is", "sv", "xx"]

    again = run(folder, "--json")
    assert again.returncode == 0, again.stderr
    assert "the counts of this study exist already" in again.stderr
    content = json.loads(again.stdout)
    assert content["subsets"][2]["skipped_records"] == 4
    assert content["folder"] == "out/nordic/counts"

    strict = run(folder, "--strict", "--out", "strict")
    assert strict.returncode == 1
    assert "law_sv-00000.jsonl:331: empty; without --strict" in strict.stderr
    quiet = run(folder, "--force", "-q", "--threads", 1, "--memory", "500MB")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


def test_dry_run(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    done = run(folder, "--dry-run", "--threads", 2, "--memory", "1GB", "--out", "dry")
    assert done.returncode == 0, done.stderr
    assert sorted(folder.rglob("*")) == before
    assert "3 files" in done.stdout
    row = next(line.split() for line in done.stdout.splitlines() if line.split()[:1] == ["books_is"])
    documents = len((folder / "data" / "books_is-00000.jsonl").read_bytes().splitlines())
    assert row[1:4] == ["2", "1", str(documents)]
    assert row[-2:] == [f"{documents * 0.4:.0f}", f"{documents * 0.1:.0f}"]
    assert "memory  about" in done.stdout
    assert "time    about" in done.stdout
    assert done.stderr.strip() == "next: piecework count study.toml --threads 2 --memory 1GB --out dry"
    assert [line.split("  ")[1] for line in done.stdout.splitlines()[-2:]] == ["12.0 GB", "1.2 TB"]
    content = json.loads(run(folder, "--dry-run", "--json").stdout)
    tables = content["estimate"]["tables"]
    assert [table["text_bytes"] for table in tables[1:]] == [12e9, 1.2e12]
    assert 0 < tables[0]["distinct_words"] <= tables[1]["distinct_words"] <= tables[2]["distinct_words"]
    assert content["estimate"]["subsets"][0]["documents"] == documents


def test_refusals(folder: Path) -> None:
    for arguments, code, message in (
        (["--memory", "plenty"], 2, '"plenty" is no size; write it as 2GB'),
        (["--memory", "10MB"], 1, "10 MB of memory are too little; --memory should be 260MB or more"),
        (["--threads", "0"], 2, "0 is not in the range"),
        (["--out", "study.toml"], 1, "study.toml is a file, not a folder"),
    ):
        done = run(folder, *arguments)
        assert done.returncode == code, done.stderr
        assert message in done.stderr
        assert "Traceback" not in done.stderr
