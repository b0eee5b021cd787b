"""`piecework train --dry-run`: the recipe, the files, and the estimated time and memory."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import orjson

from piecework.cli.output import write_json
from piecework.cli.terminal import Terminal, format_bytes, format_count, format_seconds
from piecework.cli.training_estimate import counted_units, estimate_training
from piecework.corpus import InputFile
from piecework.corpus.fields import needed_field

if TYPE_CHECKING:
    from piecework.study.recipe import AnyRecipe

__all__ = ["show_train_plan"]

LISTED_FILES = 10


def show_train_plan(
    terminal: Terminal,
    recipe: "AnyRecipe",
    files: Sequence[InputFile],
    *,
    text_field: str,
    threads: int,
    as_json: bool,
) -> None:
    """Print the plan to stdout, as text or JSON."""
    estimate = estimate_training(files, recipe=recipe, text_field=text_field, threads=threads)
    settings = recipe.model_dump(mode="json")
    if "max_sentence_length" not in recipe.model_fields_set:
        settings.pop("max_sentence_length", None)  # the default is SentencePiece's; this command leaves out no line
    size_bytes = sum(file.size_bytes for file in files)
    if as_json:
        plan = {
            "recipe": settings,
            "files": [{"path": str(file.path), "size_bytes": file.size_bytes} for file in files],
            "size_bytes": size_bytes,
            "threads": threads,
            "estimate": estimate and asdict(estimate),
        }
        write_json(plan)
        return

    lines = ["recipe"]
    lines += [
        f"  {name} = {'none' if value is None else orjson.dumps(value).decode()}" for name, value in settings.items()
    ]
    lines += ["", f"input: {format_count(len(files), 'file')}, {format_bytes(size_bytes)} to read"]
    listed = files if terminal.verbose else files[:LISTED_FILES]
    lines += [f"  {format_bytes(file.size_bytes):>10}  {file.path}" for file in listed]
    if len(listed) < len(files):
        lines.append(f"  {'':>10}  and {len(files) - len(listed):,} more (-v lists all)")
    lines.append("")
    if estimate is None:
        lines.append(f"estimate: none, because the start of the input has no text; {needed_field(files, text_field)}")
    else:
        total_s = estimate.counting_s + estimate.training_s
        lines += [
            f"estimate, from counting {format_bytes(estimate.sample_bytes)} with {format_count(threads, 'thread')}",
            f"  time    about {format_seconds(total_s)} ({format_seconds(estimate.counting_s)} to count, "
            f"{format_seconds(estimate.training_s)} to train)",
            f"  memory  about {format_bytes(estimate.memory_bytes)}, for {estimate.distinct_words:,} distinct "
            f"{counted_units(recipe)}",
        ]
    print("\n".join(lines), flush=True)
