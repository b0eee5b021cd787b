"""`piecework train`: train a tokenizer on text files or on counts."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from piecework.cli.options import CountType, FolderType, LocationType, SizeType, text_field_option, threads_option
from piecework.cli.output import write_json
from piecework.cli.recipe_options import BYTE_LEVEL, RECIPES
from piecework.cli.terminal import Terminal, format_bytes, format_count, format_seconds, verbosity_options
from piecework.common.percent import format_percent
from piecework.common.pre_tokenizer import SLOW
from piecework.counting.machine import available_cores
from piecework.errors import InputError

if TYPE_CHECKING:
    from piecework.common.storage import Location
    from piecework.corpus import InputFile, Skipped
    from piecework.counting.pre_tokens import PreTokenCounts
    from piecework.counting.stream import WordStream
    from piecework.counting.words import WordCounts
    from piecework.study.recipe import AnyRecipe

__all__ = ["command"]

OUTPUT_NAMES = ("tokenizer.model", "tokenizer.vocab")
HF_NAMES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


@click.command("train", short_help="Train a BPE tokenizer on text or on counts.")
@click.argument("inputs", metavar="[INPUT...]", nargs=-1, type=LocationType())
@click.option("-o", "--out", type=FolderType(), help="Folder for the files of the tokenizer.")
@click.option("--vocab-size", type=CountType(), help="Number of pieces, as 64000 or 64k [default: the recipe's].")
@click.option(
    "--preset",
    "--recipe",
    "recipe",
    type=click.Choice(RECIPES),
    default=RECIPES[0],
    show_default=True,
    help="gpt-sw3: 64,000 pieces, split digits, byte fallback, code tokens, whitespace runs. "
    "plain: SentencePiece's defaults for BPE, without normalisation. "
    "gpt2 to qwen2: byte-level BPE with the settings of that tokenizer; byte-level: with your own settings.",
)
@click.option(
    "--set", "settings", metavar="KEY=VALUE", multiple=True, help="Change a setting of the recipe; may be repeated."
)
@click.option(
    "--counts",
    "counts_folder",
    type=LocationType(),
    help="Train on the counts of a study instead of INPUT.",
)
@click.option("--language", "languages", multiple=True, help="With --counts: only this language; may be repeated.")
@click.option(
    "--weight",
    "weights",
    metavar="NAME=VALUE",
    multiple=True,
    help="With --counts: multiply the counts of a language, category or subset (law_sv) by VALUE.",
)
@click.option(
    "--min-count",
    type=click.IntRange(min=1),
    help="With --counts: leave out words or pre-tokens that occur fewer times, which saves memory [default: keep all].",
)
@click.option(
    "--memory",
    type=SizeType(),
    help="Memory limit, as 8GB: training that is estimated to need more does not start [default: no limit].",
)
@text_field_option
@threads_option
@click.option("--dry-run", is_flag=True, help="Show the recipe and the files, estimate time and memory; write nothing.")
@click.option("--force", is_flag=True, help="Overwrite an existing tokenizer.")
@click.option("--json", "as_json", is_flag=True, help="Write a summary as a JSON object.")
@verbosity_options
@click.pass_obj
def command(
    terminal: Terminal,
    inputs: "tuple[Location, ...]",
    out: Path | None,
    vocab_size: int | None,
    recipe: str,
    settings: tuple[str, ...],
    counts_folder: "Location | None",
    languages: tuple[str, ...],
    weights: tuple[str, ...],
    min_count: int | None,
    memory: int | None,
    text_field: str,
    threads: int | None,
    dry_run: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Train a BPE tokenizer on INPUT, byte for byte as SentencePiece or Hugging Face's tokenizers do.

    INPUT is a file, a folder or a quoted pattern. Formats: .txt (one sentence per line), .jsonl, .parquet; text and
    JSONL also compressed with .gz or .zst. Files with other suffixes are read as text. Settings have SentencePiece's
    names. With --preset gpt2, gpt4, gpt4o, llama3, qwen2 or byte-level the tokenizer is byte-level BPE, with the
    settings of Hugging Face's BpeTrainer; then a text file is one document. --set pattern=REGEX cuts text with a
    regular expression of your own.

    \b
    Examples:
      piecework train corpus/ --out out/nordic
      piecework train corpus/ --out out/nordic --dry-run
      piecework train "data/*.jsonl.zst" --out out/small --vocab-size 32000 --text-field content
      piecework train book.txt --out out/plain --recipe plain --set character_coverage=1.0 \\
          --set 'user_defined_symbols=["<|sv|>", "<|da|>"]'
      piecework train --counts out/nordic --weight is=3 --out out/more-icelandic
      piecework train --counts s3://bucket/nordic --min-count 3 --out out/nordic
      piecework train corpus/ --preset gpt4o --vocab-size 64000 --out out/bytes
      piecework train corpus/ --preset byte-level --set pre_tokenizer=llama3 --set digits=right --out out/bytes
      piecework train corpus/ --preset byte-level --set 'pattern=\\S+|\\s+' --vocab-size 32k --out out/own-pattern
      piecework train --counts out/large --memory 8GB --out out/large
    """
    from piecework.cli.recipe_options import resolve_recipe
    from piecework.common.files import check_output
    from piecework.corpus import find_files

    resolved = resolve_recipe(recipe, vocab_size, settings)
    if out is None and not dry_run:
        raise click.UsageError('missing option "--out DIR": the folder to write into')
    if resolved.vocab_size % 128 and recipe == "gpt-sw3":
        terminal.warn(
            f"vocab_size {resolved.vocab_size} is not divisible by 128, which makes language models slower; "
            f"the next multiple is {-(-resolved.vocab_size // 128) * 128}"
        )
    _check_source(inputs, counts_folder, languages, weights, min_count, dry_run=dry_run)
    files = find_files(inputs)
    thread_count = threads or available_cores()
    if out is not None:
        if recipe not in BYTE_LEVEL:
            check_output(out, OUTPUT_NAMES, force=force)
        check_output(out, HF_NAMES, force=force)
    if dry_run:
        from piecework.cli.train_plan import show_train_plan

        show_train_plan(terminal, resolved, files, text_field=text_field, threads=thread_count, as_json=as_json)
        arguments = [argument for argument in sys.argv[1:] if argument != "--dry-run"]
        terminal.suggest(*arguments, *(() if out else ("--out", "out/tokenizer")))
        return
    assert out is not None
    counts: WordCounts | WordStream | PreTokenCounts
    if counts_folder is not None:
        from piecework.cli.training_counts import load_training_counts

        counts = load_training_counts(
            terminal, counts_folder, languages, weights, resolved, min_count=min_count or 0, memory_bytes=memory
        )
        summary = {"counts": str(counts_folder), "languages": languages, "weights": weights}
        summary |= _report_rare(terminal, counts, min_count)
    else:
        if memory is not None:
            from piecework.cli.training_estimate import check_text_memory

            check_text_memory(terminal, files, memory, recipe=resolved, text_field=text_field, threads=thread_count)
        counts, summary = _count(terminal, resolved, files, text_field=text_field, threads=thread_count)
    summary |= _train(terminal, resolved, counts, out, force=force)
    if as_json:
        write_json(summary)
    terminal.suggest("inspect", out)


def _check_source(
    inputs: "tuple[Location, ...]",
    counts_folder: "Location | None",
    languages: tuple[str, ...],
    weights: tuple[str, ...],
    min_count: int | None,
    *,
    dry_run: bool,
) -> None:
    if bool(inputs) == (counts_folder is not None):
        raise click.UsageError("give either INPUT... (text to train on) or --counts DIR (the counts of a study)")
    if counts_folder is None and (languages or weights or min_count):
        raise click.UsageError("--language, --weight and --min-count need --counts DIR")
    if counts_folder is not None and dry_run:
        raise click.UsageError("--dry-run estimates the cost of reading text; --counts reads none")


def _report_rare(
    terminal: Terminal, counts: "WordCounts | WordStream | PreTokenCounts", min_count: int | None
) -> dict[str, Any]:
    """Warn about what --min-count left out, with a bound on its effect."""
    from piecework.counting.stream import WordStream

    if isinstance(counts, WordStream) or (rare := counts.rare) is None:
        return {}
    noun = "pre-token" if rare.pre_tokens else "word"
    change, characters = rare.largest_change
    all_words = counts.total + rare.occurrences
    share = rare.occurrences / max(1, all_words)
    terminal.warn(
        f"--min-count {min_count} left out {format_count(rare.distinct, f'distinct {noun}')}, "
        f"{format_percent(share)} of all {all_words:,} {noun}s; this lowers the frequency of a pair by at most "
        f'{change:,} ("{characters}"), and cannot change merges that lead by more'
    )
    return {
        "min_count": min_count,
        "left_out": {"distinct_words": rare.distinct, "words": rare.occurrences, "largest_change": change},
    }


def _train(
    terminal: Terminal,
    recipe: "AnyRecipe",
    counts: "WordCounts | WordStream | PreTokenCounts",
    out: Path,
    *,
    force: bool,
) -> dict[str, Any]:
    """Train and save; return a summary for --json."""
    from piecework.cli.progress import show_progress
    from piecework.counting.stream import WordStream
    from piecework.training.trainer import train_any

    started = time.monotonic()
    with show_progress(terminal, "merging", "pieces") as update:
        tokenizer = train_any(counts, recipe, progress=update)
    training_s = time.monotonic() - started
    saved = tokenizer.save(out, force=force)
    is_model = saved.name == OUTPUT_NAMES[0]
    terminal.say(f"trained {tokenizer.vocab_size:,} pieces in {format_seconds(training_s)}")
    terminal.detail(f"peak memory {format_bytes(peak_memory_bytes())}")
    written = (*OUTPUT_NAMES, HF_NAMES[0]) if is_model else HF_NAMES[:2]
    terminal.say(f"wrote {', '.join(str(out / name) for name in written)}")
    return {
        "model": str(saved),
        **({"vocab": str(out / OUTPUT_NAMES[1])} if is_model else {}),
        "vocab_size": tokenizer.vocab_size,
        "recipe": recipe.model_dump(mode="json"),
        **({"rows": counts.rows} if isinstance(counts, WordStream) else _sizes(counts)),
        "training_s": round(training_s, 3),
        "peak_memory_bytes": peak_memory_bytes(),
    }


def _sizes(counts: "WordCounts | PreTokenCounts") -> dict[str, int]:
    return {"words": counts.total, "distinct_words": len(counts)}


def _count(
    terminal: Terminal, recipe: "AnyRecipe", files: "list[InputFile]", *, text_field: str, threads: int
) -> "tuple[WordCounts | PreTokenCounts, dict[str, Any]]":
    """Read and count; return the counts and a summary for --json."""
    from piecework.cli.progress import show_progress
    from piecework.cli.training_estimate import recipe_counter
    from piecework.corpus import Skipped, open_batches
    from piecework.counting.pre_tokens import PreTokenCounts

    skipped = Skipped()
    started = time.monotonic()
    counter = recipe_counter(recipe, threads=threads)
    settings = recipe.count_settings()
    if settings.pre_tokenizer is not None and not settings.pre_tokenizer.is_native:
        terminal.warn(f"{SLOW}, and runs on one core; piecework count uses all of them")
    # Pre-tokens may have newlines in them, so they need whole documents. Words are those of lines.
    text_unit: Literal["file", "block"] = "file" if settings.pre_tokenizer else "block"
    total_bytes = sum(file.size_bytes for file in files)
    read_bytes = 0
    with show_progress(terminal, "counting", "bytes") as update:
        batches = open_batches(
            files, text_field=text_field, text_unit=text_unit, skipped=skipped, clean_up=settings.clean_up
        )
        for batch in batches:
            counter.add(batch.documents)
            read_bytes += batch.read_bytes
            update(read_bytes, total_bytes)
    counts = counter.finish()
    if not len(counts):
        what = f"no text in {files[0].path if len(files) == 1 else f'any of {len(files):,} files'}"
        if skipped.total:
            from piecework.corpus.fields import needed_field

            raise InputError(f"{what}: {skipped}; {needed_field(files, text_field)}")
        raise InputError(f"{what} ({format_bytes(total_bytes)}): nothing to train on")
    counting_s = time.monotonic() - started
    noun = "distinct pre-token" if isinstance(counts, PreTokenCounts) else "distinct word"
    terminal.say(
        f"counted {format_count(len(counts), noun)} of {counts.total:,} in "
        f"{format_count(len(files), 'file')} ({format_bytes(total_bytes)}) in {format_seconds(counting_s)}"
    )
    _report_unusable(terminal, counts, skipped)
    return counts, {
        "files": [str(file.path) for file in files],
        "size_bytes": total_bytes,
        **(
            {}
            if isinstance(counts, PreTokenCounts)
            else {"dropped_lines": counts.dropped_lines, "long_lines": counts.long_lines}
        ),
        "invalid_bytes": counts.invalid_bytes,
        "skipped": skipped.by_file(),
        "threads": threads,
        "counting_s": round(counting_s, 3),
    }


def _report_unusable(terminal: Terminal, counts: "WordCounts | PreTokenCounts", skipped: "Skipped") -> None:
    from piecework.counting.words import WordCounts

    if skipped.total:
        terminal.warn(str(skipped))
        for file, reasons in skipped.by_file().items():
            listed = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())
            terminal.detail(f"  {file}: {listed}")
    if counts.invalid_bytes:
        terminal.warn(f"{format_count(counts.invalid_bytes, 'byte')} of invalid UTF-8 read as U+FFFD")
    if not isinstance(counts, WordCounts):
        return
    if counts.dropped_lines:
        terminal.warn(
            f"{format_count(counts.dropped_lines, 'line')} with U+2585, SentencePiece's mark for unknown, left out"
        )
    if counts.long_lines:
        terminal.warn(f"{format_count(counts.long_lines, 'line')} longer than max_sentence_length left out")


def peak_memory_bytes() -> int:
    """Return the peak memory of this process, or 0 if the system does not report it."""
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
