"""`piecework verify`: does every runtime at hand give the same ids, and the same text back?"""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from piecework.cli.options import text_field_option
from piecework.cli.terminal import Terminal, format_count, format_seconds, verbosity_options
from piecework.common.extras import MissingPackageError
from piecework.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from piecework import Tokenizer
    from piecework.tokenizer.verify import Difference, RuntimeResult, Verification

__all__ = ["command"]

PLAIN_WIDTH = 110
AROUND = 4
SHOWN_CHARACTERS = 60


@click.command("verify")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--data", multiple=True, type=click.Path(path_type=Path), help="Also these documents; may be repeated.")
@click.option(
    "--runtimes",
    metavar="A,B",
    default="",
    help="Only these: sentencepiece, piecework, tokenizers, transformers (AutoTokenizer, GPTSw3Tokenizer, "
    "LlamaTokenizer), gigatoken, kitoken [default: all that are installed].",
)
@click.option("--fuzzed", type=click.IntRange(min=0), default=2000, show_default=True, help="How many fuzzed strings.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the fuzzed strings.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=10_000, show_default=True, help="At most so many documents."
)
@text_field_option
@click.option("--strict", is_flag=True, help="Also fail on differences that are explained.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
@verbosity_options
@click.pass_obj
def command(
    terminal: Terminal,
    model: Path,
    data: tuple[Path, ...],
    runtimes: str,
    fuzzed: int,
    seed: int,
    limit: int,
    text_field: str,
    strict: bool,
    as_json: bool,
) -> None:
    """Compare what runtimes make of MODEL: ids and text on code, on fuzzed strings and on documents of your own.

    MODEL is a .model file, or a folder that has a tokenizer.model. What is exported beside it, a tokenizer.json for
    example, is what the runtimes load; what is not there is exported to a temporary folder. Differences of known
    cause are explained; the exit code is 1 if one is left that is not.

    \b
    Examples:
      piecework verify out/nordic
      piecework verify out/nordic --data "corpus/*.jsonl.zst" --limit 2000
      piecework verify out/nordic --runtimes tokenizers,transformers --fuzzed 20000 --json
    """
    from piecework import Tokenizer
    from piecework.cli.progress import show_progress
    from piecework.tokenizer.verify import verify

    tokenizer = Tokenizer.load(model)
    texts = _texts(terminal, tokenizer, data, fuzzed=fuzzed, seed=seed, limit=limit, field=text_field)
    folder = model if model.is_dir() else model.parent
    names = [name.strip() for name in runtimes.split(",") if name.strip()]
    started = time.monotonic()
    with show_progress(terminal, "comparing", "texts") as update:
        done = verify(tokenizer, texts, folder=folder, runtimes=names, progress=update)
    terminal.detail(f"compared in {format_seconds(time.monotonic() - started)}")
    if as_json:
        _write_json(done, model)
    else:
        _show(done, tokenizer, model)
    if not any(result.status in ("compared", "failed") for result in done.results):
        raise MissingPackageError(
            f"nothing was compared: {done.reference} is the only runtime here that reads the model; "
            "pip install 'piecework[hf]'"
        )
    is_fine = done.is_fine and not (strict and any(result.explained for result in done.results))
    if not is_fine:
        raise InputError(_verdict(done))
    terminal.say("every runtime gives the same, but for what is explained" if _explained(done) else "all the same")
    terminal.suggest("compare", model, "OTHER", "--data", "FILE")


def _texts(
    terminal: Terminal,
    tokenizer: "Tokenizer",
    data: tuple[Path, ...],
    *,
    fuzzed: int,
    seed: int,
    limit: int,
    field: str,
) -> list[str]:
    from piecework.tokenizer.hard_texts import code_texts, fuzzed_texts, symbol_texts

    texts = [*symbol_texts(tokenizer), *code_texts(), *fuzzed_texts(tokenizer, fuzzed, seed=seed)]
    if data:
        from piecework.cli.evaluate import read_texts

        found = read_texts(terminal, data, language="text", unit="file", field=field)["text"]
        if len(found) > limit:
            terminal.warn(f"only the first {limit:,} of {len(found):,} documents; --limit takes more")
        texts += found[:limit]
    return texts


def _explained(done: "Verification") -> bool:
    return any(result.explained for result in done.results)


def _verdict(done: "Verification") -> str:
    failed = [result.name for result in done.results if result.status == "failed"]
    differing = [
        f"{result.name} on {format_count(result.unexplained, 'text')}" for result in done.results if result.unexplained
    ]
    parts = [f"{' and '.join(differing)} without a known cause"] if differing else []
    parts += [f"{' and '.join(failed)} cannot use the model"] if failed else []
    return f"not the same everywhere: {'; '.join(parts) or 'differences that are explained count with --strict'}"


def _show(done: "Verification", tokenizer: "Tokenizer", model: Path) -> None:
    from rich.console import Console, Group
    from rich.padding import Padding
    from rich.text import Text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)
    title = Text.assemble(
        (os.fspath(model), "bold"), f"  {done.texts:,} texts, compared with what {done.reference} makes of them"
    )
    parts: list[RenderableType] = [title, "", Padding(_table(done), (0, 0, 0, 2), expand=False)]
    parts += _explanations(done)
    for result in done.results:
        for difference in result.differences:
            if difference.cause is None:
                parts += ["", Text(f"{result.name} differs", style="bold red"), _example(difference, tokenizer)]
    console.print(Group(*parts))


def _table(done: "Verification") -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("runtime", no_wrap=True)
    table.add_column("version", no_wrap=True)
    for name in ("same", "explained", "other"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for result in done.results:
        if result.status != "compared":
            style = "red" if result.status == "failed" else "dim"
            status = Text(": ".join(filter(None, (result.status, result.note))), style=style)
            table.add_row(result.name, result.version, "", "", "", status)
            continue
        causes = ", ".join(f"{cause} {count:,}" for cause, count in result.explained.items())
        other = Text(f"{result.unexplained:,}", style="bold red" if result.unexplained else "")
        explained = sum(result.explained.values())
        table.add_row(result.name, result.version, f"{result.same:,}", f"{explained:,}", other, Text(causes, "dim"))
    return table


def _explanations(done: "Verification") -> "list[RenderableType]":
    from rich.padding import Padding
    from rich.text import Text

    from piecework.tokenizer.behaviour import CAUSES

    causes = dict.fromkeys(cause for result in done.results for cause in result.explained)
    if not causes:
        return []
    lines = [Text.assemble((f"{cause}: ", "bold"), CAUSES[cause]) for cause in causes]
    return ["", Text("Explained", style="bold"), *(Padding(line, (0, 0, 0, 2)) for line in lines)]


def _example(difference: "Difference", tokenizer: "Tokenizer") -> "RenderableType":
    from rich.padding import Padding
    from rich.text import Text

    text = difference.text
    shown = repr(text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…")
    lines = [f"{'text':<10}{shown}"]
    for title, value in (("found", difference.found), ("expected", difference.expected)):
        around = slice(max(difference.at - AROUND, 0), difference.at + AROUND + 1)
        if isinstance(value, str):
            lines.append(f"{title:<10}{value[around]!r} at character {difference.at}")
        else:
            pieces = [tokenizer.pieces[i].text if 0 <= i < tokenizer.vocab_size else "?" for i in value[around]]
            lines.append(f"{title:<10}{' '.join(map(repr, pieces))}  {value[around]} at token {difference.at}")
    return Padding(Text("\n".join(lines)), (0, 0, 0, 2))


def _write_json(done: "Verification", model: Path) -> None:
    import orjson

    from piecework.tokenizer.behaviour import CAUSES

    def record(result: "RuntimeResult") -> dict[str, Any]:
        return {
            "runtime": result.name,
            "version": result.version,
            "status": result.status,
            "note": result.note,
            "texts": result.texts,
            "same": result.same,
            "explained": result.explained,
            "unexplained": result.unexplained,
            "elapsed_s": round(result.elapsed_s, 3),
            "differences": [
                {
                    "text": each.text,
                    "kind": each.kind,
                    "at": each.at,
                    "found": each.found,
                    "expected": each.expected,
                    "cause": each.cause,
                }
                for each in result.differences
            ],
        }

    content = {
        "model": os.fspath(model),
        "reference": done.reference,
        "texts": done.texts,
        "same_everywhere": done.is_fine,
        "causes": CAUSES,
        "results": list(map(record, done.results)),
    }
    sys.stdout.buffer.write(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
