"""A mistake in a file that a person wrote: where it stands, and what was probably meant."""

import difflib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Mistake", "did_you_mean", "listed"]


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong, and in which line of which file; without a file where there is none.

    >>> str(Mistake('unknown key "sed"; did you mean "seed"?', file="study.toml", line=2))
    'study.toml:2: unknown key "sed"; did you mean "seed"?'
    """

    message: str
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        place = [self.file or "", str(self.line or "")]
        return ": ".join(part for part in (":".join(filter(None, place)), self.message) if part)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: what it resembles, or nothing.

    >>> did_you_mean("characer_coverage", ["vocab_size", "character_coverage"])
    '; did you mean "character_coverage"?'
    """
    by_lower_case = {candidate.casefold(): candidate for candidate in known}
    close = difflib.get_close_matches(name.casefold(), by_lower_case, n=1)
    return f'; did you mean "{by_lower_case[close[0]]}"?' if close else ""


def listed(names: Iterable[str], most: int = 12) -> str:
    """Names in a row, the first of many.

    >>> listed(["da", "sv", "is"], most=2)
    'da, sv and 1 more'
    """
    names = list(names)
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
