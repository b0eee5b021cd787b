"""Records that cannot be used: counted by file and reason, the first few with their place."""

from collections import Counter
from collections.abc import Sequence
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
    >>> skipped.add("a.jsonl", Reason.EMPTY, [7])
    >>> skipped.by_reason()
    {<Reason.EMPTY: 'empty'>: 1}
    >>> str(skipped)
    '1 record skipped: 1 empty (a.jsonl:7)'
    """

    counts: Counter[tuple[str, Reason]] = field(default_factory=Counter)
    places: dict[tuple[str, Reason], list[int]] = field(default_factory=dict)
    """The first few, by file and reason: lines, or rows of Parquet, from 1 on. 0 is the file as a whole."""

    def add(self, file: str, reason: Reason, places: Sequence[int], *, count: int | None = None) -> None:
        """Count records of one file that were left out for one reason; `places` are at least the first few."""
        self.counts[file, reason] += len(places) if count is None else count
        kept = self.places.setdefault((file, reason), [])
        kept.extend(places[: LOCATIONS_KEPT - len(kept)])

    def update(self, other: "Skipped", *, lines_before: int = 0) -> None:
        """Add what another reader left out, of other files or of what comes `lines_before` lines later."""
        self.counts.update(other.counts)
        for key, places in other.places.items():
            kept = self.places.get(key, []) + [place + lines_before for place in places]
            self.places[key] = kept[:LOCATIONS_KEPT]

    @property
    def total(self) -> int:
        """How many records were left out."""
        return self.counts.total()

    @property
    def locations(self) -> dict[tuple[str, Reason], list[str]]:
        """Where the first few stand, by file and reason, as an editor or a person finds them."""
        return {key: [_location(key[0], place) for place in places] for key, places in self.places.items()}

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
        file, _ = key = min(key for key in self.places if key[1] is reason)
        return _location(file, self.places[key][0])

    def __str__(self) -> str:
        if not self.total:
            return "no record skipped"
        counts = self.by_reason().items()
        reasons = ", ".join(f"{count:,} {reason} ({self.first_location(reason)})" for reason, count in counts)
        return f"{self.total:,} record{'s' if self.total > 1 else ''} skipped: {reasons}"


def _location(file: str, place: int) -> str:
    if not place:
        return file
    return f"{file}: row {place}" if file.lower().endswith(".parquet") else f"{file}:{place}"
