"""`piecework compare`: tokenizers of any kind, side by side on the same text."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from piecework.cli.options import (
    WITHOUT_SPACES,
    LocalPath,
    documents_option,
    parallel_option,
    pivot_option,
    read_parallel_option,
    text_field_option,
)
from piecework.cli.output import write_json
from piecework.cli.terminal import Terminal, verbosity_options

if TYPE_CHECKING:
    from piecework.corpus.readers import TextUnit
    from piecework.evaluation.compare import Comparison

__all__ = ["command"]


@click.command("compare", short_help="Compare tokenizers of any kind on the same text.")
@click.argument("tokenizers", metavar="TOKENIZER...", nargs=-1, required=True)
@click.option("--data", multiple=True, type=LocalPath(), help="Compare on documents; may be repeated.")
@click.option("--counts", type=LocalPath(), help="Compare on the counts of a study.")
@click.option("--language", metavar="L", help="Language of --data [default: from file names].")
@parallel_option
@pivot_option
@documents_option
@text_field_option
@click.option("--json", "output", flag_value="json", help="Write one JSON object.")
@click.option("--csv", "output", flag_value="csv", help="Write CSV: one row per metric, tokenizer and language.")
@click.option("--html", "output", flag_value="html", help="Write one self-contained HTML page.")
@verbosity_options
@click.pass_obj
def command(
    terminal: Terminal,
    tokenizers: tuple[str, ...],
    data: tuple[Path, ...],
    counts: Path | None,
    language: str | None,
    parallel: str | None,
    pivot: str | None,
    documents: "TextUnit",
    text_field: str,
    output: str | None,
) -> None:
    """Compare tokenizers of any kind: metrics by language, vocabulary overlap, words that are split differently.

    TOKENIZER is a SentencePiece .model (BPE or unigram), a Hugging Face tokenizer.json, a .tiktoken file, a folder with
    one of these, the name of a well-known tokenizer (`piecework known` lists them), or tiktoken:NAME for an encoding on
    this machine; NAME=TOKENIZER sets its name. Unigram models, and tokenizers that are not BPE, need the extra `hf`.
    Sequence lengths are relative to the first tokenizer.

    \b
    Examples:
      piecework compare out/nordic old.model --data "eval/{language}/*.jsonl"
      piecework compare out/nordic gpt2=models/gpt2/tokenizer.json tiktoken:o200k_base --data book_sv.txt
      piecework compare out/nordic gpt2 gpt-4o llama-3 qwen3 deepseek-v3 mistral tekken --data corpus/
      piecework compare out/nordic unigram.model --counts out/nordic --csv > comparison.csv
      piecework compare out/nordic llama=models/llama --data corpus/ --html > comparison.html
      piecework compare out/nordic old.model --parallel "par/{language}.txt"
    """
    from piecework.cli.progress import show_progress
    from piecework.cli.tokenizer_names import named_sources
    from piecework.evaluation.compare import compare, compare_on_counts
    from piecework.tokenizer.load import load_tokenizer

    if (counts is not None and data) or not (counts or data or parallel):
        raise click.UsageError("give the text to compare on: --data FILE, --counts DIR or --parallel PATTERN")
    parallel_text = read_parallel_option(parallel, pivot=pivot, text_field=text_field)
    loaded = {name: load_tokenizer(source) for name, source in named_sources(tokenizers).items()}
    for name, tokenizer in loaded.items():
        terminal.detail(f"{name}: {tokenizer.kind}, {tokenizer.vocab_size:,} tokens")
        if tokenizer.note:
            terminal.warn(f"{name}: {tokenizer.note}")
    if counts is not None:
        from piecework.counting.store import Counts

        stored = Counts.load(counts)
        with show_progress(terminal, "comparing", "texts") as update:
            comparison = compare_on_counts(loaded, stored, parallel=parallel_text, progress=update)
    else:
        from piecework.cli.documents import read_texts

        texts = (
            read_texts(terminal, data, language=language, unit=documents, field=text_field)
            if data or parallel_text is None
            else parallel_text.lines
        )
        with show_progress(terminal, "comparing", "texts") as update:
            comparison = compare(loaded, texts, parallel=parallel_text, progress=update)
    if unspaced := comparison.without_spaces:
        terminal.warn(f"{', '.join(unspaced)}: {WITHOUT_SPACES}")
    _write(comparison, output, dict(zip(loaded, tokenizers, strict=True)))
    if sys.stdout.isatty() or output is None:
        first = tokenizers[0].rpartition("=")[2]
        terminal.suggest("compare", *tokenizers, *_source(data, counts, parallel), "--html", into="comparison.html")
        terminal.detail(f"or piecework inspect {first}")


def _source(data: tuple[Path, ...], counts: Path | None, parallel: str | None) -> list[str | Path]:
    text = ["--counts", counts] if counts is not None else [part for path in data for part in ("--data", path)]
    return [*text, *(["--parallel", parallel] if parallel is not None else [])]


def _write(comparison: "Comparison", output: str | None, sources: dict[str, str]) -> None:
    if output == "csv":
        sys.stdout.write(_csv(comparison))
    elif output == "json":
        content = {
            "tokenizers": {
                name: {"source": sources[name], "kind": each.kind, "vocab_size": each.vocab_size, "note": each.note}
                for name, each in comparison.tokenizers.items()
            },
            "metrics": comparison.metrics.rows(),
            "overlap": comparison.overlap.rows(),
            "words": comparison.words.rows(),
            "without_spaces": comparison.without_spaces,
            **({"parallel": comparison.parallel.rows()} if comparison.parallel is not None else {}),
        }
        write_json(content)
    elif output == "html":
        from piecework.cli.comparison_page import page

        sys.stdout.write(page(comparison))
    else:
        from piecework.cli.comparison_tables import show

        show(comparison)


def _csv(comparison: "Comparison") -> str:
    """Write all metrics as one table, premiums included."""
    from piecework.evaluation.tables import Table

    table = comparison.metrics.to_arrow()
    if comparison.parallel is not None:
        import pyarrow as pa

        premiums = comparison.parallel.to_arrow()
        kinds = [comparison.tokenizers[name].kind for name in comparison.parallel.column("tokenizer")]
        premiums = premiums.add_column(1, "kind", pa.array(kinds, pa.string()))
        table = pa.concat_tables([table, premiums.cast(table.schema)])
    return Table(table).to_csv()
