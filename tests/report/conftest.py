"""Studies that the tests of the report share."""

from pathlib import Path

import pytest

from piecework.pipeline.results import StudyResults
from report.studies import HOSTILE_LANGUAGE, HOSTILE_NAME, HOSTILE_TEXT, run_study


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    """A study whose name, languages, pieces and passages are markup."""
    texts = {"code": [f"{HOSTILE_TEXT}\n{HOSTILE_TEXT} {number}" for number in range(40)]}
    folder: Path = tmp_path_factory.mktemp("hostile")
    return run_study(folder, ["sv", HOSTILE_LANGUAGE, "code"], name=HOSTILE_NAME, texts=texts, paper_findings=True)


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    """A study with one size and no monolingual tokenizers, in which a language has no text at all."""
    folder: Path = tmp_path_factory.mktemp("bare")
    return run_study(folder, ["sv", "empty"], monolingual=False, vocab_sizes=[])
