"""`piecework check`: is the vocabulary healthy? Pass, warn or fail, with what to do."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from piecework.cli.options import LocalPath, LocationType, threads_option
from piecework.cli.output import new_table, stdout_console, write_json
from piecework.cli.terminal import Terminal, format_count, verbosity_options
from piecework.common.printable import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

    from piecework.common.storage import Location
    from piecework.health.finding import Finding, Health

__all__ = ["command", "findings_table"]

FAILED = 1
COLOURS = {"pass": "green", "warn": "yellow", "fail": "bold red"}


@click.command("check", short_help="Check the health of a vocabulary: pass, warn or fail.")
@click.argument("model", type=LocalPath())
@click.option("--counts", type=LocationType(), help="Also check the use of pieces on the counts of a study.")
@click.option(
    "--fail-on",
    type=click.Choice(["warn", "fail"]),
    default="fail",
    show_default=True,
    help="The lowest status for which the exit code is 1.",
)
@click.option("--ignore", "ignored", metavar="CHECK", multiple=True, help="Leave a check out; may be repeated.")
@threads_option
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object with all pieces of each finding.")
@verbosity_options
@click.pass_obj
def command(
    terminal: Terminal,
    model: Path,
    counts: "Location | None",
    fail_on: str,
    ignored: tuple[str, ...],
    threads: int | None,
    as_json: bool,
) -> None:
    """Check the vocabulary of MODEL. Each finding says what to do. The exit code is 1 if a check fails.

    MODEL is a SentencePiece BPE model or a byte-level tokenizer, from any software: a file, or a folder with one. With
    --counts, the evaluation text of a study shows which pieces are used, and what following the advice saves.

    \b
    Examples:
      piecework check out/nordic/tokenizers/multilingual --counts out/nordic
      piecework check tokenizer.json --fail-on warn --ignore near-duplicates
      piecework check mistral.model --json | jq '.findings[] | select(.status != "pass")'
    """
    from piecework.cli.tokenizer_names import load_native
    from piecework.counting.machine import available_cores
    from piecework.counting.store import Counts
    from piecework.health.check import TEXT_CHECKS, check
    from piecework.health.finding import STATUSES

    tokenizer = load_native(model)
    source = Counts.load(counts) if counts is not None else None
    health = check(tokenizer, source, ignore=ignored, threads=threads or available_cores())
    if as_json:
        write_json(_summary(health, model))
    else:
        stdout_console().print(findings_table(health, model, all_pieces=terminal.verbose))
    numbers = {status: len(health.of_status(status)) for status in STATUSES}
    terminal.say(f"{health.status}: {numbers['pass']} pass, {numbers['warn']} warn, {numbers['fail']} fail")
    if source is None:
        terminal.say(f"{format_count(len(TEXT_CHECKS), 'further check')} need text: --counts DIR")
    terminal.suggest("encode", "--model", model, "Hello world")
    if numbers["fail"] or (fail_on == "warn" and numbers["warn"]):
        click.get_current_context().exit(FAILED)


def findings_table(health: "Health", model: Path, *, all_pieces: bool = False) -> "RenderableType":
    """The findings as a table: status, check, finding and advice; in a fixed order, so that runs compare."""
    from rich.console import Group
    from rich.text import Text

    table = new_table(show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in health.findings:
        text = Text(finding.summary)
        if finding.advice:
            text.append(f"\n→ {finding.advice}", style="cyan")
        if all_pieces and finding.pieces:
            text.append("\n" + printable(" ".join(finding.pieces)), style="dim")
        table.add_row(Text(finding.status, style=COLOURS[finding.status]), finding.check, text)
    return Group(Text(os.fspath(model), style="bold"), "", table)


def _summary(health: "Health", model: Path) -> dict[str, Any]:
    def record(finding: "Finding") -> dict[str, Any]:
        return {
            "check": finding.check,
            "status": finding.status,
            "finding": finding.summary,
            "advice": finding.advice,
            "saving": finding.saving,
            "pieces": finding.pieces,
        }

    findings = list(map(record, health.findings))
    return {"model": os.fspath(model), "status": health.status, "has_text": health.has_text, "findings": findings}
