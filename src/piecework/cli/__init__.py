"""The command line: errors, exit codes and the list of commands. Each command is a file, imported when it is called."""

import atexit
import gc
import importlib
import os
import sys
import traceback
from importlib.machinery import ModuleSpec
from typing import Any, NoReturn

import click

from piecework import __version__
from piecework.cli.streams import StdoutError, prepare_streams
from piecework.cli.terminal import Terminal
from piecework.errors import PieceworkError, RecipeError, StudyError, explain_os_error

__all__ = ["main"]

# What the main help says of each command; a test checks that the command says the same.
COMMANDS = {
    "run": "Run a whole study: sample, count, train, evaluate, report.",
    "init": "Write a commented study file for a folder of text.",
    "validate": "Show a study as resolved, or all of its mistakes.",
    "count": "Sample and count the documents of a study.",
    "train": "Train a BPE tokenizer on text or on counts.",
    "spm-train": "Train with the flags and files of SentencePiece's spm_train.",
    "evaluate": "Compute metrics of tokenizers, by language.",
    "balance": "Find weights for which every language costs the same.",
    "report": "Write the report of a study again.",
    "encode": "Turn text into tokens.",
    "decode": "Turn ids into text.",
    "tokenize": "Turn documents into training shards.",
    "inspect": "Show the vocabulary and the settings of a model.",
    "check": "Check the health of a vocabulary: pass, warn or fail.",
    "export": "Write a model in the formats of other runtimes.",
    "verify": "Check that all runtimes give the same ids.",
    "compare": "Compare tokenizers of any kind on the same text.",
    "known": "List the well-known tokenizers that can be given by name.",
    "edit": "Add, drop and reserve pieces of a model.",
    "extend": "Teach an existing tokenizer a new language.",
    "playground": "Open a page that shows tokenizers side by side.",
}

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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        # click would import every command for its summary, which takes most of the time.
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

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


class _WithoutPandas:
    """Makes `import pandas` fail: pyarrow imports it where it is installed, which is slow. Only pyspark needs it."""

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        return ModuleSpec(name, None) if name == "pandas" and "pyspark" not in sys.modules else None


def main() -> NoReturn:
    """Run the command line and exit."""
    prepare_streams()
    # pydantic spends most of its start looking for plugins, and we use none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Our matrix products are small: a second OpenBLAS thread costs more than it saves.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.meta_path.insert(0, _WithoutPandas())
    # A vocabulary is many small objects that live until the end; the garbage collector need not visit them often. At
    # the end it would visit all of them several times: 0.1 s after a study of twelve tokenizers.
    gc.set_threshold(500_000, 20, 20)
    atexit.register(gc.freeze)
    try:
        group(prog_name="piecework")
    except StdoutError as error:  # from --help and --version, which click writes
        Terminal().error(str(error))
        sys.exit(FAILED)
    sys.exit(0)
