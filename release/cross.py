"""Compiles the core for systems that are not at hand, with the compiler of the package `ziglang`; runs nothing.

Usage: python -m release.cross; `make cross` runs it.
"""

from __future__ import annotations

import concurrent.futures
import subprocess
import sys
import tempfile
from itertools import repeat
from pathlib import Path

from release.wheels import ROOT

TARGETS = ("x86_64-linux-gnu.2.28", "aarch64-linux-gnu.2.28", "aarch64-macos", "x86_64-macos")


def compile_file(source: Path, target: str, out: Path) -> str:
    """Compile one file; what the compiler said, where it failed."""
    command = [sys.executable, "-m", "ziglang", "c++", "-target", target, "-std=c++20", "-O1", "-Wall", "-Wextra"]
    command += ["-I", str(ROOT / "core"), "-c", str(source), "-o", str(out / f"{source.parent.name}-{source.stem}.o")]
    done = subprocess.run(command, capture_output=True, text=True)
    return f"{source.relative_to(ROOT)}: {done.stderr}" if done.returncode else ""


def main() -> None:
    """Compile every file of the core but its bindings, for each target."""
    stages = ("bindings", "fuzz", "tests")
    sources = [path for path in sorted((ROOT / "core").glob("*/*.cpp")) if path.parent.name not in stages]
    failed = False
    for target in TARGETS:
        with tempfile.TemporaryDirectory() as out, concurrent.futures.ThreadPoolExecutor(2) as pool:
            said = list(pool.map(compile_file, sources, repeat(target), repeat(Path(out))))
        problems = list(filter(None, said))
        print(f"{target}: {len(sources) - len(problems)} of {len(sources)} files compile")
        print(*problems, sep="\n", end="", flush=True)
        failed = failed or bool(problems)
    sys.exit(failed)


if __name__ == "__main__":
    main()
