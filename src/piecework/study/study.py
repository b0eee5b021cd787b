"""`Study`: the settings of a study, and what follows from them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from piecework.common.exact import format_exact
from piecework.errors import Mistake, StudyError
from piecework.study.explain import explain
from piecework.study.file import load_settings
from piecework.study.recipe import AnyRecipe, Recipe
from piecework.study.schema import StudySettings
from piecework.study.subsets import Subset, find_subsets

__all__ = ["Study"]

# Increase it when the same settings give other counts.
COUNTING_FORMAT = 2


class Study(StudySettings):
    """A study: a corpus, how it is weighted and sampled, the recipe, and what is analysed.

    Only the corpus has to be given; relative paths start at `folder`, which for `Study.load` is that of the file.

    >>> study = Study(corpus={"path": "data/{category}_{language}.jsonl.zst"}, sampling={"train": "5%"})
    >>> study.sampling.train, study.recipe.vocab_size
    (Fraction(1, 20), 64000)
    >>> Study(corpus={"pth": "data/{language}"})
    Traceback (most recent call last):
    piecework.errors.StudyError: unknown key "pth" in [corpus]; did you mean "path"?
    """

    def __init__(self, *, folder: str | os.PathLike[str] = ".", **settings: Any) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise StudyError(Mistake(wrong.message) for wrong in explain(error)) from None
        self._folder = Path(folder)
        self.__dict__["recipe"] = self._placed(self.recipe)
        self.__dict__["recipes"] = {name: self._placed(recipe) for name, recipe in self.recipes.items()}
        if mistakes := [self.mistake(key, message) for key, message in self.inconsistencies()]:
            raise StudyError(mistakes)

    def _placed(self, recipe: AnyRecipe) -> AnyRecipe:
        """The recipe with its path below the study's folder."""
        if isinstance(recipe, Recipe) and (rules := recipe.normalization_rule_tsv):
            return recipe.model_copy(update={"normalization_rule_tsv": str(self._folder / rules)})
        return recipe

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, check_corpus: bool = True) -> Self:
        """Read a study file, or raise a StudyError with all of its mistakes, each with its line.

        Also looks for the files of the corpus, where most mistakes are. `check_corpus=False` leaves that out, for
        counts whose corpus is elsewhere.
        """
        return load_settings(Path(path), cls, check_corpus=check_corpus)

    def counting_key(self, subsets: Sequence[Subset] | None = None) -> str:
        """A hash of all settings that the counts depend on, in hexadecimal.

        Of the recipe only what `count_settings` gives is part of it. The files and their paths are not part of it. The
        subsets are those of `find_subsets`, which is called unless they are given.
        """
        if subsets is None:
            subsets = find_subsets(self)
        return hashlib.sha256(json.dumps(self.counting_settings(subsets), sort_keys=True).encode()).hexdigest()

    def counting_settings(self, subsets: Sequence[Subset]) -> dict[str, Any]:
        """The settings that the counts depend on, for JSON."""
        if self.needs_base:
            raise StudyError([self.mistake(("extend",), "[extend]: the base decides how text is counted: use pw.run")])
        by_counts = self.sampling.weighting == "counts"
        return {
            "format": COUNTING_FORMAT,
            "seed": self.seed,
            "sampling": self.sampling.model_dump(mode="json"),
            **self.recipe.count_settings().described(),
            "subsets": [
                {
                    "category": subset.category,
                    "language": subset.language,
                    "text": subset.text_field,
                    "documents": subset.documents,
                    "code_token": subset.code_token,
                    **({"language_field": subset.language_field} if subset.language_field else {}),
                    # Weights on counts are applied later; a subset of weight 0 is not counted at all.
                    "weight": format_exact(Fraction(subset.weight > 0) if by_counts else subset.weight),
                }
                for subset in sorted(subsets, key=lambda subset: subset.name)
            ],
        }
