"""Keeps the number of open spill files small: the core merges sorted files of counts, and has all of them open."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from piecework import _core

__all__ = ["few_files"]

# Each open spill file takes a file descriptor (a process often has 1,024), a buffer and its current key.
MAX_OPEN_FILES = 128


def few_files(files: Sequence[Path], folder: Path) -> list[bytes]:
    """Spill files, few enough to be open together. If there are too many, some are merged into the folder."""
    paths = deque(map(os.fsencode, files))
    while len(paths) > MAX_OPEN_FILES:
        folder.mkdir(parents=True, exist_ok=True)
        together = min(MAX_OPEN_FILES, len(paths) - MAX_OPEN_FILES + 1)
        first = [paths.popleft() for _ in range(together)]
        merged = os.fsencode(folder / f"{len(list(folder.iterdir()))}.spill")
        _core.merge_spill_files(first, merged)
        paths.append(merged)
    return list(paths)
