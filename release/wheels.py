"""Builds the source archive and the wheels of a release, and tries each wheel where there is no compiler.

Usage: python -m release.wheels [--out DIR] [--without-demo]; `make wheel` runs it. The wheels are built from the source
archive, so that it is tried too. On Linux they get the oldest `manylinux` tag that their symbols allow.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from release.environment import Environment
from release.interpreters import interpreters

ROOT = Path(__file__).parents[1]
# One wheel for 3.11; from 3.12 on the stable ABI serves every later Python.
BUILT_WITH = ("3.11", "3.12")
SMOKE = """\
import piecework as pw
texts = [f"rad {number} har ord och tal, ett träd till\\n" for number in range(300)]
tokenizer = pw.train(texts, vocab_size=120)
tokenizer.save("model")
again = pw.load_tokenizer("model")
assert all(again.encode(text) == tokenizer.encode(text) for text in texts)
byte_level = pw.train(pw.count_pre_tokens(texts, pre_tokenizer="o200k"), pw.Recipe.byte_level("gpt4o", vocab_size=300))
assert byte_level.decode(byte_level.encode(texts[7])) == texts[7]
"""


def run(*command: str | Path) -> None:
    """Run a program with this environment's on the PATH, or end with what it said."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": path})
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")


def build_archive(out: Path) -> Path:
    """The source archive."""
    run(sys.executable, "-m", "build", "--sdist", "--outdir", out, ROOT)
    (archive,) = out.glob("piecework-*.tar.gz")
    return archive


def build_wheel(archive: Path, python: Path, out: Path) -> Path:
    """A wheel from the source archive, with its platform tag."""
    with tempfile.TemporaryDirectory(prefix="piecework-wheel-") as folder:
        environment = Path(folder) / "venv"
        run(python, "-m", "venv", environment)
        pip = [environment / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "-q"]
        run(*pip, "wheel", "--no-deps", "-w", folder, archive)
        (wheel,) = Path(folder).glob("*.whl")
        if sys.platform == "linux":
            run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", Path(folder) / "tagged", wheel)
            (wheel,) = (Path(folder) / "tagged").glob("*.whl")
        return Path(shutil.copy2(wheel, out))


def try_wheel(wheel: Path, python: Path, *, demo: bool) -> None:
    """Install a wheel in an empty environment, train, and run the demo; say what it took."""
    with tempfile.TemporaryDirectory(prefix="piecework-try-") as folder:
        environment = Environment(Path(folder) / "venv", python)
        environment.install(wheel)
        environment.call("python", "-m", "pip", "check", "--disable-pip-version-check")
        sizes = environment.size_by_package()
        installed = sum(size for name, size in sizes.items() if name not in ("pip", "setuptools"))
        largest = ", ".join(f"{name} {size / 1e6:.1f}" for name, size in list(sizes.items())[:8] if name != "pip")
        print(f"  installed: {installed / 1e6:.0f} MB ({largest})")
        seconds = environment.timed("python", "-c", SMOKE, cwd=Path(folder))
        print(f"  training, saving and loading: {seconds:.1f} s")
        if demo:
            environment.install(f"{wheel}[demo]")
            seconds = environment.timed("piecework", "run", "--demo", "--out", "demo", cwd=Path(folder))
            report = (Path(folder) / "demo" / "report.html").stat().st_size
            print(f"  the demo: {seconds:.1f} s, a report of {report / 1e6:.1f} MB")


def main() -> None:
    """Build and try."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--without-demo", action="store_true", help="train in each environment, but skip the demo")
    options = parser.parse_args()
    pythons = interpreters()
    if missing := [version for version in BUILT_WITH if version not in pythons]:
        print(f"no wheel is built for Python {' and '.join(missing)}: it is not on this machine", file=sys.stderr)
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    archive = build_archive(options.out)
    print(f"{archive.name}: {archive.stat().st_size / 1e6:.1f} MB", flush=True)
    for version in BUILT_WITH:
        if version in pythons:
            wheel = build_wheel(archive, pythons[version], options.out)
            print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
            for other, python in pythons.items():
                if other == version or (version == BUILT_WITH[-1] and other not in BUILT_WITH):
                    print(f" on Python {other}", flush=True)
                    try_wheel(wheel, python, demo=not options.without_demo and other == version)


if __name__ == "__main__":
    main()
