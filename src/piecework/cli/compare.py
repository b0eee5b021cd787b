"""`piecework compare`: tokenizers of any kind side by side on given text."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from piecework.cli.options import documents_option, text_field_option
from piecework.cli.terminal import Terminal, verbosity_options
from piecework.common.terms import TIKTOKEN
from piecework.errors import InputError

if TYPE_CHECKING:
    from piecework.corpus.readers import TextUnit
    from piecework.evaluation.compare import Comparison
    from piecework.tokenizer.outside import OutsideTokenizer

__all__ = ["command"]


@click.command("compare")
@click.argument("tokenizers", metavar="TOKENIZER...", nargs=-1, required=True)
@click.option("--data", multiple=True, type=click.Path(path_type=Path), help="Documents; may be repeated.")
@click.option("--counts", type=click.Path(path_type=Path), help="The counts of a study in place of documents.")
@click.option("--language", metavar="L", help="What --data is in [default: as file names say].")
@documents_option
@text_field_option
@click.option("--json", "output", flag_value="json", help="Write one JSON object.")
@click.option("--csv", "output", flag_value="csv", help="Write CSV: a row for each figure.")
@click.option("--html", "output", flag_value="html", help="Write one page of HTML.")
@verbosity_options
@click.pass_obj
def command(
    terminal: Terminal,
    tokenizers: tuple[str, ...],
    data: tuple[Path, ...],
    counts: Path | None,
    language: str | None,
    documents: "TextUnit",
    text_field: str,
    output: str | None,
) -> None:
    """Compare tokenizers of any kind: figures by language, overlap of vocabularies, words that are not cut alike.

    TOKENIZER is a SentencePiece .model (BPE, unigram), a tokenizer.json of Hugging Face, a .tiktoken file, a folder
    with one of these, or tiktoken:NAME for an encoding that is on this machine; NAME=TOKENIZER gives it a name. All but
    BPE models need the extra hf. Sequence lengths are relative to the first.

    \b
    Examples:
      piecework compare out/nordic old.model --data "eval/*.jsonl"
      piecework compare out/nordic gpt2=models/gpt2/tokenizer.json tiktoken:o200k_base --data book_sv.txt
      piecework compare out/nordic unigram.model --counts out/nordic --csv > comparison.csv
      piecework compare out/nordic llama=models/llama --data corpus/ --html > comparison.html
    """
    from piecework.cli.progress import show_progress
    from piecework.evaluation.compare import compare, compare_on_counts

    if (counts is None) == (not data):
        raise click.UsageError("give either --data FILE or --counts DIR: the text to compare on")
    loaded = load_tokenizers(tokenizers)
    for name, tokenizer in loaded.items():
        terminal.detail(f"{name}: {tokenizer.kind}, {tokenizer.vocab_size:,} tokens")
        if tokenizer.note:
            terminal.warn(f"{name}: {tokenizer.note}")
    if counts is not None:
        from piecework.counting.store import Counts

        stored = Counts.load(counts)
        with show_progress(terminal, "comparing", "texts") as update:
            done = compare_on_counts(loaded, stored, progress=update)
    else:
        from piecework.cli.evaluate import read_texts

        texts = read_texts(terminal, data, language=language, unit=documents, field=text_field)
        with show_progress(terminal, "comparing", "texts") as update:
            done = compare(loaded, texts, progress=update)
    _write(done, output, dict(zip(loaded, tokenizers, strict=True)))
    if sys.stdout.isatty() or output is None:
        first = tokenizers[0].rpartition("=")[2]
        terminal.suggest("compare", *tokenizers, *_source(data, counts), "--html")
        terminal.detail(f"or piecework inspect {first}")


def load_tokenizers(sources: Sequence[str]) -> "dict[str, OutsideTokenizer]":
    """The tokenizers by name: as given, else as their paths tell them apart."""
    from piecework.tokenizer.outside import load_outside

    return {name: load_outside(source) for name, source in named_sources(sources).items()}


def named_sources(sources: Sequence[str]) -> dict[str, str]:
    """What to load, by the name that it is given or gets."""
    return dict(zip(tokenizer_names(sources), map(_path_of, sources), strict=True))


def tokenizer_names(sources: Sequence[str]) -> list[str]:
    """A name for each tokenizer, all different.

    >>> tokenizer_names(["out/sv/tokenizer.model", "gpt=out/gpt2/tokenizer.json", "old/sv", "tiktoken:o200k_base"])
    ['out/sv', 'gpt', 'old/sv', 'o200k_base']
    """
    from piecework.cli.evaluate import model_names

    paths = [Path(source) for source in sources if _path_of(source) == source and not source.startswith(TIKTOKEN)]
    from_paths = iter(model_names(paths))
    names = []
    for source in sources:
        if _path_of(source) != source:
            names.append(source.partition("=")[0])
        else:
            names.append(source.removeprefix(TIKTOKEN) if source.startswith(TIKTOKEN) else next(from_paths))
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f'two tokenizers are called "{twice}"; give one another name: NAME=TOKENIZER')
    return names


def _path_of(source: str) -> str:
    """What stands after NAME=, unless there is a file of that very name."""
    name, equals, path = source.partition("=")
    return path if equals and name and path and not os.path.exists(source) else source  # noqa: PTH110


def _source(data: tuple[Path, ...], counts: Path | None) -> list[str | Path]:
    return ["--counts", counts] if counts is not None else [part for path in data for part in ("--data", path)]


def _write(done: "Comparison", output: str | None, sources: dict[str, str]) -> None:
    if output == "csv":
        sys.stdout.write(done.metrics.to_csv())
    elif output == "json":
        import orjson

        content = {
            "tokenizers": {
                name: {"source": sources[name], "kind": each.kind, "vocab_size": each.vocab_size, "note": each.note}
                for name, each in done.tokenizers.items()
            },
            "metrics": done.metrics.rows(),
            "overlap": done.overlap.rows(),
            "words": done.words.rows(),
        }
        sys.stdout.buffer.write(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    elif output == "html":
        from piecework.cli.comparison_page import page

        sys.stdout.write(page(done))
    else:
        from piecework.cli.comparison_tables import show

        show(done)
