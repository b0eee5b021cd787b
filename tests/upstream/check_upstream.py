"""Says in a line for each library whether its newest release still agrees with Piecework.

Usage: python tests/upstream/check_upstream.py [PACKAGE...]; `make upstream` checks all. The newest release is installed
into a temporary folder, and the tests that compare with it run with that folder first on the path.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = {
    "sentencepiece": ["tests/parity/test_installed_text.py", "tests/drop_in"],
    "tokenizers": ["tests/export/test_hf.py", "tests/bytelevel/test_pre_tokenizers.py", "-m", "not slow"],
    "transformers": ["tests/export/test_hf.py", "tests/export/test_verify.py", "-m", "not slow"],
    "tiktoken": ["tests/compare/test_outside.py", "tests/bytelevel/test_pre_tokenizers.py"],
    "gigatoken": ["tests/export/test_verify.py", "tests/export/test_formats.py"],
}


def check(package: str, folder: Path) -> bool:
    """Install the newest release, run its tests, print one line; True if it agrees."""
    install = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--upgrade"]
    done = subprocess.run([*install, "--target", folder, package], capture_output=True, text=True)
    if done.returncode:
        reason = done.stderr.strip().splitlines() or ["no reason given"]
        print(f"{package}: cannot be installed: {reason[-1]}", flush=True)
        return False
    version = next(folder.glob(f"{package}-*.dist-info")).name.removeprefix(f"{package}-").removesuffix(".dist-info")
    path = os.pathsep.join(filter(None, [str(folder), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS[package]]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error)", done.stdout)}
    if done.returncode == 0 and counts.get("passed"):
        print(f"{package} {version}: agrees ({counts['passed']:,} tests)", flush=True)
        return True
    failed = re.findall(r"(?m)^(?:FAILED|ERROR) (\S+)", done.stdout)
    what = f"{len(failed):,} tests fail, first {failed[0]}" if failed else (done.stderr or done.stdout).strip()[-300:]
    print(f"{package} {version}: differs: {what}", flush=True)
    return False


def main() -> None:
    """Check the packages that are named, or all of them; the exit code is 1 if one differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", help=", ".join(TESTS))
    chosen = parser.parse_args().packages or list(TESTS)
    if unknown := set(chosen) - set(TESTS):
        parser.error(f"no tests for {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="piecework-upstream-") as folder:
        agree = [check(package, Path(folder) / package) for package in chosen]
    sys.exit(0 if all(agree) else 1)


if __name__ == "__main__":
    main()
