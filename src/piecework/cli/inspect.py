"""`piecework inspect`: the vocabulary and the settings of a model."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from piecework.cli.options import LocalPath
from piecework.cli.output import new_table, stdout_console, titled_sections, write_json
from piecework.cli.terminal import Terminal, format_bytes, verbosity_options
from piecework.common.percent import format_percent
from piecework.common.printable import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

    from piecework.health.finding import Finding
    from piecework.tokenizer.byte_level import ByteLevelTokenizer
    from piecework.tokenizer.pieces import VocabularyGroup
    from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["command"]

BAR_COLUMNS = 40
LISTED_ITEMS = 40


@click.command("inspect", short_help="Show the vocabulary and the settings of a model.")
@click.argument("model", type=LocalPath())
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
@verbosity_options
@click.pass_obj
def command(terminal: Terminal, model: Path, as_json: bool) -> None:
    """Show the vocabulary groups, piece lengths and settings of MODEL.

    MODEL is a .model file, a byte-level tokenizer (tokenizer.json, .tiktoken, tekken.json), a folder with one of these,
    or a name that `piecework known` lists.

    \b
    Examples:
      piecework inspect out/nordic
      piecework inspect out/nordic/tokenizer.model --json | jq .groups
      piecework inspect gpt-4o
    """
    from piecework.cli.tokenizer_names import load_native

    overview = _overview(load_native(model))
    if as_json:
        write_json(_summary(overview, model))
    else:
        _show(overview, model)
    terminal.suggest("encode", "--model", model, "Hello world")


@dataclass(frozen=True)
class Overview:
    """What is shown of a tokenizer of either kind."""

    vocab_size: int
    model_bytes: int | None
    """The size of a .model; None for a byte-level tokenizer."""
    groups: "list[VocabularyGroup]"
    lengths: dict[int, int]
    length_unit: str
    settings: dict[str, object]
    health: "tuple[Finding, ...]"


def _overview(tokenizer: "Tokenizer | ByteLevelTokenizer") -> Overview:
    from piecework.health.check import check_vocabulary
    from piecework.tokenizer.byte_level import ByteLevelTokenizer

    size, health = tokenizer.vocab_size, check_vocabulary(tokenizer).findings
    if isinstance(tokenizer, ByteLevelTokenizer):
        from piecework.tokenizer.byte_level_summary import byte_level_groups, byte_level_lengths, byte_level_settings

        lengths, settings = byte_level_lengths(tokenizer), byte_level_settings(tokenizer)
        return Overview(size, None, byte_level_groups(tokenizer), lengths, "bytes", settings, health)
    lengths, settings = tokenizer.length_histogram(), tokenizer.settings()
    return Overview(size, len(tokenizer.model_bytes), tokenizer.groups(), lengths, "characters", settings, health)


def _summary(overview: Overview, model: Path) -> dict[str, Any]:
    return {
        "model": os.fspath(model),
        "vocab_size": overview.vocab_size,
        **({} if overview.model_bytes is None else {"model_bytes": overview.model_bytes}),
        "groups": [
            {"name": group.name, "count": group.count, "ranges": group.ranges, "examples": group.examples}
            for group in overview.groups
        ],
        "lengths": overview.lengths,
        "settings": overview.settings,
        "health": [
            {"check": each.check, "status": each.status, "finding": each.summary, "advice": each.advice}
            for each in overview.health
        ],
    }


def _show(overview: Overview, model: Path) -> None:
    from rich.text import Text

    size = "" if overview.model_bytes is None else f", {format_bytes(overview.model_bytes)}"
    title = Text.assemble((os.fspath(model), "bold"), f"  {overview.vocab_size:,} pieces{size}")
    sections = (
        ("Vocabulary", _groups_table(overview)),
        (f"Length of pieces in {overview.length_unit}", _histogram(overview)),
        ("Settings", _settings_table(overview)),
        ("Health (piecework check says more)", _health_table(overview)),
    )
    stdout_console().print(titled_sections(title, sections))


def _groups_table(overview: Overview) -> "RenderableType":
    from rich.text import Text

    table = new_table()
    table.add_column("group", no_wrap=True)
    table.add_column("pieces", justify="right", no_wrap=True)
    table.add_column("ids", no_wrap=True)
    table.add_column("examples", overflow="ellipsis", no_wrap=True)
    for group in overview.groups:
        examples = "  ".join(printable(example) for example in group.examples)
        table.add_row(group.name, f"{group.count:,}", _ranges(group.ranges), Text(examples, style="cyan"))
    return table


def _ranges(ranges: tuple[tuple[int, int], ...], most: int = 3) -> str:
    written = [f"{first}" if first == last else f"{first}-{last}" for first, last in ranges[:most]]
    more = [f"and {len(ranges) - most} more"] if len(ranges) > most else []
    return ", ".join(written + more)


def _histogram(overview: Overview) -> "RenderableType":
    from rich.text import Text

    lengths = overview.lengths
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


def _settings_table(overview: Overview) -> "RenderableType":
    from rich.text import Text

    table = new_table(show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in overview.settings.items():
        if isinstance(value, list):
            more = f"  and {len(value) - LISTED_ITEMS:,} more" if len(value) > LISTED_ITEMS else ""
            written = "  ".join(printable(str(item)) for item in value[:LISTED_ITEMS]) + more
        elif isinstance(value, bool):
            written = str(value).lower()
        else:
            written = printable(str(value))
        table.add_row(name, Text(written))
    return table


def _health_table(overview: Overview) -> "RenderableType":
    from rich.text import Text

    from piecework.cli.check import COLOURS

    table = new_table(show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in overview.health:
        table.add_row(Text(finding.status, style=COLOURS[finding.status]), Text(finding.summary))
    return table
