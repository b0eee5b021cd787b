"""`piecework evaluate`: figures of tokenizers, by language."""

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from piecework.cli.options import documents_option, text_field_option, threads_option
from piecework.cli.places import Place
from piecework.cli.terminal import Terminal, format_bytes, format_count, format_seconds, verbosity_options
from piecework.errors import InputError

if TYPE_CHECKING:
    from piecework import Evaluation, Table, Tokenizer
    from piecework.common.storage import Location
    from piecework.corpus import InputFile
    from piecework.corpus.readers import TextUnit
    from piecework.evaluation.units import UnitSource

__all__ = ["command"]


class SizeList(click.ParamType[tuple[int, ...]]):
    """Vocabulary sizes with commas between them."""

    name = "sizes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """The sizes as numbers."""
        if isinstance(value, tuple):
            return value
        try:
            return tuple(int(size.strip().replace("_", "")) for size in str(value).split(","))
        except ValueError:
            self.fail(f'"{value}": write sizes as 10000,20000,30000', param, ctx)


@click.command("evaluate")
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--counts", type=Place(), help="The folder of a study's counts.")
@click.option("--data", multiple=True, type=click.Path(path_type=Path), help="Documents instead; may be repeated.")
@click.option(
    "--language",
    "languages",
    metavar="L",
    multiple=True,
    help="Of counts: only this language; may be repeated. Of --data: what it is in [default: as file names say].",
)
@click.option("--by", type=click.Choice(["language", "subset"]), default="language", show_default=True)
@click.option("--sizes", type=SizeList(), default=(), help="Also these smaller vocabulary sizes, as 10000,20000.")
@click.option("--metric", "metrics", metavar="NAME", multiple=True, help="Only this metric; may be repeated.")
@click.option("--pivot", metavar="L", help="The documents of --data are parallel: also compare tokens with language L.")
@documents_option
@text_field_option
@threads_option
@click.option("--json", "output", flag_value="json", help="Write one JSON object.")
@click.option("--csv", "output", flag_value="csv", help="Write CSV: a row for each figure.")
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
    pivot: str | None,
    documents: "TextUnit",
    text_field: str,
    threads: int | None,
    output: str | None,
) -> None:
    """Evaluate tokenizers on counts, or on documents: fertility, continued words and more, by language.

    MODEL is a .model file, or a folder that has a tokenizer.model. Each figure comes with its 95 % interval.

    \b
    Examples:
      piecework evaluate out/nordic/tokenizers/* --counts out/nordic
      piecework evaluate out/first out/second --data "eval/*_sv.jsonl" --language sv
      piecework evaluate out/nordic --counts out/nordic --sizes 10000,20000,40000 --csv > sizes.csv
    """
    from piecework.counting.machine import available_cores
    from piecework.evaluation.evaluate import evaluate

    if (counts is None) == (not data):
        raise click.UsageError("give either --counts DIR or --data FILE: the text to evaluate on")
    if pivot is not None and not data:
        raise click.UsageError("--pivot needs --data: documents that say the same in several languages")
    tokenizers = load_models(models)
    thread_count = threads or available_cores()
    parallel: Table | None = None
    if counts is not None:
        source, wanted = _load_counts(counts), list(languages) or None
    else:
        if len(languages) > 1:
            raise click.UsageError("--data takes one --language; without it, file names tell the languages")
        texts = read_texts(terminal, data, language=next(iter(languages), None), unit=documents, field=text_field)
        source, wanted = _count(texts), None
        if pivot is not None:
            from piecework.evaluation.parallel import evaluate_parallel

            parallel = evaluate_parallel(tokenizers, texts, pivot=pivot, threads=thread_count)
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
    terminal.detail(f"evaluated {format_count(len(tokenizers), 'tokenizer')} in {_elapsed(started)}")
    _warn(terminal, evaluation)
    if output == "json":
        _write_json(evaluation, parallel, dict(zip(tokenizers, models, strict=True)))
    elif output == "csv":
        sys.stdout.write(_csv(evaluation, parallel))
    else:
        from piecework.cli.evaluation_tables import show

        show(evaluation, parallel)
    if sys.stdout.isatty() or output is None:
        terminal.suggest("inspect", models[0])


def load_models(paths: Sequence[Path]) -> "dict[str, Tokenizer]":
    """The tokenizers, by the shortest ends of their paths that tell them apart."""
    from piecework import Tokenizer

    return {name: Tokenizer.load(path) for name, path in zip(model_names(paths), paths, strict=True)}


def model_names(paths: Sequence[Path]) -> list[str]:
    """Names for models: the folder of a tokenizer.model, else the file, with as much before it as tells them apart.

    >>> model_names([Path("out/sv/tokenizer.model"), Path("out/da"), Path("old/da"), Path("big.model")])
    ['sv', 'out/da', 'old/da', 'big']
    """
    parts = []
    for path in paths:
        if path.name in ("tokenizer.model", "tokenizer.json"):
            named = path.parent
        else:
            named = path.with_suffix("") if path.is_file() else path
        if named.suffix == ".model":
            named = named.with_suffix("")
        parts.append([part for part in (named if named.name else named.resolve()).parts if part != "/"])
    names = []
    for own in parts:
        others = [other for other in parts if other is not own]
        for count in range(1, len(own) + 1):
            if all(other[-count:] != own[-count:] for other in others):
                break
        names.append("/".join(own[-count:]))
    if len(set(names)) < len(names):
        raise InputError(f"{next(n for n in names if names.count(n) > 1)}: given twice")
    return names


def _load_counts(folder: "Location") -> "UnitSource":
    from piecework.counting.store import Counts

    return Counts.load(folder)


def read_texts(
    terminal: Terminal, paths: Sequence[Path], *, language: str | None, unit: "TextUnit", field: str
) -> dict[str, list[str]]:
    """The documents of these files, by language."""
    from piecework.corpus import Skipped, find_files, open_batches

    files = find_files(paths)
    skipped = Skipped()
    texts: dict[str, list[str]] = {}
    for file in files:
        found = texts.setdefault(language or language_of(file), [])
        for batch in open_batches([file], text_field=field, text_unit=unit, skipped=skipped):
            found += _strings(batch.documents)
    if skipped.total:
        terminal.warn(str(skipped))
    count = sum(map(len, texts.values()))
    if not count:
        raise InputError(f'no document in {format_count(len(files), "file")}; records need a string in "{field}"')
    terminal.say(
        f"read {format_count(count, 'document')} in {', '.join(sorted(texts))} "
        f"({format_bytes(sum(file.size_bytes for file in files))})"
    )
    return texts


def _strings(documents: Any) -> Iterator[str]:
    values = documents if isinstance(documents, list) else documents.to_pylist()
    return (value.decode() if isinstance(value, bytes) else value for value in values)


def language_of(file: "InputFile") -> str:
    """The language that a file's name tells, as in `books_sv.jsonl.zst`, `sv.txt` or `sv/books.txt`; else "text".

    >>> from piecework.corpus.inputs import InputFile
    >>> names = ("law_sv.jsonl.zst", "da/a.txt", "x.py", "x.txt")
    >>> [language_of(InputFile(Path(name), "text", None, 0)) for name in names]
    ['sv', 'da', 'code', 'text']
    """
    import re

    from piecework.corpus.languages import CODE, SOURCE_SUFFIXES, is_language

    if file.path.suffix.lower() in SOURCE_SUFFIXES:
        return CODE
    words = re.split(r"[_.\-]", file.path.name)
    places = [*reversed(words), *reversed(str(file.path.parent).split("/"))]
    return next((word for word in places if is_language(word)), "text")


def _count(texts: dict[str, list[str]]) -> "UnitSource":
    from piecework.evaluation.units import count_units

    return count_units(texts)


def _warn(terminal: Terminal, evaluation: "Evaluation") -> None:
    if missing := evaluation.without_text:
        terminal.warn(f"no evaluation text in {', '.join(missing)}: no figures")
    if few := evaluation.without_intervals:
        terminal.warn(f"too few documents for intervals in {', '.join(few)}")


def _write_json(evaluation: "Evaluation", parallel: "Table | None", models: dict[str, Path]) -> None:
    import orjson

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
        "metrics": evaluation.metrics.rows(),
        "sizes": evaluation.sizes.rows(),
        **({"parallel": parallel.rows()} if parallel is not None else {}),
    }
    sys.stdout.buffer.write(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def _csv(evaluation: "Evaluation", parallel: "Table | None") -> str:
    """All figures in one table; the full size, where it was among the sizes, once."""
    import pyarrow as pa

    from piecework import Table

    full = {name: tokenizer.vocab_size for name, tokenizer in evaluation.tokenizers.items()}
    sizes = evaluation.sizes.to_arrow()
    smaller = [row["vocab_size"] != full[row["tokenizer"]] for row in evaluation.sizes.rows()]
    tables = [evaluation.metrics.to_arrow(), sizes.filter(pa.array(smaller, pa.bool_()))]
    if parallel is not None:
        tables.append(parallel.to_arrow().rename_columns(tables[0].column_names))
    return Table(pa.concat_tables(tables)).to_csv()


def _elapsed(started: float) -> str:
    return format_seconds(time.monotonic() - started)
