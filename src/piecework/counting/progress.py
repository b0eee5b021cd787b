"""How far counting is: what it reports while it works."""

from collections.abc import Callable
from typing import Literal

__all__ = ["Progress", "Stage"]

Stage = Literal["counting", "merging"]
Progress = Callable[[Stage, int, int], None]
"""Called with the stage, the amount done and the amount in all: bytes read, or spill files merged."""
