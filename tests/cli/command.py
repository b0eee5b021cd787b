"""The command in a process of its own, and text for it."""

import os
import random
import subprocess
import sys
from collections.abc import Callable

Run = Callable[..., "subprocess.CompletedProcess[str]"]

COMMAND = [sys.executable, "-m", "piecework"]


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM", "COLUMNS")}
    return {**kept, **changes}


def made_up_lines(count: int = 400, seed: int = 1) -> list[str]:
    """Lines of words that look like language: frequent ones and rare ones, over some thirty letters."""
    generator = random.Random(seed)
    syllables = [
        "för",
        "en",
        "ska",
        "til",
        "på",
        "ver",
        "land",
        "og",
        "ð",
        "het",
        "ing",
        "ar",
        "sæ",
        "lø",
        "mo",
        "ki",
    ]
    words = ["".join(generator.choices(syllables, k=generator.randint(1, 4))) for _ in range(500)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    return [" ".join(generator.choices(words, weights, k=generator.randint(1, 20))) + "." for _ in range(count)]
