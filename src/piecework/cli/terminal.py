"""What commands say on stderr, as stdout is for data; and the options and formats that they share."""

import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

__all__ = ["Terminal", "format_bytes", "format_count", "format_seconds", "verbosity_options"]


@dataclass
class Terminal:
    """Messages at the verbosity that -q and -v ask for."""

    quiet: bool = False
    verbose: bool = False

    @property
    def is_interactive(self) -> bool:
        """Whether a person sees stderr as it is written."""
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def say(self, message: str) -> None:
        """Tell what was done."""
        if not self.quiet:
            self._write(message)

    def detail(self, message: str) -> None:
        """Tell what only -v wants to know."""
        if self.verbose:
            self._write(self._styled(message, dim=True))

    def warn(self, message: str) -> None:
        """Tell what may be amiss."""
        if not self.quiet:
            self._write(self._styled("warning: ", fg="yellow", bold=True) + message)

    def error(self, message: str) -> None:
        """Tell why the command fails."""
        indented = message.replace("\n", "\n       ")
        self._write(self._styled("error: ", fg="red", bold=True) + indented)

    def suggest(self, *arguments: str | os.PathLike[str]) -> None:
        """End with the command to type next."""
        command = shlex.join(os.fspath(argument) for argument in arguments)
        self.say(self._styled("next: ", dim=True) + self._styled(f"piecework {command}", bold=True))

    def _styled(self, text: str, **style: Any) -> str:
        return click.style(text, **style) if self.is_interactive and not os.environ.get("NO_COLOR") else text

    def _write(self, message: str) -> None:
        print(message, file=sys.stderr, flush=True)


Command = TypeVar("Command", bound=Callable[..., Any])


def verbosity_options(command: Command) -> Command:
    """Add -q and -v, which set the Terminal that `click.pass_obj` hands to the command."""

    def set_flag(context: click.Context, parameter: click.Parameter, value: bool) -> None:
        if value:
            setattr(context.ensure_object(Terminal), str(parameter.name), True)

    for name, help_text in (
        ("verbose", "Say more, and show where an error comes from."),
        ("quiet", "Say nothing but errors."),
    ):
        option = click.option(
            f"-{name[0]}", f"--{name}", is_flag=True, expose_value=False, callback=set_flag, help=help_text
        )
        command = option(command)
    return command


def format_bytes(size_bytes: float) -> str:
    """A size as people write it.

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
    """A number with its noun.

    >>> format_count(1, "file"), format_count(1200, "file")
    ('1 file', '1,200 files')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def format_seconds(seconds: float) -> str:
    """A duration as people write it.

    >>> format_seconds(0.34), format_seconds(71), format_seconds(3720)
    ('0.3 s', '1 min 11 s', '1 h 2 min')
    """
    if seconds < 59.5:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
