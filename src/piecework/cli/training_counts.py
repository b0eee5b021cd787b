"""`--counts DIR` and its options: the word counts of a study, with other weights, loaded or read in a stream."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from piecework.cli.terminal import Terminal, format_bytes, format_count
from piecework.cli.training_estimate import check_memory, loaded_training_bytes, streamed_training_bytes
from piecework.common.exact import parse_exact
from piecework.common.mistakes import did_you_mean, listed
from piecework.errors import RecipeError

if TYPE_CHECKING:
    from piecework.common.storage import Location
    from piecework.common.subset_name import SubsetName
    from piecework.counting.pre_tokens import PreTokenCounts
    from piecework.counting.store import Counts
    from piecework.counting.stream import WordStream
    from piecework.counting.words import WordCounts
    from piecework.study.recipe import AnyRecipe

__all__ = ["load_training_counts", "resolve_weights"]


# Larger tables are read again for each pass of training, and are never in memory as a whole.
STREAMED_ROWS = 2_000_000


def load_training_counts(
    terminal: Terminal,
    folder: Location,
    languages: Sequence[str],
    weights: Sequence[str],
    recipe: AnyRecipe,
    *,
    min_count: int = 0,
    memory_bytes: int | None = None,
) -> WordCounts | WordStream | PreTokenCounts:
    """The words or pre-tokens of these languages, or of all, each subset multiplied by its weight.

    They are loaded, or read in a stream if they are many or memory is limited. Says what training will need.
    """
    from piecework.counting.store import Counts

    counts = Counts.load(folder)
    made_with = counts.description["settings"].get("clean_up")
    wanted = recipe.count_settings().clean_up
    if "clean_up" in recipe.model_fields_set and wanted != made_with:
        raise RecipeError(
            f"clean_up = {wanted or 'none'}: the counts in {folder} were made with clean_up ="
            f" {made_with or 'none'}. Documents are cleaned before they are counted: set clean_up in [recipe] of the"
            " study and count again, or leave it out here"
        )
    chosen, resolved = list(languages) or None, resolve_weights(counts, weights)
    if counts.pre_tokenizer is None and min_count <= 1 and (memory_bytes or counts.training_rows >= STREAMED_ROWS):
        stream = counts.training_stream(language=chosen, weights=resolved)
        _check_training(terminal, streamed_training_bytes(stream.rows), stream.rows, memory_bytes)
        return stream
    if memory_bytes:
        needed = loaded_training_bytes(counts.training_rows)
        _check_training(terminal, needed, counts.training_rows, memory_bytes)
    loaded = counts.training(language=chosen, weights=resolved, min_count=min_count)
    noun = "distinct word" if counts.pre_tokenizer is None else "distinct pre-token"
    terminal.say(f"loaded {format_count(len(loaded), noun)} of {loaded.total:,} from {folder}")
    return loaded


def _check_training(terminal: Terminal, needed_bytes: int, rows: int, limit_bytes: int | None) -> None:
    """Say what training will need, and refuse if it is above the limit."""
    terminal.say(f"training on {format_count(rows, 'row')} needs about {format_bytes(needed_bytes)} of memory")
    check_memory(terminal, needed_bytes, limit_bytes, fix="choose fewer languages (--language)")


def resolve_weights(counts: Counts, weights: Sequence[str]) -> dict[SubsetName, Fraction] | None:
    """Multiply the study's weights by the given ones; None if none is given.

    NAME is a language, a category, or a subset as <category>_<language>. Weights of the same subset multiply.
    """
    if not weights:
        return None
    resolved = {
        subset: weight if counts.weighting == "counts" else Fraction(1) for subset, weight in counts.weights.items()
    }
    problems = []
    for given in weights:
        name, equals, value = given.partition("=")
        matching = [subset for subset in resolved if name in (subset.language, subset.category, str(subset))]
        try:
            factor = parse_exact(value)
            if not equals or factor < 0:
                raise ValueError("should be 0 or more")
        except ValueError as error:
            problems.append(f'"--weight {given}": the weight {error}; write it as is=3 or law_sv=0.5')
            continue
        if not matching:
            names = sorted({part for subset in resolved for part in (subset.language, subset.category)})
            hint = did_you_mean(name, names) or f"; the counts have {listed(names)}"
            problems.append(f'"--weight {given}": no language, category or subset is called "{name}"{hint}')
        for subset in matching:
            resolved[subset] *= factor
    if problems:
        raise RecipeError("\n".join(problems))
    return resolved
