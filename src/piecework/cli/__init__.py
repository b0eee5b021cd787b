"""The command line: errors, exit codes and the list of commands. Each command is a file, imported when it is called."""

import gc
import importlib
import os
import sys
import traceback
from typing import Any, NoReturn

import click

from piecework import __version__
from piecework.cli.streams import StdoutError, prepare_streams
from piecework.cli.terminal import Terminal
from piecework.errors import PieceworkError, RecipeError, StudyError, explain_os_error

__all__ = ["main"]

COMMANDS = (
    "run",
    "init",
    "validate",
    "count",
    "train",
    "spm-train",
    "evaluate",
    "balance",
    "report",
    "encode",
    "decode",
    "tokenize",
    "inspect",
    "check",
    "export",
    "verify",
    "compare",
    "known",
    "edit",
    "extend",
    "playground",
)

FAILED, USAGE, INTERRUPTED = 1, 2, 130


class CommandGroup(click.Group):
    """Imports `piecework.cli.<name>` when the command `<name>` is called, and turns errors into exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"piecework.cli.{cmd_name.replace('-', '_')}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from piecework.common.mistakes import did_you_mean

            hint = did_you_mean(args[0], COMMANDS) or f"; the commands are {', '.join(COMMANDS)}"
            raise click.UsageError(f'no such command "{args[0]}"{hint}', ctx) from error

    def invoke(self, ctx: click.Context) -> Any:
        terminal = ctx.ensure_object(Terminal)
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except PieceworkError as error:
            self._fail(ctx, terminal, str(error), USAGE if isinstance(error, RecipeError | StudyError) else FAILED)
        except KeyboardInterrupt:
            terminal.error("interrupted")
            ctx.exit(INTERRUPTED)
        except OSError as error:
            # Readers and writers say which file and how to mend it; this is for what they do not expect.
            self._fail(ctx, terminal, explain_os_error(error))
        except UnicodeEncodeError as error:
            name = str(error.object)[max(0, error.start - 40) : error.end + 40]
            name = name.encode(errors="backslashreplace").decode()
            self._fail(ctx, terminal, f'"{name}" is not valid UTF-8; rename the file or folder, or choose another one')
        except MemoryError:
            self._fail(ctx, terminal, "out of memory; `piecework train --dry-run` estimates how much training needs")
        except Exception as error:
            if not _is_from_arrow(error):
                raise
            self._fail(ctx, terminal, f"{type(error).__name__}: {error}")

    @staticmethod
    def _fail(ctx: click.Context, terminal: Terminal, message: str, exit_code: int = FAILED) -> NoReturn:
        if terminal.verbose:
            traceback.print_exc()
        terminal.error(message)
        ctx.exit(exit_code)


def _is_from_arrow(error: Exception) -> bool:
    """Arrow reports a failing system, such as a thread that cannot be started, by its own errors."""
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(error, arrow.ArrowException)


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 ok, 1 failed, 2 usage or configuration, 130 interrupted.",
)
@click.version_option(__version__, prog_name="piecework", message="%(prog)s %(version)s")
def group() -> None:
    """Train, evaluate and compare multilingual tokenizers.

    \b
    Start with:
      piecework run --demo               a whole study on a small corpus
      piecework init corpus/             a study file for your own text
      piecework run study.toml           the study: train, evaluate, report
    """


def main() -> NoReturn:
    """Run the command line and exit."""
    prepare_streams()
    # pydantic spends most of its start looking for plugins, and we use none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Our matrix products are small: a second OpenBLAS thread costs more than it saves.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A vocabulary is many small objects that live until the end; the garbage collector need not visit them often.
    gc.set_threshold(100_000, 20, 20)
    try:
        group(prog_name="piecework")
    except StdoutError as error:  # from --help and --version, which click writes
        Terminal().error(str(error))
        sys.exit(FAILED)
    sys.exit(0)
