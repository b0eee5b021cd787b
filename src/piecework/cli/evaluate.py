"""`piecework evaluate`: metrics of tokenizers, by language."""

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from piecework.cli.options import (
    WITHOUT_SPACES,
    LocalPath,
    LocationType,
    ParamType,
    documents_option,
    parallel_option,
    parse_count,
    pivot_option,
    read_parallel_option,
    text_field_option,
    threads_option,
)
from piecework.cli.output import write_json
from piecework.cli.terminal import Terminal, format_count, format_seconds, verbosity_options
from piecework.errors import InputError

if TYPE_CHECKING:
    from piecework.common.pre_tokenizer import PreTokenizer
    from piecework.common.storage import Location
    from piecework.corpus.readers import TextUnit
    from piecework.evaluation.evaluation import Evaluation
    from piecework.evaluation.tables import Table
    from piecework.evaluation.units import UnitSource
    from piecework.tokenizer.trained import TrainedTokenizer

__all__ = ["command"]


class SizeList(ParamType[tuple[int, ...]]):
    """Vocabulary sizes, separated by commas."""

    name = "sizes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the sizes as numbers."""
        if isinstance(value, tuple):
            return value
        try:
            return tuple(parse_count(size) for size in str(value).split(","))
        except ValueError:
            self.fail(f'"{value}": write sizes as 10000,20000,30000 or 10k,20k,30k', param, ctx)


@click.command("evaluate", short_help="Compute metrics of tokenizers, by language.")
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=LocalPath())
@click.option("--counts", type=LocationType(), help="Evaluate on the counts of a study: its output folder.")
@click.option("--data", multiple=True, type=LocalPath(), help="Evaluate on documents; may be repeated.")
@click.option(
    "--language",
    "languages",
    metavar="L",
    multiple=True,
    help="With --counts: only this language; may be repeated. With --data: its language [default: from file names].",
)
@click.option(
    "--by",
    type=click.Choice(["language", "subset"]),
    default="language",
    show_default=True,
    help="One row per language, or per subset of the counts.",
)
@click.option(
    "--sizes", type=SizeList(), default=(), help="Also evaluate these smaller vocabulary sizes, as 10000,20000."
)
@click.option("--metric", "metrics", metavar="NAME", multiple=True, help="Only this metric; may be repeated.")
@parallel_option
@pivot_option
@documents_option
@text_field_option
@threads_option
@click.option("--json", "output", flag_value="json", help="Write one JSON object.")
@click.option("--csv", "output", flag_value="csv", help="Write CSV: one row per metric, tokenizer and language.")
@verbosity_options
@click.pass_obj
def command(
    terminal: Terminal,
    models: tuple[Path, ...],
    counts: "Location | None",
    data: tuple[Path, ...],
    languages: tuple[str, ...],
    by: str,
    sizes: tuple[int, ...],
    metrics: tuple[str, ...],
    parallel: str | None,
    pivot: str | None,
    documents: "TextUnit",
    text_field: str,
    threads: int | None,
    output: str | None,
) -> None:
    """Evaluate tokenizers on counts or documents: fertility, continued words and more, by language.

    MODEL is a .model file, a byte-level tokenizer.json or .tiktoken file, or a folder with one of them. Each estimate
    has a 95 % interval.

    \b
    Examples:
      piecework evaluate out/nordic/tokenizers/* --counts out/nordic
      piecework evaluate out/first out/second --data "eval/*_sv.jsonl" --language sv
      piecework evaluate out/nordic --counts out/nordic --sizes 10000,20000,40000 --csv > sizes.csv
      piecework evaluate out/nordic --parallel "par/{language}.txt"
    """
    from piecework.cli.tokenizer_names import load_models
    from piecework.counting.machine import available_cores
    from piecework.evaluation.evaluate import evaluate

    if (counts is not None and data) or not (counts or data or parallel):
        raise click.UsageError("give the text to evaluate on: --counts DIR, --data FILE or --parallel PATTERN")
    parallel_text = read_parallel_option(parallel, pivot=pivot, text_field=text_field)
    tokenizers = load_models(models)
    thread_count = threads or available_cores()
    source: UnitSource
    if counts is not None:
        from piecework.counting.store import Counts

        source, wanted = Counts.load(counts), list(languages) or None
    elif not data:
        from piecework.evaluation.units import count_units

        assert parallel_text is not None
        source, wanted = (
            count_units(parallel_text.lines, pre_tokenizer=_pre_tokenizer(tokenizers)),
            list(languages) or None,
        )
    else:
        from piecework.cli.documents import read_texts
        from piecework.evaluation.units import count_units

        if len(languages) > 1:
            raise click.UsageError("--data takes one --language; without it, the file names tell the languages")
        texts = read_texts(terminal, data, language=next(iter(languages), None), unit=documents, field=text_field)
        source, wanted = count_units(texts, pre_tokenizer=_pre_tokenizer(tokenizers)), None
    started = time.monotonic()
    evaluation = evaluate(
        tokenizers,
        source,
        by=by,  # type: ignore[arg-type]
        languages=wanted,
        metrics=metrics or None,
        sizes=sizes,
        threads=thread_count,
    )
    terminal.detail(
        f"evaluated {format_count(len(tokenizers), 'tokenizer')} in {format_seconds(time.monotonic() - started)}"
    )
    premiums: Table | None = None
    if parallel_text is not None:
        from piecework.evaluation.parallel import evaluate_parallel

        premiums = evaluate_parallel(tokenizers, parallel_text.lines, pivot=parallel_text.pivot, threads=thread_count)
    _warn(terminal, evaluation, has_parallel=parallel_text is not None)
    if output == "json":
        _write_json(evaluation, premiums, dict(zip(tokenizers, models, strict=True)))
    elif output == "csv":
        sys.stdout.write(_csv(evaluation, premiums))
    else:
        from piecework.cli.evaluation_tables import show

        show(evaluation, premiums)
    if sys.stdout.isatty() or output is None:
        terminal.suggest("inspect", models[0])


def _pre_tokenizer(tokenizers: "Mapping[str, TrainedTokenizer]") -> "PreTokenizer | None":
    """What cuts the documents for these tokenizers; None for SentencePiece."""
    found = {name: getattr(tokenizer, "pre_tokenizer", None) for name, tokenizer in tokenizers.items()}
    if len(set(found.values())) > 1:
        listed = ", ".join(f"{name}: {each.name if each else 'SentencePiece'}" for name, each in found.items())
        raise InputError(f"tokenizers that cut text differently ({listed}); evaluate each alone, or piecework compare")
    return next(iter(found.values()))


def _warn(terminal: Terminal, evaluation: "Evaluation", *, has_parallel: bool) -> None:
    if missing := evaluation.without_text:
        terminal.warn(f"no evaluation text in {', '.join(missing)}, so no metrics")
    if unspaced := evaluation.without_spaces:
        hint = "" if has_parallel else "; --parallel compares languages"
        terminal.warn(f"{', '.join(unspaced)}: {WITHOUT_SPACES}{hint}")
    if few := evaluation.without_intervals:
        terminal.warn(f"too few documents for intervals in {', '.join(few)}")


def _write_json(evaluation: "Evaluation", parallel: "Table | None", models: dict[str, Path]) -> None:
    content = {
        "models": {
            name: {"path": str(path), "vocab_size": evaluation.tokenizers[name].vocab_size}
            for name, path in models.items()
        },
        "definitions": [
            {"name": each.name, "title": each.title, "formula": each.formula, "direction": each.direction}
            for each in evaluation.metric_list
        ],
        "without_text": evaluation.without_text,
        "without_spaces": evaluation.without_spaces,
        "metrics": evaluation.metrics.rows(),
        "sizes": evaluation.sizes.rows(),
        **({"parallel": parallel.rows()} if parallel is not None else {}),
    }
    write_json(content)


def _csv(evaluation: "Evaluation", parallel: "Table | None") -> str:
    """Write all metrics as one table. The full size appears once, also if --sizes names it."""
    import pyarrow as pa

    from piecework.evaluation.tables import Table

    full = {name: tokenizer.vocab_size for name, tokenizer in evaluation.tokenizers.items()}
    sizes = evaluation.sizes.to_arrow()
    smaller = [row["vocab_size"] != full[row["tokenizer"]] for row in evaluation.sizes.rows()]
    tables = [evaluation.metrics.to_arrow(), sizes.filter(pa.array(smaller, pa.bool_()))]
    if parallel is not None:
        tables.append(parallel.to_arrow().rename_columns(tables[0].column_names))
    return Table(pa.concat_tables(tables)).to_csv()
