"""`piecework edit --prune`: some pieces are only steps to longer ones; the next merges take their ids."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from piecework.cli.edited_files import EDITED_FILES, save_edited
from piecework.cli.output import write_json
from piecework.cli.terminal import Terminal, format_count

if TYPE_CHECKING:
    from piecework.common.storage import Location
    from piecework.health.prune import Pruned

__all__ = ["run_prune"]

LISTED_PIECES = 8


def run_prune(
    terminal: Terminal,
    model: Path,
    *,
    counts: "Location | None",
    larger: Path | None,
    out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Prune a model and write it; without `out`, only show what would change."""
    from piecework.cli.tokenizer_names import load_native
    from piecework.common.files import check_output
    from piecework.counting.machine import available_cores
    from piecework.counting.store import Counts
    from piecework.errors import InputError
    from piecework.health.prune import prune
    from piecework.tokenizer.tokenizer import Tokenizer

    if counts is None:
        raise click.UsageError("--prune needs --counts DIR, the counts of the training: they say what each piece costs")
    if out is not None:
        check_output(out, EDITED_FILES, force=force)
    tokenizer = load_native(model)
    if not isinstance(tokenizer, Tokenizer):
        raise InputError(
            f"{model}: a byte-level tokenizer cannot be pruned: its files need every step of a merge as a token with an"
            " id that text can get; SentencePiece alone merges through unused pieces"
        )
    grown = load_native(larger) if larger is not None else None
    if grown is not None and not isinstance(grown, Tokenizer):
        raise InputError(f"{larger}: a byte-level tokenizer is no larger size of a SentencePiece model")
    done = prune(tokenizer, Counts.load(counts), larger=grown, threads=available_cores())
    _report(terminal, done)
    if out is not None:
        save_edited(done.tokenizer, _summary(done), folder=out, force=force)
        terminal.say(f"wrote {', '.join(str(out / name) for name in EDITED_FILES)}")
    if as_json:
        write_json({"model": str(model), "out": None if out is None else str(out), **_summary(done)})
    terminal.suggest("inspect", out if out is not None else model)


def _report(terminal: Terminal, done: "Pruned") -> None:
    old, new = len(done.mapping), done.tokenizer.vocab_size
    terminal.say(
        f"{format_count(old, 'piece')} before; {done.active_size:,} ids that texts use now, then"
        f" {format_count(new - done.active_size, 'unused step')} that merging goes through"
    )
    for what, texts in (
        ("pruned", [f"{each.piece.text} (costs {each.cost:,})" for each in done.pruned[::-1]]),
        ("filled with", [piece.text for piece in done.filled]),
    ):
        if texts:
            more = "  …" if len(texts) > LISTED_PIECES else ""
            terminal.say(f"{what}: {len(texts):,} ({'  '.join(texts[:LISTED_PIECES])}{more})")
    verb = "saves" if done.saving >= 0 else "costs"
    terminal.say(
        f"{verb} {abs(done.tokens_before - done.tokens_after):,} of {done.tokens_before:,} tokens of the evaluation"
        f" text ({100 * abs(done.saving):.2f} %)"
    )
    if not done.filled:
        terminal.say(
            "nothing took their ids: --larger MODEL, a larger size from the same training, gives the next merges"
        )
    if done.saving < 0 and done.filled:
        terminal.warn(
            "the evaluation text has more tokens now: there is too little training text to choose by; keep MODEL"
        )
    terminal.warn(
        f"the embeddings need {done.active_size:,} rows: ids from there on are never given. SentencePiece and Piecework"
        " read this model; tokenizer.json has no unused pieces, so export it to SentencePiece alone"
    )


def _summary(done: "Pruned") -> dict[str, Any]:
    return {
        "old_size": len(done.mapping),
        "new_size": done.tokenizer.vocab_size,
        "active_size": done.active_size,
        "new_ids": done.mapping,
        "pruned": [{"piece": each.piece.text, "tokens": each.tokens, "cost": each.cost} for each in done.pruned],
        "filled": [{"id": piece.id, "piece": piece.text} for piece in done.filled],
        "tokens_before": done.tokens_before,
        "tokens_after": done.tokens_after,
    }
