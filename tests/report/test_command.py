"""`piecework report`: what it writes, says and refuses."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from cli.command import COMMAND, environment
from piecework.pipeline.results import StudyResults


def run(*arguments: object, cwd: Path) -> "subprocess.CompletedProcess[str]":
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, cwd=cwd, env=environment(), timeout=120, encoding="utf-8", check=False
    )


@pytest.fixture
def folder(bare: StudyResults, tmp_path: Path) -> Path:
    """A study's folder without what the command writes."""
    copy = tmp_path / "study"
    shutil.copytree(bare.folder, copy, ignore=shutil.ignore_patterns("report.html", "figures"))
    return copy


def test_writes_page_and_charts(folder: Path) -> None:
    done = run("report", folder, cwd=folder.parent)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{folder / 'report.html'}\n"
    assert "next: piecework report" in done.stderr
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (folder / "results/figures/cost.svg").exists()
    assert run("report", folder, "-q", cwd=folder.parent).stderr == ""


def test_the_same_page_as_the_run_wrote(bare: StudyResults, folder: Path) -> None:
    assert run("report", folder, cwd=folder.parent).returncode == 0
    assert (folder / "report.html").read_bytes() == bare.report.read_bytes()
    drawn = sorted((folder / "results/figures").iterdir())
    assert [path.name for path in drawn] == sorted(path.name for path in (bare.folder / "results/figures").iterdir())
    assert all(path.read_bytes() == (bare.folder / "results/figures" / path.name).read_bytes() for path in drawn)


def test_another_file_is_not_replaced(folder: Path) -> None:
    page = folder.parent / "mine.html"
    page.write_text("mine")
    done = run("report", folder, "--out", page, cwd=folder.parent)
    assert done.returncode == 1
    assert "mine.html exists already; pass --force" in done.stderr
    assert page.read_text() == "mine"
    done = run("report", folder, "--out", page, "--force", "--json", cwd=folder.parent)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["report"] == str(page)
    assert said["figures"] == []
    assert said["findings"]
    assert not (folder / "report.html").exists()


@pytest.mark.parametrize(
    ("out", "message"),
    [("study", "is a folder; give a file"), ("no/such/page.html", "no such folder; make it first")],
)
def test_places_that_will_not_do(folder: Path, out: str, message: str) -> None:
    done = run("report", "study", "--out", out, cwd=folder.parent)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_no_study(tmp_path: Path) -> None:
    done = run("report", tmp_path / "no-such", cwd=tmp_path)
    assert done.returncode == 1
    assert "first run piecework run" in done.stderr
    assert run("report", cwd=tmp_path).returncode == 2


def test_a_damaged_table(folder: Path) -> None:
    (folder / "results/metrics.parquet").write_bytes(b"not parquet")
    done = run("report", folder, cwd=folder.parent)
    assert done.returncode == 1
    assert "metrics.parquet: damaged" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "report.html").exists()
