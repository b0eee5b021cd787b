"""Both releases of SentencePiece, each in a process of its own: one installed, one in a folder that make test fills."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

CURRENT = "0.2.3"
OLDER = "0.2.2"
RELEASES = (CURRENT, OLDER)


class TrainingError(Exception):
    """What SentencePiece says when it refuses to train."""


class AbortedError(TrainingError):
    """SentencePiece ended its process."""


class Release:
    """One release of SentencePiece. It trains in its own process: it may abort, and one process cannot import two."""

    def __init__(self, version: str, folder: Path | None) -> None:
        self.version = version
        self._environment = {**os.environ, **({"PYTHONPATH": str(folder)} if folder else {})}
        self._start()

    def train(self, lines: Iterable[str | bytes] | None, **arguments: Any) -> bytes:
        """The `.model` for these sentences, or for the files in `arguments`."""
        encoded = None
        if lines is not None:
            as_bytes = [line.encode() if isinstance(line, str) else line for line in lines]
            encoded = [base64.b64encode(line).decode() for line in as_bytes]
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps({"lines": encoded, "arguments": arguments}) + "\n")
        self._process.stdin.flush()
        text = self._process.stdout.readline()
        if not text:
            self.close()
            self._start()
            raise AbortedError(arguments)
        answer = json.loads(text)
        if "error" in answer:
            raise TrainingError(answer["error"])
        return base64.b64decode(answer["model"])

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("sentencepiece_process.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self._environment,
        )
        assert self._process.stdout
        found = self._process.stdout.readline().strip()
        assert found == self.version, f"SentencePiece {found} where {self.version} should be"


_running: dict[str, Release] = {}


def release(version: str) -> Release:
    """A release. Without the folder of the older one the test fails in CI, and is skipped elsewhere."""
    if version in _running:
        return _running[version]
    if version == CURRENT:
        return _running.setdefault(version, Release(version, None))
    folder = Path(sys.prefix) / "oracles" / f"sentencepiece-{version}"
    if not folder.is_dir():
        message = f"SentencePiece {version} is not in {folder}: make test installs it there"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return _running.setdefault(version, Release(version, folder))


def close_all() -> None:
    """End the processes."""
    while _running:
        _running.popitem()[1].close()
