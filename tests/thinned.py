"""Real text is thinned out in `make test`, and whole in `make parity`."""

import os
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["EVERYTHING", "thinned"]

Item = TypeVar("Item")

EVERYTHING = os.environ.get("PIECEWORK_PARITY") == "all"


def thinned(items: Sequence[Item], step: int) -> list[Item]:
    """All items if PIECEWORK_PARITY is "all", else every `step`-th. Tests that use it are marked `slow`."""
    return list(items if EVERYTHING else items[::step])
