"""`piecework verify`: check that every installed runtime gives the same ids and the same text back."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from piecework.cli.options import LocalPath, text_field_option
from piecework.cli.output import indented, new_table, stdout_console, write_json
from piecework.cli.terminal import Terminal, format_count, format_seconds, verbosity_options
from piecework.common.extras import MissingPackageError
from piecework.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from piecework.tokenizer.byte_level import ByteLevelTokenizer
    from piecework.tokenizer.tokenizer import Tokenizer
    from piecework.tokenizer.verification import Difference, RuntimeResult, Verification

__all__ = ["command"]

CONTEXT_TOKENS = 4
QUOTED_CHARACTERS = 60


@click.command("verify", short_help="Check that all runtimes give the same ids.")
@click.argument("model", type=LocalPath())
@click.option("--data", multiple=True, type=LocalPath(), help="Also compare on these documents; may be repeated.")
@click.option(
    "--runtimes",
    metavar="A,B",
    default="",
    help="Only these runtimes: sentencepiece, piecework, tokenizers, transformers (AutoTokenizer, GPTSw3Tokenizer, "
    "LlamaTokenizer), gigatoken, kitoken; for byte-level tokenizers tokenizers, transformers, tiktoken, gigatoken "
    "[default: all that are installed].",
)
@click.option("--fuzzed", type=click.IntRange(min=0), default=2000, show_default=True, help="Number of random strings.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the random strings.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=10_000, show_default=True, help="Maximum number of documents."
)
@text_field_option
@click.option("--strict", is_flag=True, help="Also fail on explained differences.")
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
    """Check that runtimes give the same ids and text for MODEL, on every piece, code, random strings and documents.

    MODEL is a .model file, a byte-level tokenizer (tokenizer.json, .tiktoken), a folder with one of these, or a name
    that `piecework known` lists. Runtimes load the exported files in that folder, such as tokenizer.json; missing ones
    are exported to a temporary folder. Files are also compared with each other, entry by entry. Differences with a
    known cause are explained. The exit code is 1 if a difference has no known cause.

    \b
    Examples:
      piecework verify out/nordic
      piecework verify out/nordic --data "corpus/*.jsonl.zst" --limit 2000
      piecework verify out/nordic --runtimes tokenizers,transformers --fuzzed 20000 --json
      piecework verify gpt-4o --runtimes tiktoken,gigatoken
    """
    from piecework.cli.progress import show_progress
    from piecework.cli.tokenizer_names import load_native
    from piecework.tokenizer.verify import verify

    tokenizer = load_native(model)
    texts = _texts(terminal, tokenizer, data, fuzzed=fuzzed, seed=seed, limit=limit, field=text_field)
    folder = None if not model.exists() else model if model.is_dir() else model.parent
    names = [name.strip() for name in runtimes.split(",") if name.strip()]
    started = time.monotonic()
    with show_progress(terminal, "comparing", "texts") as update:
        verification = verify(tokenizer, texts, folder=folder, runtimes=names, progress=update)
    if verification.unseen:
        terminal.detail(f"{format_count(verification.unseen, 'piece')} of the vocabulary in none of the texts")
    terminal.detail(f"compared in {format_seconds(time.monotonic() - started)}")
    if as_json:
        _write_json(verification, model)
    else:
        _show(verification, tokenizer, model)
    if not verification.files and not any(result.status in ("compared", "failed") for result in verification.results):
        raise MissingPackageError(
            f"nothing was compared: {verification.reference} is the only installed runtime that reads the model; "
            "pip install 'piecework[hf]'"
        )
    is_fine = verification.is_fine and not (strict and any(result.explained for result in verification.results))
    if not is_fine:
        raise InputError(_verdict(verification))
    terminal.say(
        "all runtimes give the same ids and text, except for the explained differences"
        if _explained(verification)
        else "all runtimes give the same ids and text"
    )
    terminal.suggest("inspect", model)


def _texts(
    terminal: Terminal,
    tokenizer: "Tokenizer | ByteLevelTokenizer",
    data: tuple[Path, ...],
    *,
    fuzzed: int,
    seed: int,
    limit: int,
    field: str,
) -> list[str]:
    from piecework.tokenizer.hard_texts import code_texts, fuzzed_texts

    texts = [*code_texts(), *fuzzed_texts(tokenizer, fuzzed, seed=seed)]
    if data:
        from piecework.cli.documents import read_texts

        found = read_texts(terminal, data, language="text", unit="file", field=field)["text"]
        if len(found) > limit:
            terminal.warn(f"only the first {limit:,} of {len(found):,} documents are compared; raise --limit for more")
        texts += found[:limit]
    return texts


def _explained(verification: "Verification") -> bool:
    return any(result.explained for result in verification.results)


def _verdict(verification: "Verification") -> str:
    failed = [result.name for result in verification.results if result.status == "failed"]
    differing = [
        f"{result.name} on {format_count(result.unexplained, 'text')}"
        for result in verification.results
        if result.unexplained
    ]
    parts = [f"{' and '.join(differing)} without a known cause"] if differing else []
    parts += [f"{' and '.join(failed)} cannot use the model"] if failed else []
    names = dict.fromkeys(each.path.name for each in verification.files)
    parts += (
        [f"{' and '.join(names)} is not an export of this model, or is damaged; export it again with --force"]
        if names
        else []
    )
    return f"runtimes differ: {'; '.join(parts) or 'there are explained differences, and --strict allows none'}"


def _show(verification: "Verification", tokenizer: "Tokenizer | ByteLevelTokenizer", model: Path) -> None:
    from rich.console import Group
    from rich.text import Text

    title = Text.assemble(
        (os.fspath(model), "bold"), f"  {verification.texts:,} texts, compared with {verification.reference}"
    )
    parts: list[RenderableType] = [title, "", indented(_table(verification))]
    parts += _explanations(verification)
    for result in verification.results:
        for difference in result.differences:
            if difference.cause is None:
                parts += ["", Text(f"{result.name} differs", style="bold red"), _example(difference, tokenizer)]
    for each in verification.files:
        parts += ["", Text(f"{each.path} differs from an export", style="bold red"), indented(Text(each.what))]
    stdout_console().print(Group(*parts))


def _table(verification: "Verification") -> "RenderableType":
    from rich.text import Text

    table = new_table()
    table.add_column("runtime", no_wrap=True)
    table.add_column("version", no_wrap=True)
    for name in ("same", "explained", "other"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for result in verification.results:
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


def _explanations(verification: "Verification") -> "list[RenderableType]":
    from rich.text import Text

    from piecework.tokenizer.behaviour import CAUSES

    causes = dict.fromkeys(cause for result in verification.results for cause in result.explained)
    if not causes:
        return []
    lines = [Text.assemble((f"{cause}: ", "bold"), CAUSES[cause]) for cause in causes]
    return ["", Text("Explained", style="bold"), *(indented(line) for line in lines)]


def _example(difference: "Difference", tokenizer: "Tokenizer | ByteLevelTokenizer") -> "RenderableType":
    from rich.text import Text

    text = difference.text
    quoted = repr(text if len(text) <= QUOTED_CHARACTERS else text[:QUOTED_CHARACTERS] + "…")
    lines = [f"{'text':<10}{quoted}"]
    for title, value in (("found", difference.found), ("expected", difference.expected)):
        around = slice(max(difference.at - CONTEXT_TOKENS, 0), difference.at + CONTEXT_TOKENS + 1)
        if isinstance(value, str):
            lines.append(f"{title:<10}{value[around]!r} at character {difference.at}")
        else:
            pieces = [tokenizer.pieces[i].text if 0 <= i < tokenizer.vocab_size else "?" for i in value[around]]
            lines.append(f"{title:<10}{' '.join(map(repr, pieces))}  {value[around]} at token {difference.at}")
    return indented(Text("\n".join(lines)))


def _write_json(verification: "Verification", model: Path) -> None:
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
        "reference": verification.reference,
        "texts": verification.texts,
        "unseen": verification.unseen,
        "same_everywhere": verification.is_fine,
        "files": [{"path": os.fspath(each.path), "difference": each.what} for each in verification.files],
        "causes": CAUSES,
        "results": list(map(record, verification.results)),
    }
    write_json(content)
