"""Writes what the default install consists of, as a CycloneDX list: every package with its version and licence.

Usage: python -m release.parts [--out FILE]; `make sbom` runs it, after `make wheel`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from release.environment import Environment
from release.interpreters import interpreters
from release.wheels import ROOT


def main() -> None:
    """Install the wheel in an empty environment, and list what is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, default=ROOT / "dist")
    options = parser.parse_args()
    wheels = sorted(options.wheels.glob("piecework-*-cp311-*.whl"))
    if len(wheels) != 1:
        raise SystemExit(f"{options.wheels}: one wheel for Python 3.11 is needed; run `make wheel`")
    out = options.wheels / f"{'-'.join(wheels[0].name.split('-')[:2])}.cdx.json"
    with tempfile.TemporaryDirectory(prefix="piecework-parts-") as folder:
        environment = Environment(Path(folder) / "venv", interpreters()["3.11"])
        environment.install(wheels[0])
        environment.call("python", "-m", "pip", "uninstall", "-q", "-y", "pip", "setuptools")
        command = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible"]
        command += ["--pyproject", str(ROOT / "pyproject.toml"), "--output-file", str(out)]
        subprocess.run([*command, str(environment.bin / "python")], check=True)
    print(out)


if __name__ == "__main__":
    main()
