"""An object store, and a Spark cluster, for all tests of this folder."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.spark import SparkCluster, running_cluster
from cluster.store import running_store, settings


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an S3-compatible store."""
    with running_store(tmp_path_factory.mktemp("store")) as endpoint:
        yield endpoint


@pytest.fixture
def in_store(store: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """The same, and an environment with its address and credentials and with no others."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in settings(store).items():
        monkeypatch.setenv(name, value)
    yield store


@pytest.fixture(scope="session")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    """A master and two workers of one core each."""
    with running_cluster(tmp_path_factory.mktemp("spark")) as cluster:
        yield cluster
