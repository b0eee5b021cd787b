"""Monolingual tokenizers: one per language from the same counts, and a ranking of tokenizers by language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from piecework.counting.words import WordCounts
from piecework.errors import InputError, RecipeError, VocabularyTooLargeError
from piecework.evaluation.evaluation import Evaluation
from piecework.evaluation.metrics import find_metrics
from piecework.evaluation.tables import Table
from piecework.study.recipe import Recipe
from piecework.tokenizer.tokenizer import Tokenizer
from piecework.training.trainer import train

__all__ = ["ranking", "train_monolingual"]


class TrainingSource(Protocol):
    """Word counts by language, such as the `Counts` of a study."""

    @property
    def languages(self) -> list[str]:
        """The languages, sorted."""

    def training(self, language: str) -> WordCounts:
        """The words of a language."""


def train_monolingual(
    counts: TrainingSource,
    recipe: Recipe | None = None,
    *,
    languages: Sequence[str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> dict[str, Tokenizer]:
    """Trains one tokenizer per language on the words of that language, all with the same recipe.

    `progress(language, done, wanted)` is called regularly with the number of merges.
    """
    tokenizers = {}
    for language in counts.languages if languages is None else languages:

        def report(done: int, wanted: int, language: str = language) -> None:
            if progress is not None:
                progress(language, done, wanted)

        try:
            tokenizers[language] = train(counts.training(language), recipe, progress=report if progress else None)
        except VocabularyTooLargeError as error:
            raise VocabularyTooLargeError(error.largest, f'the language "{language}": {error}') from error
        except (InputError, RecipeError) as error:
            raise type(error)(f'the language "{language}": {error}') from error
    return tokenizers


def ranking(evaluation: Evaluation, metric: str = "fertility") -> Table:
    """Ranks the tokenizers for each language, the best first; `behind` is the relative difference to the best."""
    chosen = find_metrics([metric])[0]
    if chosen.direction == "none":
        raise InputError(f'"{chosen.name}" has no direction, so it does not rank tokenizers')
    matrix = evaluation.matrix(chosen)
    rows = []
    for row in matrix.rows():
        language = row.pop(evaluation.by)
        known = [(name, value) for name, value in row.items() if value is not None]
        known.sort(key=lambda pair: pair[1] if chosen.direction == "lower" else -pair[1])
        for rank, (name, value) in enumerate(known, 1):
            best = known[0][1]
            rows.append((language, rank, name, value, abs(value - best) / best if best else None))
    return Table.of([evaluation.by, "rank", "tokenizer", "value", "behind"], rows, title=f"{chosen.title}: ranking")
