"""An object store, and a Spark cluster, for all tests of this folder."""

import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.spark import SETTINGS, SparkCluster, running_cluster
from cluster.store import running_store, settings
from piecework.counting.spark_cluster import Cluster, connect


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an S3-compatible store."""
    with running_store(tmp_path_factory.mktemp("store")) as endpoint:
        yield endpoint


@pytest.fixture
def in_store(store: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """The address of the store. The environment has its address and credentials, and no others."""
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


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python like that of a worker: it has pyarrow, but neither this package nor its libraries for reading."""
    folder = tmp_path_factory.mktemp("bare")
    site = Path(sysconfig.get_path("purelib"))
    for name in ("pyarrow", "numpy", "pandas"):
        spec = importlib.util.find_spec(name)
        assert spec
        assert spec.submodule_search_locations
        place = Path(next(iter(spec.submodule_search_locations)))
        (folder / name).symlink_to(place)
        for libraries in place.parent.glob(f"{name}.libs"):
            (folder / libraries.name).symlink_to(libraries)
    for needed in ("dateutil", "six.py", "pytz", "tzdata"):
        for parent in {site, *(Path(path) for path in sys.path if path.endswith("site-packages"))}:
            if (parent / needed).exists() and not (folder / needed).exists():
                (folder / needed).symlink_to(parent / needed)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{folder}" exec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    return python


@pytest.fixture(scope="module")
def cluster(spark_cluster: SparkCluster, bare_python: Path) -> Iterator[Cluster]:
    """One application for all tests, because the workers need seconds to start one."""
    conf = {**SETTINGS, "spark.pyspark.python": str(bare_python)}
    with connect(Cluster(spark_cluster.master, conf), name="tests"):
        yield Cluster(spark_cluster.master)
