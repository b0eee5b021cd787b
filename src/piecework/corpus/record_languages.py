"""The language of each record, from one of its fields: a file can hold documents of several languages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from piecework.corpus.languages import UNDETERMINED
from piecework.corpus.skipped import Reason, Skipped

__all__ = ["LanguageField", "RecordLanguages"]


@dataclass(frozen=True, slots=True)
class LanguageField:
    """The field with the language of a record, and the languages to read.

    >>> field = LanguageField("lang", frozenset({"sv", "da"}), left_out=frozenset({"is"}))
    >>> field.language_of("sv"), field.language_of("is"), field.language_of("pl"), field.language_of(None)
    ('sv', None, <Reason.OTHER_LANGUAGE: 'language not in the study'>, <Reason.NO_LANGUAGE: 'no language'>)
    """

    name: str
    languages: frozenset[str]
    left_out: frozenset[str] = frozenset()
    """Languages of weight 0: their records are passed over, and do not count as skipped."""

    def language_of(self, value: Any) -> str | Reason | None:
        """The language for a value of the field, the reason to skip its record, or None to pass over it."""
        if not isinstance(value, str) or not value:
            return Reason.NO_LANGUAGE
        if value in self.languages:
            return value
        return None if value in self.left_out else Reason.OTHER_LANGUAGE


class RecordLanguages:
    """Sorts the records of a reader by language, with what was skipped of each.

    A record whose language is unknown counts as skipped under `UNDETERMINED`.
    """

    def __init__(self, field: LanguageField) -> None:
        self.field = field
        self.skipped: dict[str, Skipped] = {}
        self._documents: dict[str, list[str | bytes]] = {}

    def sort(self, record: Any, text: str | Reason) -> tuple[list[str | bytes], Skipped, str | Reason] | None:
        """The documents and skipped records of this record's language, and its text or the reason to skip it."""
        if not isinstance(record, dict):
            return [], self.skipped_of(UNDETERMINED), text
        language = self.field.language_of(record.get(self.field.name))
        if language is None:
            return None
        if isinstance(language, Reason):
            return [], self.skipped_of(UNDETERMINED), language
        return self._documents.setdefault(language, []), self.skipped_of(language), text

    def skipped_of(self, language: str) -> Skipped:
        """The skipped records of a language."""
        return self.skipped.setdefault(language, Skipped())

    def take(self) -> dict[str, list[str | bytes]]:
        """The documents by language since the last call."""
        documents, self._documents = self._documents, {}
        return documents
