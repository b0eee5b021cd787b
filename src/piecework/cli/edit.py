"""`piecework edit`: add, drop and reserve pieces of a model that keeps working."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from piecework.cli.edited_files import EDITED_FILES, MAPPING_FILE, save_edited
from piecework.cli.options import CountType, FolderType, LocalPath, LocationType, ParamType
from piecework.cli.output import write_json
from piecework.cli.terminal import Terminal, format_count, verbosity_options
from piecework.common.terms import MOST_PIECES
from piecework.errors import InputError

if TYPE_CHECKING:
    from piecework.common.storage import Location
    from piecework.tokenizer.edit import Edited
    from piecework.tokenizer.pieces import Piece

__all__ = ["command"]

LISTED_PIECES = 12


class Lengths(ParamType[tuple[int, int]]):
    """The lengths of the shortest and the longest whitespace run, as 2:24."""

    name = "lengths"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Return the two lengths."""
        if isinstance(value, tuple):
            return value
        first, colon, last = str(value).partition(":")
        try:
            return int(first), int(last if colon else first)
        except ValueError:
            self.fail(f'"{value}": write the shortest and the longest length as 2:24', param, ctx)


@click.command("edit", short_help="Add, drop and reserve pieces of a model.")
@click.argument("model", type=LocalPath())
@click.option("-o", "--out", type=FolderType(), help="Folder for the new model and id_mapping.json.")
@click.option(
    "--drop", multiple=True, metavar="PIECE|FILE", help="Drop a piece, or all pieces in a file (one per line)."
)
@click.option("--truncate", type=CountType(), metavar="N", help="Drop the last merges until N pieces remain.")
@click.option("--whitespace-runs", type=Lengths(), metavar="2:24", help="Add the missing pieces of 2 to 24 ▁.")
@click.option(
    "--run-order",
    type=click.Choice(["portable", "paper"]),
    default="portable",
    show_default=True,
    help="Order of added whitespace runs. portable: also right in runtimes that ignore scores; paper: as GPT-SW3.",
)
@click.option("--add-symbol", "symbols", multiple=True, metavar="S", help="Add a user-defined symbol; may be repeated.")
@click.option("--reserve", type=click.IntRange(0, MOST_PIECES), default=0, metavar="N", help="Add N unused pieces.")
@click.option(
    "--pad-to-multiple",
    type=click.IntRange(1, MOST_PIECES),
    metavar="N",
    help="Add unused pieces up to a multiple of N.",
)
@click.option("--keep-ids", is_flag=True, help="Replace each dropped piece by an unused one, so that no id changes.")
@click.option(
    "--unreachable",
    type=click.Choice(["refuse", "keep", "drop"]),
    default="refuse",
    show_default=True,
    help="If other pieces become unreachable: refuse the edit, keep them, or drop them too.",
)
@click.option("--prune", is_flag=True, help="The next merges take the ids of pieces that are only steps.")
@click.option("--counts", type=LocationType(), help="With --prune: the counts that the model was trained on.")
@click.option(
    "--larger",
    type=LocalPath(),
    metavar="MODEL",
    help="With --prune: a larger size from the same training, which has the next merges.",
)
@click.option("--dry-run", is_flag=True, help="Show the changes; write nothing.")
@click.option("--force", is_flag=True, help="Overwrite an existing tokenizer.")
@click.option("--json", "as_json", is_flag=True, help="Write a summary as a JSON object.")
@verbosity_options
@click.pass_obj
def command(
    terminal: Terminal,
    model: Path,
    out: Path | None,
    drop: tuple[str, ...],
    truncate: int | None,
    whitespace_runs: tuple[int, int] | None,
    run_order: str,
    symbols: tuple[str, ...],
    reserve: int,
    pad_to_multiple: int | None,
    keep_ids: bool,
    unreachable: str,
    prune: bool,
    counts: "Location | None",
    larger: Path | None,
    dry_run: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Change the vocabulary of MODEL. Writes a model that SentencePiece loads, and the new id of each old id.

    MODEL can be a byte-level tokenizer too: a tokenizer.json, .tiktoken or tekken.json, or the name of a well-known
    one. Its symbols are added tokens, and its reserved pieces are special tokens.

    Edits are applied in the order of the options below. Write pieces with a space or with ▁. New symbols take unused
    pieces first, so that a model with reserved pieces need not grow.

    \b
    Examples:
      piecework edit out/nordic --truncate 32000 --out out/nordic-32000
      piecework edit out/nordic --add-symbol "<|sv|>" --add-symbol "<|da|>" --pad-to-multiple 128 --out out/symbols
      piecework edit old.model --whitespace-runs 2:24 --out out/with-runs
      piecework edit out/nordic --drop unwanted.txt --keep-ids --unreachable drop --out out/clean
      piecework edit out/nordic-16k --prune --counts out/nordic --larger out/nordic --out out/pruned
    """
    from piecework.cli.tokenizer_names import load_native
    from piecework.common.files import check_output
    from piecework.tokenizer.edit import edit

    others = drop or truncate or whitespace_runs or symbols or reserve or pad_to_multiple
    if prune and others:
        raise click.UsageError("--prune is an edit of its own: make the others before or after it")
    if not prune and (counts is not None or larger is not None):
        raise click.UsageError("--counts and --larger are for --prune")
    if not (others or prune):
        raise click.UsageError(
            "nothing to edit: give --drop, --truncate, --whitespace-runs, --add-symbol, --reserve or --prune"
        )
    if out is None and not dry_run:
        raise click.UsageError('missing option "--out DIR": the folder to write into')
    if prune:
        from piecework.cli.prune import run_prune

        target = None if dry_run else out
        run_prune(terminal, model, counts=counts, larger=larger, out=target, force=force, as_json=as_json)
        return
    tokenizer: Any = load_native(model)
    if out is not None:
        is_model = tokenizer.kind == "SentencePiece BPE"
        check_output(out, EDITED_FILES if is_model else ("tokenizer.json", MAPPING_FILE), force=force)
    done: Edited[Any] = edit(  # type: ignore[call-overload]
        tokenizer,
        drop=[piece for given in drop for piece in _pieces(given)],
        truncate=truncate,
        whitespace_runs=whitespace_runs,
        run_order=run_order,
        add_symbols=symbols,
        reserve=reserve,
        pad_to_multiple=pad_to_multiple,
        keep_ids=keep_ids,
        unreachable=unreachable,
    )
    _report(terminal, done, len(done.mapping))
    if not dry_run:
        assert out is not None
        files = save_edited(done.tokenizer, _summary(done), folder=out, force=force)
        terminal.say(f"wrote {', '.join(map(str, files))}")
    if as_json:
        content = {"model": str(model), "out": None if dry_run else str(out), **_summary(done)}
        write_json(content)
    if dry_run:
        arguments = [argument for argument in sys.argv[1:] if argument != "--dry-run"]
        terminal.suggest(*arguments, *(() if out else ("--out", "out/tokenizer")))
    else:
        assert out is not None
        terminal.suggest("verify", out)


def _pieces(given: str) -> list[str]:
    """Return the pieces of a file, one per line as in a .vocab; or the given piece, if it is not a file."""
    path = Path(given)
    try:
        if not path.is_file():
            return [given]
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError) as error:
        if isinstance(error, UnicodeDecodeError):
            raise InputError(f"{path}: not valid UTF-8; write one piece per line") from error
        return [given]
    return [line.rstrip("\r").partition("\t")[0] for line in lines if line.strip("\r")]


def _report(terminal: Terminal, done: "Edited[Any]", before: int) -> None:
    after = done.tokenizer.vocab_size
    terminal.say(f"{format_count(before, 'piece')} before, {after:,} after")
    for what, pieces in (("dropped", done.dropped), ("added", done.added), ("unreachable", done.unreachable)):
        if pieces:
            terminal.say(f"{what}: {len(pieces):,} ({_listed(pieces)})")
    if done.unreachable:
        terminal.warn(f"no text encodes to {format_count(len(done.unreachable), 'piece')} of the new vocabulary")
    moved = sum(new is not None and new != old for old, new in enumerate(done.mapping))
    terminal.say(f"{moved:,} ids changed" if moved else "no id changed")


def _listed(pieces: "tuple[Piece, ...]") -> str:
    listed = "  ".join(piece.text for piece in pieces[:LISTED_PIECES])
    return listed + ("  …" if len(pieces) > LISTED_PIECES else "")


def _summary(done: "Edited[Any]") -> dict[str, Any]:
    def record(piece: "Piece") -> dict[str, Any]:
        return {"id": piece.id, "piece": piece.text, "type": piece.type}

    return {
        "old_size": len(done.mapping),
        "new_size": done.tokenizer.vocab_size,
        "new_ids": done.mapping,
        "added": list(map(record, done.added)),
        "dropped": list(map(record, done.dropped)),
        "unreachable": list(map(record, done.unreachable)),
    }
