"""Records that cannot be used: counted by file and reason, the first few with their place."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["Reason", "Skipped"]

LOCATIONS_KEPT = 3


class Reason(StrEnum):
    """Why a record was left out."""

    MALFORMED_JSON = "malformed JSON"
    NOT_AN_OBJECT = "not an object"
    FIELD_MISSING = "field missing"
    FIELD_NULL = "field null"
    NOT_A_STRING = "not a string"
    INVALID_UTF8 = "invalid UTF-8"
    LONE_SURROGATE = "lone surrogate"
    EMPTY = "empty"


@dataclass(slots=True)
class Skipped:
    """Counts of the records that were left out; those of several readers can be added up.

    >>> skipped = Skipped()
    >>> skipped.add("a.jsonl", Reason.EMPTY, location="a.jsonl:7")
    >>> skipped.by_reason()
    {<Reason.EMPTY: 'empty'>: 1}
    >>> str(skipped)
    '1 record skipped: 1 empty (a.jsonl:7)'
    """

    counts: Counter[tuple[str, Reason]] = field(default_factory=Counter)
    locations: dict[tuple[str, Reason], list[str]] = field(default_factory=dict)

    def add(self, file: str, reason: Reason, *, location: str, count: int = 1) -> None:
        """Count records of one file that were left out for one reason; location is that of the first."""
        self.counts[file, reason] += count
        kept = self.locations.setdefault((file, reason), [])
        if len(kept) < LOCATIONS_KEPT:
            kept.append(location)

    def update(self, other: "Skipped") -> None:
        """Add what another reader left out."""
        self.counts.update(other.counts)
        for key, locations in other.locations.items():
            self.locations[key] = (self.locations.get(key, []) + locations)[:LOCATIONS_KEPT]

    @property
    def total(self) -> int:
        """How many records were left out."""
        return self.counts.total()

    def by_reason(self) -> dict[Reason, int]:
        """The counts of all files together, in the order in which Reason lists them."""
        summed: Counter[Reason] = Counter()
        for (_, reason), count in self.counts.items():
            summed[reason] += count
        return {reason: summed[reason] for reason in Reason if summed[reason]}

    def by_file(self) -> dict[str, dict[Reason, int]]:
        """The counts of each file, files in order of name."""
        files: dict[str, dict[Reason, int]] = {}
        for file, reason in sorted(self.counts, key=lambda key: (key[0], list(Reason).index(key[1]))):
            files.setdefault(file, {})[reason] = self.counts[file, reason]
        return files

    def first_location(self, reason: Reason) -> str:
        """Where the first record with this reason stands, in the first file by name that has one."""
        return self.locations[min(key for key in self.locations if key[1] is reason)][0]

    def __str__(self) -> str:
        if not self.total:
            return "no record skipped"
        counts = self.by_reason().items()
        reasons = ", ".join(f"{count:,} {reason} ({self.first_location(reason)})" for reason, count in counts)
        return f"{self.total:,} record{'s' if self.total > 1 else ''} skipped: {reasons}"
