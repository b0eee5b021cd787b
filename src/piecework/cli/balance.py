"""`piecework balance`: finds weights with which languages cost the same."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from piecework.cli.options import (
    CountType,
    FolderType,
    LocationType,
    ParamType,
    parallel_option,
    pivot_option,
    read_parallel_option,
    text_field_option,
    threads_option,
)
from piecework.cli.output import write_json
from piecework.cli.recipe_options import RECIPES, SENTENCEPIECE
from piecework.cli.terminal import Terminal, format_seconds, verbosity_options
from piecework.counting.machine import available_cores
from piecework.errors import InputError

if TYPE_CHECKING:
    from piecework.balancing.result import Balance
    from piecework.cli.balance_source import Source
    from piecework.common.storage import Location
    from piecework.study.recipe import AnyRecipe

__all__ = ["command"]


class DurationType(ParamType[float]):
    """Seconds, as 90, 90s or 2min."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number of seconds."""
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*(s|min|m|h)?", str(value).strip())
        if not match or not float(match[1]):
            self.fail(f'"{value}" is no time such as 90s or 2min', param, ctx)
        return float(match[1]) * {"s": 1, None: 1, "m": 60, "min": 60, "h": 3600}[match[2]]


class TargetsType(ParamType[dict[str, float]]):
    """Targets such as is=1.10,code=1."""

    name = "targets"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, float]:
        """Return the target of each language."""
        found: dict[str, float] = {}
        for part in str(value).split(","):
            name, equals, number = (each.strip() for each in part.partition("="))
            try:
                if not (name and equals) or name in found:
                    raise ValueError
                found[name] = float(number)
            except ValueError:
                self.fail(f'"{part}": write targets as is=1.10,code=1, each language once', param, ctx)
        return found


@click.command("balance", short_help="Find weights for which every language costs the same.")
@click.argument("source", metavar="STUDY|COUNTS", type=LocationType())
@click.option("-o", "--out", type=FolderType(), help="Folder for the tokenizer, weights.toml and balance.json.")
@click.option("--counts", "counts_folder", type=LocationType(), help="The counts of STUDY [default: out/NAME].")
@click.option(
    "--goal",
    type=click.Choice(["equal", "at-most", "targets"]),
    help="equal: all languages cost the same, so the highest cost is as low as possible. at-most: no language costs "
    "more than --limit. targets: these languages cost what --target says.  [default: equal]",
)
@click.option("--limit", type=float, metavar="COST", help="The highest cost, as 1.05; implies --goal at-most.")
@click.option("--target", "targets", type=TargetsType(), help="As is=1.10,code=1; implies --goal targets.")
@click.option(
    "--metric",
    metavar="NAME",
    help="What a language costs: premium, or a metric of the evaluation sample, such as word_fertility "
    "[default: premium where there is parallel text, else word_fertility].",
)
@parallel_option
@pivot_option
@click.option(
    "--by", type=click.Choice(["language", "subset"]), default="language", show_default=True, help="What gets a weight."
)
@click.option("--budget", type=DurationType(), default="60s", show_default=True, help="CPU time of the trainings.")
@click.option("--vocab-size", type=CountType(), help="Number of pieces, as 64000 or 64k [default: the recipe's].")
@click.option(
    "--preset",
    "--recipe",
    "recipe",
    type=click.Choice(RECIPES),
    help="The recipe [default: the study's; else gpt-sw3, or byte-level with the pre-tokenizer of the counts].",
)
@click.option(
    "--set", "settings", metavar="KEY=VALUE", multiple=True, help="Change a setting of the recipe; may be repeated."
)
@text_field_option
@threads_option
@click.option("--force", is_flag=True, help="Overwrite an existing result.")
@click.option("--json", "as_json", is_flag=True, help="Write the result as a JSON object.")
@verbosity_options
@click.pass_obj
def command(
    terminal: Terminal,
    source: "Location",
    out: Path | None,
    counts_folder: "Location | None",
    goal: str | None,
    limit: float | None,
    targets: dict[str, float] | None,
    metric: str | None,
    parallel: str | None,
    pivot: str | None,
    by: str,
    budget: float,
    vocab_size: int | None,
    recipe: str | None,
    settings: tuple[str, ...],
    text_field: str,
    threads: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Find weights with which languages cost the same. Reads counts, and no document.

    STUDY is a study file that has been counted, COUNTS a folder with counts or results. The cost of a language is its
    premium on parallel text (--parallel, or the study's), or a metric of the evaluation sample. Half of that text
    chooses the weights, the other half gives the costs that are printed. A language without parallel text keeps the
    cost that it has today. Prints the weights for the study file, and the frontier from today's weights to these.

    \b
    Examples:
      piecework balance study.toml --out out/balanced
      piecework balance out/nordic --parallel "par/{language}.txt" --pivot en --out out/balanced
      piecework balance out/nordic --limit 1.05 --vocab-size 32k --budget 2min --out out/balanced
      piecework balance out/bytes --preset gpt4o --vocab-size 64k --out out/balanced
      piecework balance out/nordic --metric word_fertility --target is=1.6 --json
    """
    from piecework.balancing.balance import balance
    from piecework.balancing.output import check_balance_output
    from piecework.cli.balance_source import read_source
    from piecework.cli.balance_tables import show

    if out is not None:
        check_balance_output(out, force=force)
    elif not as_json:
        terminal.warn("no --out DIR: the tokenizer is not saved")
    given = read_parallel_option(parallel, pivot=pivot, text_field=text_field)
    wants_parallel = given is None and metric in (None, "premium")
    found = read_source(source, counts_folder=counts_folder, reads_parallel=wants_parallel)
    result = balance(
        found.counts,
        _recipe(found, recipe, vocab_size, settings),
        goal=_goal(goal, limit, targets),  # type: ignore[arg-type]
        limit=limit,
        targets=targets,
        metric=metric,
        parallel=given or found.parallel,
        by=by,  # type: ignore[arg-type]
        budget_s=budget,
        threads=threads or available_cores(),
        progress=lambda _done, message: terminal.say(message),
    )
    _report(terminal, result)
    if out is not None:
        for path in result.save(out, force=force):
            terminal.say(f"wrote {path}")
    if as_json:
        write_json(result.as_json())
    else:
        show(result)
    if out is not None:
        terminal.suggest("inspect", out)
    else:
        terminal.suggest("balance", str(source), "--out", "out/balanced")


def _goal(goal: str | None, limit: float | None, targets: dict[str, float] | None) -> str:
    return goal or ("at-most" if limit is not None else "targets" if targets else "equal")


def _recipe(found: "Source", name: str | None, vocab_size: int | None, settings: tuple[str, ...]) -> "AnyRecipe":
    """The study's recipe with the settings given, or the named one."""
    from piecework.cli.recipe_options import resolve_recipe
    from piecework.study.byte_level_recipe import ByteLevelRecipe

    cut = found.counts.pre_tokenizer
    if found.study is None or name is not None:
        recipe = resolve_recipe(name or ("byte-level" if cut else SENTENCEPIECE[0]), vocab_size, settings)
        if name is None and isinstance(recipe, ByteLevelRecipe) and "pre_tokenizer" not in recipe.model_fields_set:
            return recipe.model_copy(update={"pre_tokenizer": cut})
        return recipe
    if found.study.extend is not None:
        raise InputError("balance trains tokenizers from nothing, and this study extends one; give --preset")
    own: Any = found.study.recipe
    if not settings and vocab_size is None:
        return found.study.recipe
    changes = resolve_recipe("byte-level" if isinstance(own, ByteLevelRecipe) else "plain", vocab_size, settings)
    kept = {key: getattr(own, key) for key in own.model_fields_set}
    changed = {key: getattr(changes, key) for key in changes.model_fields_set}
    changed_recipe: AnyRecipe = type(own)(**{**kept, **changed})
    return changed_recipe


def _report(terminal: Terminal, result: "Balance") -> None:
    terminal.say(
        f"{result.trainings} trainings in {format_seconds(result.elapsed_s)} ({format_seconds(result.cpu_s)} of CPU)"
    )
    for note in result.notes:
        terminal.say(f"note: {note}")
    match result.stopped:
        case "time":
            terminal.warn("the budget is spent before the goal is met; give a larger --budget")
        case "out of reach":
            names = ", ".join(result.out_of_reach)
            terminal.warn(
                f"the goal ({result.goal}) cannot be met by weights: {names} has reached the largest change; "
                "these are the closest weights"
            )
        case "no progress":
            terminal.warn(
                f"the goal ({result.goal}) is not met: further trainings brought no progress; these are the closest "
                "weights"
            )
