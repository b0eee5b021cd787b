"""Installs Piecework with one extra at a time into an empty environment, and does what the extra is for.

Usage: python tests/extras/check_extras.py [EXTRA...]; `make extras` runs all. Takes minutes, and needs the registry.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
STUDY = """\
[corpus]
path = "{language}.txt"
documents = "line"
[sampling]
train = "60%"
eval = "40%"
[recipe]
preset = "plain"
vocab_size = 100
[analysis]
vocab_sizes = [80, 100]
"""


class Environment:
    """A virtual environment with Piecework, one extra, and a folder of text to work on."""

    def __init__(self, folder: Path, wheel: Path, extra: str) -> None:
        self.extra = extra
        self.bin = folder / "venv" / "bin"
        self.work = folder / "work"
        self.work.mkdir()
        for number, language in enumerate(("da", "sv")):
            lines = (f"rad {line * (number + 1)} har ord och tal {line}\n" for line in range(300))
            (self.work / f"{language}.txt").write_text("".join(lines), encoding="utf-8")
        (self.work / "study.toml").write_text(STUDY)
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        wanted = f"{wheel}[{extra}]" if extra else str(wheel)
        self.call("pip", "install", "-q", "--disable-pip-version-check", wanted)
        self.call("pip", "check", "--disable-pip-version-check")

    def call(self, program: str, *arguments: str) -> str:
        """Run a program of the environment, with nothing else on the PATH or the Python path."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL"))}
        done = subprocess.run(
            [self.bin / program, *arguments],
            cwd=self.work,
            env={**kept, "PATH": f"{self.bin}:{kept.get('PATH', os.defpath)}"},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise SystemExit(f"[{self.extra}] {program} {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout

    def piecework(self, *arguments: str) -> str:
        """Run the command line."""
        return self.call("piecework", *arguments)


def check_nothing(environment: Environment) -> None:
    """Without extras: a whole study, and every command that needs no other library. Others say what they need."""
    environment.piecework("run", "study.toml", "--out", "out")
    model = "out/tokenizers/multilingual"
    for command in (
        ["inspect", model],
        ["encode", "--model", model, "ord och tal"],
        ["evaluate", model, "--counts", "out"],
        ["export", model, "--to", "hf", "--out", "hf"],
        ["edit", model, "--reserve", "2", "--out", "edited"],
        ["compare", model, "edited", "--data", "sv.txt"],
    ):
        environment.piecework(*command)
    environment.call("python", "-c", "import piecework.playground.server, piecework.playground.app")
    program = "import subprocess, sys; sys.exit(subprocess.run(['piecework', *sys.argv[1:]]).returncode != 1)"
    environment.call("python", "-c", program, "verify", model)  # says what to install
    environment.call("python", "-c", program, "count", "study.toml", "--engine", "spark", "--out", "spark")


def check_cluster(environment: Environment) -> None:
    """The counts of Spark are those of this machine."""
    environment.piecework("count", "study.toml", "--out", "here")
    environment.piecework("count", "study.toml", "--engine", "spark", "--master", "local[1]", "--out", "there")
    for name in ("train.parquet", "eval.parquet"):
        here, there = (environment.work / folder / "counts" / name for folder in ("here", "there"))
        assert here.read_bytes() == there.read_bytes(), name


def check_hf(environment: Environment) -> None:
    """Other runtimes agree, and their tokenizers can be compared."""
    environment.piecework("run", "study.toml", "--out", "out")
    model = "out/tokenizers/multilingual"
    found = json.loads(environment.piecework("verify", model, "--fuzzed", "50", "--json"))
    compared = {result["runtime"] for result in found["results"] if result["status"] == "compared"}
    assert {"piecework", "tokenizers"} <= compared | {found["reference"], "piecework"}, found
    environment.piecework("compare", model, f"json={model}/tokenizer.json", "--data", "sv.txt")


def check_known(environment: Environment) -> None:
    """Tokenizers of well-known models are found by name."""
    environment.piecework("compare", "gpt2", "qwen3", "deepseek-v3", "mistral", "tekken", "--data", "sv.txt")


def check_demo(environment: Environment) -> None:
    """The demo runs, and has its report."""
    environment.piecework("run", "--demo", "--out", "demo")
    assert (environment.work / "demo/report.html").stat().st_size > 100_000


def check_lint(environment: Environment) -> None:
    """The linters start."""
    for program in ("ruff", "mypy", "clang-format"):
        environment.call(program, "--version")


def check_installed(_environment: Environment) -> None:
    """The packages can be installed together; `make test` and `make bench` use them."""


CHECKS: dict[str, Callable[[Environment], None]] = {
    "": check_nothing,
    "cluster": check_cluster,
    "hf": check_hf,
    "known": check_known,
    "demo": check_demo,
    "lint": check_lint,
    "bench": check_installed,
    "test": check_installed,
}


def main() -> None:
    """Check the extras that are named, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extras", nargs="*", choices=[*CHECKS, []], help="'' is no extra at all")
    chosen = parser.parse_args().extras or list(CHECKS)
    with tempfile.TemporaryDirectory(prefix="piecework-extras-") as folder:
        wheels = Path(folder) / "wheels"
        command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", wheels, ROOT]
        subprocess.run(command, check=True)
        (wheel,) = wheels.glob("*.whl")
        for extra in chosen:
            if extra == "cluster" and not (shutil.which("java") or os.environ.get("JAVA_HOME")):
                raise SystemExit("[cluster] needs Java 17")
            own = Path(folder) / (extra or "none")
            own.mkdir()
            CHECKS[extra](Environment(own, wheel, extra))
            print(f"{extra or 'no extra'}: ok", flush=True)
            shutil.rmtree(own)


if __name__ == "__main__":
    main()
