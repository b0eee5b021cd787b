"""`piecework extend`: more pieces for an existing tokenizer, learned from new text."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from piecework.cli.options import (
    CountType,
    FolderType,
    LocalPath,
    documents_option,
    parallel_option,
    pivot_option,
    read_parallel_option,
    text_field_option,
    threads_option,
)
from piecework.cli.output import write_json
from piecework.cli.terminal import Terminal, format_count, format_seconds, verbosity_options
from piecework.common.terms import MOST_PIECES
from piecework.counting.machine import available_cores

if TYPE_CHECKING:
    from piecework.corpus.readers import TextUnit

__all__ = ["command"]

GROWTH_FILE = "growth.csv"


@click.command("extend", short_help="Teach an existing tokenizer a new language.")
@click.argument("model", metavar="MODEL")
@click.option("-o", "--out", type=FolderType(), required=True, help="Folder for the new tokenizer and extension.json.")
@click.option(
    "--add", type=CountType(least=0), required=True, metavar="N", help="Number of new pieces, as 16000 or 16k."
)
@click.option("--data", multiple=True, type=LocalPath(), help="Learn from documents; may be repeated.")
@click.option(
    "--counts",
    type=LocalPath(),
    help="Learn from the counts of a study, or from a file of pre-token counts.",
)
@click.option("--languages", metavar="L,L", help="Learn from these languages only [default: all].")
@click.option("--replace", is_flag=True, help="Keep the size: new pieces take the ids of the least used old ones.")
@click.option("--eval", "eval_data", multiple=True, type=LocalPath(), help="Documents for estimates.")
@parallel_option
@pivot_option
@click.option("--min-frequency", type=click.IntRange(1, (1 << 63) - 1), default=1, help="Merge no pair that is rarer.")
@click.option(
    "--character-coverage",
    type=click.FloatRange(0, 1),
    help="SentencePiece: share of the text's characters that become pieces [default: as the model was trained].",
)
@click.option("--first-id", type=CountType(), metavar="ID", help="Byte-level: the first new id, after special tokens.")
@click.option(
    "--pad-to-multiple", type=click.IntRange(1, MOST_PIECES), metavar="N", help="Add pieces up to a multiple of N."
)
@documents_option
@text_field_option
@threads_option
@click.option("--force", is_flag=True, help="Overwrite an existing tokenizer.")
@click.option("--json", "as_json", is_flag=True, help="Write a summary as a JSON object.")
@verbosity_options
@click.pass_obj
def command(
    terminal: Terminal,
    model: str,
    out: Path,
    add: int,
    data: tuple[Path, ...],
    counts: Path | None,
    languages: str | None,
    replace: bool,
    eval_data: tuple[Path, ...],
    parallel: str | None,
    pivot: str | None,
    min_frequency: int,
    character_coverage: float | None,
    first_id: int | None,
    pad_to_multiple: int | None,
    documents: "TextUnit",
    text_field: str,
    threads: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Give MODEL more pieces: continue BPE training from its merges. Old pieces keep their ids.

    MODEL is a SentencePiece BPE .model, a byte-level tokenizer.json, .tiktoken or tekken.json, a folder with one, or
    the name of a well-known tokenizer (`piecework known`). The new tokenizer has the same format. extension.json has
    the old tokens of each new piece, from which a language model's new rows are made (docs/extend.md).

    Tokens per word are shown before and after, and for smaller numbers of pieces: on --eval, else on the evaluation
    counts of the study, else on --data itself.

    \b
    Examples:
      piecework extend mistral --data "corpus/*_is.jsonl.zst" --add 16000 --out out/mistral-is
      piecework extend out/nordic --counts out/nordic --languages is --add 8k --pad-to-multiple 128 --out out/more
      piecework extend gpt2/tokenizer.json --data corpus/ --languages is,sv --add 4000 --replace --out out/gpt2
      piecework extend qwen.tiktoken --data is.txt --add 8k --first-id 151851 --eval held-out_is.txt --out out/qwen
    """
    from piecework.cli.extend_text import read_counts, read_documents
    from piecework.cli.progress import show_progress
    from piecework.common.files import check_output, replace_atomically
    from piecework.training.base import load_extendable
    from piecework.training.extended_files import EXTENSION_FILE, save_extended
    from piecework.training.extension import extend

    if bool(data) == (counts is not None):
        raise click.UsageError("give the text to learn from: --data FILE or --counts DIR")
    check_output(out, (EXTENSION_FILE, "tokenizer.model", "tokenizer.json"), force=force)
    parallel_text = read_parallel_option(parallel, pivot=pivot, text_field=text_field)
    thread_count = threads or available_cores()
    tokenizer, original = load_extendable(model)
    if tokenizer.note:
        terminal.warn(f"{model}: {tokenizer.note}")
    chosen = languages.split(",") if languages else None
    if counts is not None:
        text = read_counts(counts, tokenizer, chosen)
    else:
        text = read_documents(terminal, data, tokenizer, chosen, unit=documents, field=text_field, threads=thread_count)
    settings: dict[str, Any] = {"minimum_frequency": min_frequency, "pad_to_multiple": pad_to_multiple}
    if character_coverage is not None:
        settings["character_coverage"] = character_coverage
    if first_id is not None:
        settings["first_id"] = first_id
    if replace:
        settings |= {"replace": True, "usage": text.every_language()}
        if text.all_learned:
            terminal.warn(
                "--replace: there is no text of languages that shall stay as they are, so their pieces count as"
                " unused; give text of these too, and name the languages to learn from with --languages"
            )
    started = time.monotonic()
    with show_progress(terminal, "merging", "pieces") as update:
        extended = extend(tokenizer, text.training, add=add, progress=update, **settings)
    elapsed = time.monotonic() - started
    if len(extended.added) < add:
        terminal.warn(f"the text allows only {format_count(len(extended.added), 'new piece')}, not {add:,}")
    files = save_extended(extended, out, original=original, force=force)
    terminal.say(
        f"{tokenizer.vocab_size:,} pieces before, {extended.tokenizer.vocab_size:,} after: {len(extended.added):,} new,"
        f" {len(extended.dropped):,} replaced, in {format_seconds(elapsed)}"
    )
    terminal.say(f"wrote {', '.join(map(str, files))}")
    samples = text.samples(terminal, eval_data, unit=documents, field=text_field)
    from piecework.cli.extend_estimates import estimate_extension, show_estimates

    found = estimate_extension(extended, samples, parallel_text, changed=chosen, threads=thread_count)
    with replace_atomically(out / GROWTH_FILE) as temporary:
        temporary.write_text(found.csv(), encoding="utf-8")
    if as_json:
        summary = {"model": model, "out": str(out), "elapsed_s": round(elapsed, 3)}
        sizes = {"old_size": tokenizer.vocab_size, "new_size": extended.tokenizer.vocab_size}
        counts_of = {"added": len(extended.added), "dropped": len(extended.dropped)}
        write_json({**summary, **sizes, **counts_of, "figures_on": text.shown_on(eval_data), **found.record()})
    else:
        show_estimates(found, shown_on=text.shown_on(eval_data))
    terminal.suggest("compare", model, out, *text.source())
