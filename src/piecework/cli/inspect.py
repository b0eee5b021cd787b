"""`piecework inspect`: what is in a model."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from piecework.cli.terminal import Terminal, format_bytes, verbosity_options

if TYPE_CHECKING:
    from rich.console import RenderableType

    from piecework import Tokenizer

__all__ = ["command"]

BAR_COLUMNS = 40
PLAIN_WIDTH = 110


@click.command("inspect")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
@verbosity_options
@click.pass_obj
def command(terminal: Terminal, model: Path, as_json: bool) -> None:
    """Show what is in MODEL: vocabulary groups, lengths of pieces, settings.

    MODEL is a .model file, or the folder that has a tokenizer.model.

    \b
    Examples:
      piecework inspect out/nordic
      piecework inspect out/nordic/tokenizer.model --json | jq .groups
    """
    from piecework import Tokenizer

    tokenizer = Tokenizer.load(model)
    if as_json:
        import orjson

        options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
        sys.stdout.buffer.write(orjson.dumps(_summary(tokenizer, model), option=options))
    else:
        _show(tokenizer, model)
    terminal.suggest("encode", "--model", model)


def _summary(tokenizer: "Tokenizer", model: Path) -> dict[str, Any]:
    return {
        "model": os.fspath(model),
        "vocab_size": tokenizer.vocab_size,
        "model_bytes": len(tokenizer.model_bytes),
        "groups": [
            {"name": group.name, "count": group.count, "ranges": group.ranges, "examples": group.examples}
            for group in tokenizer.groups()
        ],
        "lengths": tokenizer.length_histogram(),
        "settings": tokenizer.settings(),
    }


def _show(tokenizer: "Tokenizer", model: Path) -> None:
    from rich.console import Console, Group
    from rich.padding import Padding
    from rich.text import Text

    is_terminal = sys.stdout.isatty()
    console = Console(highlight=False, width=None if is_terminal else PLAIN_WIDTH)
    title = Text.assemble(
        (os.fspath(model), "bold"),
        f"  {tokenizer.vocab_size:,} pieces, {format_bytes(len(tokenizer.model_bytes))}",
    )
    parts: list[RenderableType] = [title]
    for heading, content in (
        ("Vocabulary", _groups_table(tokenizer)),
        ("Length of pieces in characters", _histogram(tokenizer)),
        ("Settings", _settings_table(tokenizer)),
    ):
        parts += ["", Text(heading, style="bold"), Padding(content, (0, 0, 0, 2), expand=False)]
    console.print(Group(*parts))


def _groups_table(tokenizer: "Tokenizer") -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("group", no_wrap=True)
    table.add_column("pieces", justify="right", no_wrap=True)
    table.add_column("ids", no_wrap=True)
    table.add_column("for example", overflow="ellipsis", no_wrap=True)
    for group in tokenizer.groups():
        examples = "  ".join(_visible(example) for example in group.examples)
        table.add_row(group.name, f"{group.count:,}", _ranges(group.ranges), Text(examples, style="cyan"))
    return table


def _ranges(ranges: tuple[tuple[int, int], ...], shown: int = 3) -> str:
    written = [f"{first}" if first == last else f"{first}-{last}" for first, last in ranges[:shown]]
    more = [f"and {len(ranges) - shown} more"] if len(ranges) > shown else []
    return ", ".join(written + more)


def _histogram(tokenizer: "Tokenizer") -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    lengths = tokenizer.length_histogram()
    total, largest = sum(lengths.values()), max(lengths.values(), default=1)
    table = Table(box=None, pad_edge=False, show_header=False)
    for justify in ("right", "right", "right", "left"):
        table.add_column(justify=justify, no_wrap=True)
    for length, count in sorted(lengths.items()):
        bar = Text(_bar(count / largest), style="cyan")
        table.add_row(str(length), f"{count:,}", f"{100 * count / total:.1f} %", bar)
    return table


def _bar(share: float) -> str:
    """A bar in eighths of a column; what is not nothing shows.

    >>> _bar(1.0) == "█" * BAR_COLUMNS, _bar(1e-9), _bar(0.0)
    (True, '▏', '')
    """
    eighths = max(round(share * BAR_COLUMNS * 8), 1 if share else 0)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _settings_table(tokenizer: "Tokenizer") -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in tokenizer.settings().items():
        if isinstance(value, list):
            written = "  ".join(_visible(str(item)) for item in value)
        elif isinstance(value, bool):
            written = str(value).lower()
        else:
            written = _visible(str(value))
        table.add_row(name, Text(written))
    return table


def _visible(text: str) -> str:
    """The text with what cannot be seen, or would move the cursor, as an escape.

    >>> _visible("a\\tb ")
    'a\\\\tb '
    """
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )
