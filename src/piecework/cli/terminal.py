"""Messages on stderr (stdout is for data), -q and -v, and how numbers are written."""

import os
import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from piecework.common.printable import printable

__all__ = ["Terminal", "format_bytes", "format_count", "format_seconds", "verbosity_options"]


@dataclass
class Terminal:
    """Writes messages to stderr, as many as -q and -v ask for."""

    quiet: bool = False
    verbose: bool = False

    @property
    def is_interactive(self) -> bool:
        """Whether stderr is a terminal that understands escape codes."""
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def say(self, message: str) -> None:
        """Write a message, unless -q was given."""
        if not self.quiet:
            self._write(_shown(message))

    def detail(self, message: str) -> None:
        """Write a message only if -v was given."""
        if self.verbose:
            self._write(self._styled(_shown(message), dim=True))

    def warn(self, message: str) -> None:
        """Write a warning, unless -q was given."""
        if not self.quiet:
            self._write(self._styled("warning: ", fg="yellow", bold=True) + _shown(message))

    def error(self, message: str) -> None:
        """Write why the command failed."""
        indented = _shown(message).replace("\n", "\n       ")
        self._write(self._styled("error: ", fg="red", bold=True) + indented)

    def suggest(self, *arguments: str | os.PathLike[str], into: str = "") -> None:
        """Write the command to type next, ready to be pasted; its output goes `into` a file."""
        command = shlex.join(os.fspath(argument) for argument in arguments)
        redirection = f" > {shlex.quote(into)}" if into else ""
        if not self.quiet:
            line = f"{program_name()} {command}{redirection}"
            self._write(self._styled("next: ", dim=True) + self._styled(line, bold=True))

    def _styled(self, text: str, **style: Any) -> str:
        return click.style(text, **style) if self.is_interactive and not os.environ.get("NO_COLOR") else text

    def _write(self, message: str) -> None:
        print(message, file=sys.stderr, flush=True)


def _shown(message: str) -> str:
    """The message without characters that control a terminal: names and texts in it come from files."""
    return "\n".join(map(printable, message.split("\n")))


Command = TypeVar("Command", bound=Callable[..., Any])


def verbosity_options(command: Command) -> Command:
    """Add -q and -v, which change the Terminal that `click.pass_obj` gives to the command."""

    def set_flag(context: click.Context, parameter: click.Parameter, value: bool) -> None:
        if value:
            setattr(context.ensure_object(Terminal), str(parameter.name), True)

    for name, help_text in (
        ("verbose", "Write more, and a traceback for errors."),
        ("quiet", "Write errors only."),
    ):
        option = click.option(
            f"-{name[0]}", f"--{name}", is_flag=True, expose_value=False, callback=set_flag, help=help_text
        )
        command = option(command)
    return command


def program_name() -> str:
    """Return how this program is called in the user's shell: "piecework" if the PATH leads there, else with a path."""
    if shutil.which("piecework"):
        return "piecework"
    called = Path(sys.argv[0])
    if called.name == "piecework":
        return shlex.quote(os.path.relpath(called) if called.is_relative_to(Path.cwd()) else os.fspath(called))
    return f"{shlex.quote(sys.executable)} -m piecework"


def format_bytes(size_bytes: float) -> str:
    """Write a size with its unit.

    >>> format_bytes(999), format_bytes(1_500_000)
    ('999 bytes', '1.5 MB')
    """
    if size_bytes < 1000:
        return f"{size_bytes:.0f} bytes"
    units = ["kB", "MB", "GB", "TB"]
    size_bytes /= 1000
    while size_bytes >= 999.5 and len(units) > 1:
        size_bytes /= 1000
        units.pop(0)
    return f"{size_bytes:.1f} {units[0]}" if size_bytes < 99.95 else f"{size_bytes:.0f} {units[0]}"


def format_count(count: int, noun: str) -> str:
    """Write a number with its noun.

    >>> format_count(1, "file"), format_count(1200, "file")
    ('1 file', '1,200 files')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def format_seconds(seconds: float) -> str:
    """Write a duration with its units.

    >>> format_seconds(0.34), format_seconds(71), format_seconds(3720)
    ('0.3 s', '1 min 11 s', '1 h 2 min')
    """
    if seconds < 59.5:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
