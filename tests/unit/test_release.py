"""A release has one version, and its package is typed."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import re
from pathlib import Path

import piecework

ROOT = Path(__file__).parents[2]


def test_the_version_has_one_value() -> None:
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited is not None
    assert cited[1] == piecework.__version__ == importlib.metadata.version("piecework")


def test_the_package_is_typed() -> None:
    assert importlib.resources.files("piecework").joinpath("py.typed").is_file()
