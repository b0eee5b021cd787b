"""`piecework inspect`: the vocabulary and the settings of a model."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from piecework.cli.output import new_table, stdout_console, titled_sections, write_json
from piecework.cli.terminal import Terminal, format_bytes, verbosity_options
from piecework.common.percent import format_percent

if TYPE_CHECKING:
    from rich.console import RenderableType

    from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["command"]

BAR_COLUMNS = 40


@click.command("inspect", short_help="Show the vocabulary and the settings of a model.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
@verbosity_options
@click.pass_obj
def command(terminal: Terminal, model: Path, as_json: bool) -> None:
    """Show the vocabulary groups, piece lengths and settings of MODEL.

    MODEL is a .model file, or a folder with a tokenizer.model.

    \b
    Examples:
      piecework inspect out/nordic
      piecework inspect out/nordic/tokenizer.model --json | jq .groups
    """
    from piecework.cli.tokenizer_names import load_model

    tokenizer = load_model(model)
    if as_json:
        write_json(_summary(tokenizer, model))
    else:
        _show(tokenizer, model)
    terminal.suggest("encode", "--model", model, "Hello world")


def _summary(tokenizer: "Tokenizer", model: Path) -> dict[str, Any]:
    from piecework.health.check import check_vocabulary

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
        "health": [
            {"check": each.check, "status": each.status, "finding": each.summary, "advice": each.advice}
            for each in check_vocabulary(tokenizer).findings
        ],
    }


def _show(tokenizer: "Tokenizer", model: Path) -> None:
    from rich.text import Text

    title = Text.assemble(
        (os.fspath(model), "bold"),
        f"  {tokenizer.vocab_size:,} pieces, {format_bytes(len(tokenizer.model_bytes))}",
    )
    sections = (
        ("Vocabulary", _groups_table(tokenizer)),
        ("Length of pieces in characters", _histogram(tokenizer)),
        ("Settings", _settings_table(tokenizer)),
        ("Health (piecework check says more)", _health_table(tokenizer)),
    )
    stdout_console().print(titled_sections(title, sections))


def _groups_table(tokenizer: "Tokenizer") -> "RenderableType":
    from rich.text import Text

    table = new_table()
    table.add_column("group", no_wrap=True)
    table.add_column("pieces", justify="right", no_wrap=True)
    table.add_column("ids", no_wrap=True)
    table.add_column("examples", overflow="ellipsis", no_wrap=True)
    for group in tokenizer.groups():
        examples = "  ".join(_visible(example) for example in group.examples)
        table.add_row(group.name, f"{group.count:,}", _ranges(group.ranges), Text(examples, style="cyan"))
    return table


def _ranges(ranges: tuple[tuple[int, int], ...], most: int = 3) -> str:
    written = [f"{first}" if first == last else f"{first}-{last}" for first, last in ranges[:most]]
    more = [f"and {len(ranges) - most} more"] if len(ranges) > most else []
    return ", ".join(written + more)


def _histogram(tokenizer: "Tokenizer") -> "RenderableType":
    from rich.text import Text

    lengths = tokenizer.length_histogram()
    total, largest = sum(lengths.values()), max(lengths.values(), default=1)
    table = new_table(show_header=False)
    for justify in ("right", "right", "right", "left"):
        table.add_column(justify=justify, no_wrap=True)
    for length, count in sorted(lengths.items()):
        bar = Text(_bar(count / largest), style="cyan")
        table.add_row(str(length), f"{count:,}", format_percent(count / total, decimals=1), bar)
    return table


def _bar(share: float) -> str:
    """Draw a bar in eighths of a column; a share above 0 is always visible.

    >>> _bar(1.0) == "█" * BAR_COLUMNS, _bar(1e-9), _bar(0.0)
    (True, '▏', '')
    """
    eighths = max(round(share * BAR_COLUMNS * 8), 1 if share else 0)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _settings_table(tokenizer: "Tokenizer") -> "RenderableType":
    from rich.text import Text

    table = new_table(show_header=False)
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


def _health_table(tokenizer: "Tokenizer") -> "RenderableType":
    from rich.text import Text

    from piecework.cli.check import COLOURS
    from piecework.health.check import check_vocabulary

    table = new_table(show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in check_vocabulary(tokenizer).findings:
        table.add_row(Text(finding.status, style=COLOURS[finding.status]), Text(finding.summary))
    return table


def _visible(text: str) -> str:
    """Write control and other invisible characters as escapes.

    >>> _visible("a\\tb ")
    'a\\\\tb '
    """
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )
