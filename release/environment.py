"""An empty virtual environment, and programs that see nothing but it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

__all__ = ["Environment"]

SIZES = """\
import importlib.metadata, json
print(json.dumps({
    package.name: sum(path.stat().st_size for file in package.files or () if (path := file.locate()).is_file())
    for package in importlib.metadata.distributions()
}))
"""


class Environment:
    """A new virtual environment of one interpreter.

    Its programs run with a PATH that holds only its own folder: no compiler, no CMake, no other Python.
    """

    def __init__(self, folder: Path, python: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)

    def call(self, program: str, *arguments: str | Path, cwd: Path | None = None) -> str:
        """Run a program of the environment; its output, or an end with what it said."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL"))}
        done = subprocess.run(
            [self.bin / program, *arguments],
            cwd=cwd or self.folder,
            env={**kept, "PATH": str(self.bin)},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise SystemExit(f"{program} {' '.join(map(str, arguments))}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def install(self, *wanted: str | Path) -> None:
        """Install packages that need no compiler."""
        options = ["-q", "--disable-pip-version-check", "--no-cache-dir", "--prefer-binary"]
        self.call("python", "-m", "pip", "install", *options, *wanted)

    def timed(self, program: str, *arguments: str | Path, cwd: Path | None = None) -> float:
        """Run a program; the seconds that it took."""
        start = time.monotonic()
        self.call(program, *arguments, cwd=cwd)
        return time.monotonic() - start

    def size_by_package(self) -> dict[str, int]:
        """The bytes that each installed distribution takes on the disk, the largest first."""
        sizes: dict[str, int] = json.loads(self.call("python", "-c", SIZES))
        return dict(sorted(sizes.items(), key=lambda item: -item[1]))
