"""`--counts DIR`, `--language L` and `--weight NAME=VALUE`: training counts of a study, weighted anew."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from fractions import Fraction
from typing import TYPE_CHECKING

from piecework.common.exact import parse_exact
from piecework.errors import RecipeError

if TYPE_CHECKING:
    from piecework.common.storage import Location
    from piecework.common.subset_name import SubsetName
    from piecework.counting.store import Counts
    from piecework.counting.words import WordCounts
    from piecework.study.recipe import Recipe

__all__ = ["load_training", "resolve_weights"]


def load_training(
    folder: Location, languages: Sequence[str], weights: Sequence[str], recipe: Recipe, *, min_count: int = 0
) -> WordCounts:
    """The words of these languages, or of all, each subset times its weight; cleaned up as the recipe has it."""
    from piecework.counting.store import Counts

    counts = Counts.load(folder)
    made_with = counts.description["settings"].get("clean_up")
    if "clean_up" in recipe.model_fields_set and recipe.clean_up != made_with:
        raise RecipeError(
            f"clean_up = {recipe.clean_up or 'none'}: the counts in {folder} were made with clean_up ="
            f" {made_with or 'none'}, which is done when documents are read; set it in [recipe] of the study and count"
            " again, or leave it out"
        )
    return counts.training(
        language=list(languages) or None, weights=resolve_weights(counts, weights), min_count=min_count
    )


def resolve_weights(counts: Counts, weights: Sequence[str]) -> dict[SubsetName, Fraction] | None:
    """The study's weights with the given ones on top; None where none is given.

    NAME is a language, a category, or a subset as <category>_<language>. Weights that fit the same subset multiply.
    """
    if not weights:
        return None
    resolved = {
        subset: weight if counts.weighting == "counts" else Fraction(1) for subset, weight in counts.weights.items()
    }
    problems = []
    for given in weights:
        name, equals, value = given.partition("=")
        fitting = [subset for subset in resolved if name in (subset.language, subset.category, str(subset))]
        try:
            factor = parse_exact(value)
            if not equals or factor < 0:
                raise ValueError("should be 0 or more")
        except ValueError as error:
            problems.append(f'"--weight {given}": the weight {error}; write it as is=3 or law_sv=0.5')
            continue
        if not fitting:
            names = sorted({part for subset in resolved for part in (subset.language, subset.category)})
            near = get_close_matches(name, names, n=1)
            hint = f'did you mean "{near[0]}"?' if near else f"there is {', '.join(names)}"
            problems.append(f'"--weight {given}": no language, category or subset "{name}"; {hint}')
        for subset in fitting:
            resolved[subset] *= factor
    if problems:
        raise RecipeError("\n".join(problems))
    return resolved
