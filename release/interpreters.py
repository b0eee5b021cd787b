"""The Pythons of this machine that Piecework runs on."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["interpreters"]

OLDEST = (3, 11)


def interpreters() -> dict[str, Path]:
    """Python by version: this one, those on the PATH as python3.N, and those of pyenv."""
    found: dict[str, Path] = {}
    candidates = [Path(path) for minor in range(11, 20) if (path := shutil.which(f"python3.{minor}"))]
    candidates += sorted((Path.home() / ".pyenv" / "versions").glob("3.*/bin/python"))
    for path in [Path(sys.executable), *candidates]:
        asked = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
        version = re.match(r"Python (\d+)\.(\d+)", asked.stdout)
        if version and tuple(map(int, version.groups())) >= OLDEST:
            found.setdefault(".".join(version.groups()), path)
    return found
