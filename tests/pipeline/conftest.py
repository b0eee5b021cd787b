"""A study that has been run, once for all tests and copied for each."""

import shutil
from pathlib import Path

import pytest

from pipeline.studies import run_study, write_study


@pytest.fixture(scope="session")
def run_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study that has been run; not to be changed."""
    folder = tmp_path_factory.mktemp("study") / "small"
    _, warnings = run_study(write_study(folder))
    assert warnings == []
    return folder


@pytest.fixture
def study(run_once: Path, tmp_path: Path) -> Path:
    """The file of a study that has been run, in a folder of its own. What belongs together has moved together."""
    shutil.copytree(run_once, tmp_path / "small")
    return tmp_path / "small" / "study.toml"
