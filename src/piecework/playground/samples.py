"""The sample texts of a study: its own passages, at least one of each language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from piecework.corpus.languages import language_name

if TYPE_CHECKING:
    from piecework.results.folder import StudyFolder

__all__ = ["samples"]

MOST_SAMPLES = 60
MOST_CHARACTERS = 1_500


def samples(study: StudyFolder) -> list[dict[str, str]]:
    """Name, language and text of each sample, one of every language first."""
    table = study.tables.get("examples")
    if table is None:
        return []
    passages = dict.fromkeys((row["language"], row["category"], row["text"]) for row in table.rows())
    seen: set[str] = set()
    first: list[dict[str, str]] = []
    more: list[dict[str, str]] = []
    for language, category, text in passages:
        is_first = language not in seen
        seen.add(language)
        name = language if is_first else f"{language} {category}"
        sample = {"name": name, "title": language_name(language), "language": language, "text": text[:MOST_CHARACTERS]}
        (first if is_first else more).append(sample)
    return [*first, *more][:MOST_SAMPLES]
