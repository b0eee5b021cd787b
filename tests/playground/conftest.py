"""Models in files, and the playground showing them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from playground.examples import tokenizer
from playground.running import Server, running


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for recipe in ("paper", "without bytes"):
        tokenizer(recipe).save(folder / recipe)
    return folder


@pytest.fixture(scope="module")
def server(models: Path) -> Iterator[Server]:
    with running(models / "paper", models / "without bytes", cwd=models) as started:
        yield started
