"""A short soak: a few random studies give the same files twice, and leave nothing behind. `make soak` runs an hour."""

import sys

import pytest

from soak.soak import Soak


@pytest.mark.skipif(sys.platform != "linux", reason="what a process holds is read from /proc")
def test_a_short_soak() -> None:
    soak = Soak()
    for seed in range(12):
        soak.run_one(seed)
    soak.check_memory()
