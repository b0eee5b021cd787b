"""The name of a subset: its category and its language, in that order everywhere."""

from dataclasses import dataclass
from functools import total_ordering

__all__ = ["SubsetName"]


@total_ordering
@dataclass(frozen=True, slots=True)
class SubsetName:
    """Names the documents of one category in one language. Names sort by language, then by category.

    >>> str(SubsetName("books", "sv"))
    'books_sv'
    >>> [str(name) for name in sorted([SubsetName("law", "sv"), SubsetName("wiki", "da"), SubsetName("books", "sv")])]
    ['wiki_da', 'books_sv', 'law_sv']
    """

    category: str
    language: str

    def __str__(self) -> str:
        return f"{self.category}_{self.language}"

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, SubsetName):
            return NotImplemented
        return (self.language, self.category) < (other.language, other.category)
