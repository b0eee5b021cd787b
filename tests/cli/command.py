"""The command in a process of its own, and text for it."""

import atexit
import os
import pty
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

Run = Callable[..., "subprocess.CompletedProcess[str]"]

COMMAND = [sys.executable, "-m", "piecework"]


# Root without the right to bypass permissions, so that tests of permissions work for root too.
UNPRIVILEGED = (
    ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]
    if os.geteuid() == 0
    else []
)


def _script_folder() -> str:
    """A folder with a script `piecework`, as an activated environment has it."""
    folder = Path(tempfile.mkdtemp(prefix="piecework-path-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    script = folder / "piecework"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m piecework "$@"\n')
    script.chmod(0o755)
    return str(folder)


PATH = os.pathsep.join([_script_folder(), os.environ.get("PATH", os.defpath)])


def environment(**changes: str) -> dict[str, str]:
    """The environment of a command: `piecework` is on the PATH, and no variable describes the terminal."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM", "COLUMNS")}
    return {**kept, "PATH": PATH, **changes}


def on_a_terminal(
    *arguments: object, stream: Literal["stdout", "stderr"], cwd: Path | None = None, **changes: str
) -> str:
    """Returns what the command writes to `stream` if this stream is a terminal."""
    controller, terminal = pty.openpty()
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: terminal}
    try:
        with subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=streams["stdout"],
            stderr=streams["stderr"],
            cwd=cwd,
            env=environment(TERM="xterm-256color", **changes),
        ) as process:
            os.close(terminal)
            written = b""
            while True:
                try:
                    data = os.read(controller, 65536)
                except OSError:  # Linux's way to say that the other side is closed
                    break
                if not data:
                    break
                written += data
            process.wait(timeout=60)
    finally:
        os.close(controller)
    return written.decode()


def made_up_lines(count: int = 400, seed: int = 1) -> list[str]:
    """Lines of made-up words that look like a language. A few words are frequent, most are rare."""
    generator = random.Random(seed)
    syllables = [
        "för",
        "en",
        "ska",
        "til",
        "på",
        "ver",
        "land",
        "og",
        "ð",
        "het",
        "ing",
        "ar",
        "sæ",
        "lø",
        "mo",
        "ki",
    ]
    words = ["".join(generator.choices(syllables, k=generator.randint(1, 4))) for _ in range(500)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    return [" ".join(generator.choices(words, weights, k=generator.randint(1, 20))) + "." for _ in range(count)]
