"""`piecework validate`: a study as resolved, or all of its mistakes."""

import os
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from piecework.cli.terminal import Terminal, format_bytes, format_count, verbosity_options
from piecework.errors import StudyError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from piecework.study.schema import Study
    from piecework.study.subsets import Subset

__all__ = ["command"]

PLAIN_WIDTH = 110
FEW_DOCUMENTS = 100


@click.command("validate")
@click.argument("study_file", metavar="STUDY.toml", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object, also of a study with mistakes.")
@verbosity_options
@click.pass_obj
def command(terminal: Terminal, study_file: Path, as_json: bool) -> None:
    """Show what STUDY.toml stands for: subsets with their files and weights, the sample, the recipe.

    A study with mistakes is refused with exit code 2, and all of them are shown, each with its line.

    \b
    Examples:
      piecework validate study.toml
      piecework validate study.toml --json | jq '.subsets[] | {name, weight}'
    """
    from piecework.study.schema import Study
    from piecework.study.subsets import find_subsets

    try:
        study = Study.load(study_file)
        subsets = find_subsets(study)
    except StudyError as error:
        if as_json:
            mistakes = [mistake.as_dict() for mistake in error.mistakes]
            _write_json({"file": os.fspath(study_file), "valid": False, "mistakes": mistakes})
        raise
    warnings = list(_warnings(study, subsets))
    if as_json:
        _write_json(_summary(study, subsets, warnings))
    else:
        _show(study, subsets)
    for warning in warnings:
        terminal.warn(warning)
    terminal.suggest("count", study_file, "--dry-run")


def _write_json(content: dict[str, Any]) -> None:
    import orjson

    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    sys.stdout.buffer.write(orjson.dumps(content, option=options))


def _shares(study: "Study", subset: "Subset") -> tuple[Fraction, Fraction]:
    """The shares of a subset's documents that train and evaluate; above 1, documents train more than once."""
    acting = subset.weight if study.sampling.weighting == "documents" else Fraction(subset.weight > 0)
    return acting * study.sampling.train, acting * study.sampling.eval


def _warnings(study: "Study", subsets: Sequence["Subset"]) -> Iterator[str]:
    if study.recipe.vocab_size % 128:
        next_size = -(-study.recipe.vocab_size // 128) * 128
        yield (
            f"vocab_size {study.recipe.vocab_size} is not divisible by 128, which costs a language model speed; "
            f"the next that is: {next_size}"
        )
    if left_out := [str(subset.name) for subset in subsets if not subset.weight]:
        yield f"left out, as their weight is 0: {', '.join(left_out)}"
    for subset in subsets:
        files = [file for file in subset.files if file.size_bytes]
        whole = [file for file in files if file.format == "text"] if subset.documents == "file" else []
        if not files:
            yield f"{subset.name}: all of its files are empty"
        elif len(whole) == len(files) < FEW_DOCUMENTS and subset.weight:
            hint = "" if subset.code_token else '; documents = "line" makes each line one'
            yield f"{subset.name}: {format_count(len(files), 'document')}, one a file, is little to sample from{hint}"


def _summary(study: "Study", subsets: Sequence["Subset"], warnings: list[str]) -> dict[str, Any]:
    from piecework.common.exact import format_exact

    def of_subset(subset: "Subset") -> dict[str, Any]:
        train, evaluation = _shares(study, subset)
        files = [{"path": str(file.path), "size_bytes": file.size_bytes} for file in subset.files]
        return {
            "name": str(subset.name),
            "category": subset.category,
            "language": subset.language,
            "text": subset.text_field,
            "documents": subset.documents,
            "code_token": subset.code_token,
            "weight": format_exact(subset.weight),
            "train": format_exact(train),
            "eval": format_exact(evaluation),
            "size_bytes": subset.size_bytes,
            "files": files,
        }

    settings = study.model_dump(mode="json")
    return {
        "file": study.file,
        "valid": True,
        "name": study.name,
        "seed": study.seed,
        "subsets": [of_subset(subset) for subset in subsets],
        "sampling": settings["sampling"],
        "recipe": settings["recipe"],
        "analysis": settings["analysis"],
        "counting_key": study.counting_key(subsets),
        "warnings": warnings,
    }


def _show(study: "Study", subsets: Sequence["Subset"]) -> None:
    from rich.console import Console, Group
    from rich.padding import Padding
    from rich.text import Text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)
    languages = {subset.language for subset in subsets}
    files = sum(len(subset.files) for subset in subsets)
    size_bytes = sum(subset.size_bytes for subset in subsets)
    title = Text.assemble(
        (study.name, "bold"),
        f"  {format_count(len(subsets), 'subset')} in {format_count(len(languages), 'language')}, "
        f"{format_count(files, 'file')}, {format_bytes(size_bytes)} as stored",
    )
    parts: list[RenderableType] = [title]
    for heading, content in (
        ("Subsets", _subsets_table(study, subsets)),
        ("Settings", _settings_table(study)),
    ):
        parts += ["", Text(heading, style="bold"), Padding(content, (0, 0, 0, 2), expand=False)]
    console.print(Group(*parts))


def _subsets_table(study: "Study", subsets: Sequence["Subset"]) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    from piecework.common.exact import format_exact, format_percent

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("subset", overflow="fold")
    for name in ("files", "size", "weight", "train", "eval"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("read as", overflow="fold")
    for subset in subsets:
        train, evaluation = _shares(study, subset)
        table.add_row(
            Text(str(subset.name)),
            f"{len(subset.files):,}",
            format_bytes(subset.size_bytes),
            format_exact(subset.weight),
            format_percent(train),
            format_percent(evaluation),
            Text(_read_as(subset)),
            style="" if subset.weight else "dim",
        )
    return table


def _read_as(subset: "Subset") -> str:
    formats = {file.format for file in subset.files}
    parts = [f"a document a {subset.documents}"] if "text" in formats else []
    if formats - {"text"}:
        parts.append(f'field "{subset.text_field}"')
    if subset.code_token:
        parts.append(f"after {subset.code_token}")
    return ", ".join(parts)


def _settings_table(study: "Study") -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    from piecework.common.exact import format_percent

    sampling, recipe, analysis = study.sampling, study.recipe, study.analysis
    acting = "documents" if sampling.weighting == "documents" else "word counts"
    sizes = ", ".join(f"{size:,}" for size in sorted(analysis.vocab_sizes) if size != recipe.vocab_size)
    rows = {
        "seed": str(study.seed),
        "sample": f"{format_percent(sampling.train)} to train, {format_percent(sampling.eval)} to evaluate; "
        f"weights act on {acting}",
        "vocabulary": f"{recipe.vocab_size:,} pieces" + (f"; also {sizes}" if sizes else ""),
        "monolingual": "a tokenizer for each language" if analysis.monolingual else "none",
    }
    if analysis.tokenizers:
        rows["compared with"] = ", ".join(analysis.tokenizers)
    for name, value in recipe.sentencepiece_arguments().items():
        if name in recipe.model_fields_set and name != "vocab_size":
            rows[name] = ", ".join(value) if isinstance(value, list) else str(value).lower()
    if recipe.whitespace_runs:
        rows["whitespace_runs"] = recipe.whitespace_runs
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, written in rows.items():
        table.add_row(name, Text(written))
    return table
