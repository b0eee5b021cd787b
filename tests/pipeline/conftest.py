"""A finished study. It runs once for all tests, and each test gets a copy."""

import shutil
from pathlib import Path

import pytest

from pipeline.studies import run_study, write_study


@pytest.fixture(scope="session")
def run_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the finished study. Tests must not change it."""
    folder = tmp_path_factory.mktemp("study") / "small"
    _, warnings = run_study(write_study(folder))
    assert warnings == []
    return folder


@pytest.fixture
def study(run_once: Path, tmp_path: Path) -> Path:
    """The study file in a copy of the finished study. The corpus and the results are in the same folder."""
    shutil.copytree(run_once, tmp_path / "small")
    return tmp_path / "small" / "study.toml"
