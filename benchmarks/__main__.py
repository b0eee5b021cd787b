"""All benchmarks in order, each in a process of its own: gather the text, measure, write the tables.

Usage: python -m benchmarks [--quick] [--work DIR] [--only train encode ...]
"""

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks.measure import RESULTS
from benchmarks.text import DEFAULT_WORK, REPOSITORY, SIZES_MB

STEPS = (
    "train",
    "growth",
    "byte_level",
    "count",
    "documents",
    "tokenize",
    "cluster",
    "encode",
    "evaluation",
    "runtimes",
    "study",
    "playground",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--work", type=Path, default=DEFAULT_WORK, help="folder for texts and models")
    parser.add_argument("--quick", action="store_true", help="20 MB, one round; results stay in the work folder")
    parser.add_argument("--only", nargs="+", choices=STEPS, default=list(STEPS), metavar="STEP", help=", ".join(STEPS))
    arguments = parser.parse_args()
    arguments.work = arguments.work.resolve()  # the steps run in the repository's folder
    # The numbers of one round are not kept in the repository.
    results = arguments.work / "results" if arguments.quick else RESULTS
    large = {"growth", "documents", "byte_level"} & set(arguments.only)
    sizes = SIZES_MB[:1] if arguments.quick else SIZES_MB if large else SIZES_MB[:2]
    python_m("text", "--work", arguments.work, "--sizes", *sizes)
    for step in arguments.only:
        quick = ["--quick"] if arguments.quick else []
        python_m(step, "--work", arguments.work, "--results", results, *quick)
    out = [] if arguments.quick else ["--out", Path(__file__).with_name("RESULTS.md")]
    python_m("table", "--results", results, *out)


def python_m(module: str, *arguments: object) -> None:
    """Run `python -m benchmarks.<module>`, and stop if it fails."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    code = subprocess.run(command, cwd=REPOSITORY).returncode
    if code:
        raise SystemExit(code)


if __name__ == "__main__":
    main()
