"""The same study on every Python from 3.11 on that this machine has: the same files. `make pythons`.

Each interpreter gets an environment of its own below build/pythons, with the package built and installed for it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent)]

from release.interpreters import interpreters  # noqa: E402

from piecework.results.folder import REPORT_FILE, RUN_FILE  # noqa: E402
from pipeline.studies import contents, write_study  # noqa: E402

WORK = TESTS.parent / "build" / "pythons"


def run_with(version: str, python: Path, study: Path) -> dict[str, bytes]:
    """Install the package for one interpreter, run the study with it, and read its files."""
    environment = WORK / f"venv-{version}"
    subprocess.run([python, "-m", "venv", "--clear", environment], check=True)
    pip = [environment / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    subprocess.run([*pip, str(TESTS.parent)], check=True)
    out = WORK / f"out-{version}"
    shutil.rmtree(out, ignore_errors=True)
    command = [environment / "bin" / "piecework", "run", study, "--out", out, "-q"]
    # Without the caller's PYTHONPATH, which may hold a core that was built for another interpreter.
    without = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(command, check=True, cwd=WORK, env=without)
    # The report and run.json name the versions of Python and NumPy.
    return contents(out, without=(RUN_FILE, REPORT_FILE))


def main() -> int:
    """Run the study on each interpreter; 1 where a file differs."""
    study = write_study(WORK / "study")
    results = {version: run_with(version, python, study) for version, python in sorted(interpreters().items())}
    first, *others = results
    for version in others:
        paths = results[first].keys() | results[version].keys()
        differing = sorted(path for path in paths if results[first].get(path) != results[version].get(path))
        if differing:
            print(f"Python {version} gives other files than {first}: {', '.join(differing)}")
            return 1
    print(f"the same {len(results[first])} files on Python {', '.join(results)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
