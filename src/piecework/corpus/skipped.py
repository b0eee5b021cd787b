"""Records that cannot be used: counted by file and reason, with the location of the first few."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from piecework.common.subset_name import SubsetName

__all__ = ["LOCATIONS_KEPT", "Reason", "Skipped", "skipped_rows"]

LOCATIONS_KEPT = 3


class Reason(StrEnum):
    """Why a record is skipped."""

    MALFORMED_JSON = "malformed JSON"
    NOT_AN_OBJECT = "not an object"
    FIELD_MISSING = "field missing"
    FIELD_NULL = "field null"
    NOT_A_STRING = "not a string"
    INVALID_UTF8 = "invalid UTF-8"
    LONE_SURROGATE = "lone surrogate"
    EMPTY = "empty"
    TOO_LONG = "document too long"
    WORD_TOO_LONG = "word too long"
    NO_LANGUAGE = "no language"
    OTHER_LANGUAGE = "language not in the study"


@dataclass(slots=True)
class Skipped:
    """Counts of the records that were skipped. The counts of several readers can be added up.

    >>> skipped = Skipped()
    >>> skipped.add("a.jsonl", Reason.EMPTY, [7])
    >>> skipped.by_reason()
    {<Reason.EMPTY: 'empty'>: 1}
    >>> str(skipped)
    '1 record skipped: 1 empty (a.jsonl:7)'
    """

    counts: Counter[tuple[str, Reason]] = field(default_factory=Counter)
    numbers: dict[tuple[str, Reason], list[int]] = field(default_factory=dict)
    """The first few, by file and reason: numbers of lines, or of rows of Parquet, from 1. 0 is the whole file."""

    def add(self, file: str, reason: Reason, numbers: Sequence[int], *, count: int | None = None) -> None:
        """Count records of one file that were skipped for one reason; `numbers` are at least the first few."""
        key = (file, reason)
        self.counts[key] += len(numbers) if count is None else count
        kept = self.numbers.get(key)
        if kept is None:
            self.numbers[key] = list(numbers[:LOCATIONS_KEPT])
        elif len(kept) < LOCATIONS_KEPT:
            kept.extend(numbers[: LOCATIONS_KEPT - len(kept)])

    def update(self, other: "Skipped", *, lines_before: int = 0) -> None:
        """Add what another reader skipped: in other files, or `lines_before` lines further on."""
        self.counts.update(other.counts)
        for key, numbers in other.numbers.items():
            kept = self.numbers.get(key, []) + [number + lines_before for number in numbers]
            self.numbers[key] = kept[:LOCATIONS_KEPT]

    @property
    def total(self) -> int:
        """The number of records that were skipped."""
        return self.counts.total()

    def by_reason(self) -> dict[Reason, int]:
        """The counts of all files together, in the order of Reason."""
        return {reason: count for reason in Reason if (count := self._count(reason))}

    def by_file(self) -> dict[str, dict[Reason, int]]:
        """The counts of each file, files in order of name."""
        files: dict[str, dict[Reason, int]] = {}
        for file, reason in sorted(self.counts, key=lambda key: (key[0], list(Reason).index(key[1]))):
            files.setdefault(file, {})[reason] = self.counts[file, reason]
        return files

    def locations(self, reason: Reason) -> list[str]:
        """The first few records with this reason, files in order of name, in a form that editors and people can use."""
        keys = sorted(key for key in self.numbers if key[1] is reason)
        found = (_location(file, number) for file, _ in keys for number in self.numbers[file, reason])
        return [location for _, location in zip(range(LOCATIONS_KEPT), found, strict=False)]

    def __str__(self) -> str:
        if not self.total:
            return "no record skipped"
        counts = self.by_reason().items()
        reasons = ", ".join(f"{count:,} {reason} ({self.locations(reason)[0]})" for reason, count in counts)
        return f"{self.total:,} record{'s' if self.total > 1 else ''} skipped: {reasons}"

    def _count(self, reason: Reason) -> int:
        return sum(count for (_, why), count in self.counts.items() if why is reason)


def skipped_rows(by_subset: Mapping[SubsetName, Skipped]) -> list[dict[str, Any]]:
    """One row for each subset and reason, as the descriptions of counts and datasets have them."""
    return [
        {
            "category": name.category,
            "language": name.language,
            "reason": str(reason),
            "records": records,
            "first": skipped.locations(reason),
        }
        for name, skipped in sorted(by_subset.items())
        for reason, records in skipped.by_reason().items()
    ]


def _location(file: str, number: int) -> str:
    if not number:
        return file
    return f"{file}: row {number}" if file.lower().endswith(".parquet") else f"{file}:{number}"
