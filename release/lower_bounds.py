"""Tries Piecework with the oldest version of each dependency that pyproject.toml allows.

Usage: python -m release.lower_bounds; `make lower-bounds` runs it. Needs the registry and a compiler.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from release.environment import Environment
from release.interpreters import interpreters
from release.wheels import ROOT, SMOKE


def oldest() -> list[str]:
    """Each dependency, pinned to its lower bound."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [dependency.replace(">=", "==") for dependency in project["dependencies"]]


def main() -> None:
    """Install the lower bounds with the oldest Python there is, train, and run the demo."""
    version, python = min(interpreters().items(), key=lambda item: tuple(map(int, item[0].split("."))))
    with tempfile.TemporaryDirectory(prefix="piecework-bounds-") as folder:
        wheels = Path(folder) / "wheels"
        subprocess.run([python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", wheels, ROOT], check=True)
        (wheel,) = wheels.glob("*.whl")
        environment = Environment(Path(folder) / "venv", python)
        environment.install(*oldest(), f"{wheel}[demo]")
        environment.call("python", "-W", "error", "-c", SMOKE, cwd=Path(folder))
        environment.call("piecework", "run", "--demo", "--out", "demo", cwd=Path(folder))
    print(f"Python {version} with {', '.join(oldest())}: the demo ran", file=sys.stderr)


if __name__ == "__main__":
    main()
