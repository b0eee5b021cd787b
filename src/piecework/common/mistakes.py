"""Ends of messages about wrong names: what was probably meant, and which names exist."""

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean", "listed"]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the most similar known name, or nothing.

    >>> did_you_mean("characer_coverage", ["vocab_size", "character_coverage"])
    '; did you mean "character_coverage"?'
    """
    by_lower_case = {candidate.casefold(): candidate for candidate in known}
    close = difflib.get_close_matches(name.casefold(), by_lower_case, n=1)
    return f'; did you mean "{by_lower_case[close[0]]}"?' if close else ""


def listed(names: Iterable[str], most: int = 12) -> str:
    """Joins names with commas; of a long list, the first names and the number of the others.

    >>> listed(["da", "sv", "is"], most=2)
    'da, sv and 1 more'
    """
    names = list(names)
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
