"""`piecework validate`: show a study as resolved, or all of its mistakes."""

import os
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from piecework.cli.output import new_table, stdout_console, titled_sections, write_json
from piecework.cli.terminal import Terminal, format_bytes, format_count, verbosity_options
from piecework.errors import StudyError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from piecework.study.recipe import AnyRecipe
    from piecework.study.study import Study
    from piecework.study.subsets import Subset

__all__ = ["command"]

FEW_DOCUMENTS = 100
MOST_LISTED = 6


@click.command("validate", short_help="Show a study as resolved, or all of its mistakes.")
@click.argument("study_file", metavar="STUDY.toml", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object, also for a study with mistakes.")
@verbosity_options
@click.pass_obj
def command(terminal: Terminal, study_file: Path, as_json: bool) -> None:
    """Show STUDY.toml as resolved: subsets with files and weights, the sample, the recipe.

    A study with mistakes gives exit code 2; all mistakes are listed with their lines.

    \b
    Examples:
      piecework validate study.toml
      piecework validate study.toml --json | jq '.subsets[] | {name, weight}'
    """
    from piecework.counting.shards import check_regular
    from piecework.study.study import Study
    from piecework.study.subsets import distinct_files, find_subsets
    from piecework.training.base import with_base

    try:
        study = with_base(Study.load(study_file))
        subsets = find_subsets(study)
    except StudyError as error:
        if as_json:
            mistakes = [mistake.as_dict() for mistake in error.mistakes]
            write_json({"file": os.fspath(study_file), "valid": False, "mistakes": mistakes})
        raise
    for file in distinct_files(subsets):
        check_regular(file)
    warnings = list(_warnings(study, subsets))
    if as_json:
        write_json(_summary(study, subsets, warnings))
    else:
        _show(study, subsets)
    for warning in warnings:
        terminal.warn(warning)
    terminal.suggest("count", study_file, "--dry-run")


def _shares(study: "Study", subset: "Subset") -> tuple[Fraction, Fraction]:
    """Return the shares of a subset's documents to train and to evaluate on; above 1, documents are used repeatedly."""
    acting = subset.weight if study.sampling.weighting == "documents" else Fraction(subset.weight > 0)
    return acting * study.sampling.train, acting * study.sampling.eval


def _warnings(study: "Study", subsets: Sequence["Subset"]) -> Iterator[str]:
    if study.recipe.vocab_size % 128:
        next_size = -(-study.recipe.vocab_size // 128) * 128
        yield (
            f"vocab_size {study.recipe.vocab_size} is not divisible by 128, which makes language models slower; "
            f"the next multiple is {next_size}"
        )
    if left_out := [str(subset.name) for subset in subsets if not subset.weight]:
        yield f"left out because their weight is 0: {', '.join(left_out)}"
    yield from _language_warnings(subsets)
    few: dict[str, list[str]] = {}
    for subset in subsets:
        if (fields := _fields(subset)) is not None and subset.text_field not in fields:
            there = f"; its fields with text are {', '.join(fields)}" if fields else ""
            yield f'{subset.name}: no field "{subset.text_field}" in its first records{there}'
        files = [file for file in subset.files if file.size_bytes]
        whole = [file for file in files if file.format == "text"] if subset.documents == "file" else []
        if not files:
            yield f"{subset.name}: all of its files are empty"
        elif len(whole) == len(files) < FEW_DOCUMENTS and subset.weight:
            hint = "" if subset.code_token else '; set documents = "line" if each line is a document'
            few.setdefault(hint, []).append(f"{subset.name} {len(files):,}")
    for hint, subsets_with_few in few.items():
        yield f"little to sample from, with one document per file: {_listed(subsets_with_few)}{hint}"


def _listed(items: Sequence[str]) -> str:
    rest = len(items) - MOST_LISTED
    return ", ".join(items[:MOST_LISTED]) + (f" and {rest:,} more" if rest > 0 else "")


def _language_warnings(subsets: Sequence["Subset"]) -> Iterator[str]:
    """Compare the languages in a field with those of the study, as far as the first records show them."""
    from piecework.corpus.fields import found_languages

    fields: dict[tuple[str, str], list[Subset]] = {}
    for subset in subsets:
        if subset.language_field:
            fields.setdefault((subset.category, subset.language_field), []).append(subset)
    for (category, field), sharing in fields.items():
        known = {subset.language for subset in sharing}
        found = set(found_languages(sharing[0].files, field))
        if others := sorted(found - known):
            others_listed = ", ".join(others)
            yield f'{category}: records with "{field}" {others_listed} are skipped; `languages` does not have them'
        if missing := sorted(known - found):
            yield f'{category}: no record that was looked at has {", ".join(missing)} in "{field}"'


def _fields(subset: "Subset") -> list[str] | None:
    """Return the fields that hold text in the first records of a subset; None if it has plain text only."""
    from piecework.corpus.fields import guess_text_field

    files = [file for file in subset.files if file.format != "text" and file.size_bytes]
    return guess_text_field(files)[1] if files else None


def _summary(study: "Study", subsets: Sequence["Subset"], warnings: list[str]) -> dict[str, Any]:
    from piecework.common.exact import format_exact

    def record(subset: "Subset") -> dict[str, Any]:
        train, evaluation = _shares(study, subset)
        files = [{"path": str(file.path), "size_bytes": file.size_bytes} for file in subset.files]
        return {
            "name": str(subset.name),
            "category": subset.category,
            "language": subset.language,
            "text": subset.text_field,
            "language_field": subset.language_field,
            "fields": _fields(subset),
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
        "subsets": list(map(record, subsets)),
        "sampling": settings["sampling"],
        "recipe": settings["recipe"],
        "analysis": settings["analysis"],
        "counting_key": study.counting_key(subsets),
        "warnings": warnings,
    }


def _show(study: "Study", subsets: Sequence["Subset"]) -> None:
    from rich.text import Text

    from piecework.study.subsets import distinct_files

    languages = {subset.language for subset in subsets}
    files = distinct_files(subsets)
    size_bytes = sum(file.size_bytes for file in files)
    title = Text.assemble(
        (study.name, "bold"),
        f"  {format_count(len(subsets), 'subset')} in {format_count(len(languages), 'language')}, "
        f"{format_count(len(files), 'file')}, {format_bytes(size_bytes)} as stored",
    )
    sections = (("Subsets", _subsets_table(study, subsets)), ("Settings", _settings_table(study)))
    stdout_console().print(titled_sections(title, sections))


def _subsets_table(study: "Study", subsets: Sequence["Subset"]) -> "RenderableType":
    from rich.text import Text

    from piecework.common.exact import format_exact, format_percent

    table = new_table()
    table.add_column("subset", overflow="fold")
    for name in ("files", "size", "weight", "train", "eval"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("read as", overflow="fold")
    for subset in subsets:
        train, evaluation = _shares(study, subset)
        table.add_row(
            Text(str(subset.name)),
            f"{len(subset.files):,}",
            "shared" if subset.language_field else format_bytes(subset.size_bytes),
            format_exact(subset.weight),
            format_percent(train),
            format_percent(evaluation),
            Text(_read_as(subset)),
            style="" if subset.weight else "dim",
        )
    return table


def _read_as(subset: "Subset") -> str:
    formats = {file.format for file in subset.files}
    parts = [f"one document per {subset.documents}"] if "text" in formats else []
    if formats - {"text"}:
        parts.append(f'field "{subset.text_field}"')
    if subset.language_field:
        parts.append(f'where "{subset.language_field}" is {subset.language}')
    if subset.code_token:
        parts.append(f"after {subset.code_token}")
    return ", ".join(parts)


def _recipe_rows(recipe: "AnyRecipe") -> dict[str, str]:
    from piecework.study.byte_level_recipe import ByteLevelRecipe

    if isinstance(recipe, ByteLevelRecipe):
        named = {
            "kind": "byte-level BPE",
            **recipe.cut_settings,
            "special_tokens": ", ".join(recipe.special_tokens),
        }
        further = ("min_frequency", "max_token_length", "hard_vocab_limit")
        named |= {name: str(getattr(recipe, name)).lower() for name in further if name in recipe.model_fields_set}
        return {name: value for name, value in named.items() if value}
    rows = {
        name: ", ".join(value) if isinstance(value, list) else str(value).lower()
        for name, value in recipe.sentencepiece_arguments().items()
        if name in recipe.model_fields_set and name != "vocab_size"
    }
    return rows | ({"whitespace_runs": recipe.whitespace_runs} if recipe.whitespace_runs else {})


def _settings_table(study: "Study") -> "RenderableType":
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
        **({"extends": f"{study.extend.base}, by {study.extend.add:,} pieces"} if study.extend else {}),
        "monolingual": "a tokenizer for each language" if analysis.monolingual else "none",
    }
    if analysis.tokenizers:
        rows["compared with"] = ", ".join(analysis.tokenizers)
    rows |= _recipe_rows(recipe)
    table = new_table(show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, written in rows.items():
        table.add_row(name, Text(written))
    return table
