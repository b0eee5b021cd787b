"""A sentence of the summary, and the parts that sentences are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import pyarrow as pa

from piecework.common.percent import format_percent
from piecework.common.terms import OVERALL
from piecework.corpus.languages import language_name
from piecework.evaluation.tables import Table

__all__ = ["Sentence", "capitalised", "certainty", "enumerated", "row_name"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the summary; `value` is its number, with the 95 % interval if there is one."""

    topic: str
    sentence: str
    certainty: str
    value: float | None = None
    low: float | None = None
    high: float | None = None

    @classmethod
    def table(cls, sentences: Iterable[Sentence]) -> Table:
        """A row for each sentence."""
        names = [field.name for field in fields(cls)]
        rows = [tuple(getattr(each, name) for name in names) for each in sentences]
        types = {name: pa.string() if index < 3 else pa.float64() for index, name in enumerate(names)}
        return Table.of(names, rows, title="Summary", types=types)


def certainty(interval: tuple[float, float] | None) -> str:
    """The 95 % interval of a share, in words.

    >>> certainty((0.05, 0.071))
    '95 % interval 5 % to 7.1 %'
    """
    if interval is None:
        return "too few documents for an interval"
    low, high = (format_percent(share, digits=2) for share in interval)
    return f"95 % interval {low} to {high}"


def capitalised(language: str) -> str:
    """A language's name at the start of a sentence.

    >>> capitalised("is"), capitalised("code")
    ('Icelandic', 'Code')
    """
    name = language_name(language)
    return name[:1].upper() + name[1:]


def row_name(language: str) -> str:
    """The name of a language in a table; for `overall`, what it contains.

    >>> row_name("sv"), row_name("overall")
    ('Swedish', 'all languages together')
    """
    return "all languages together" if language == OVERALL else language_name(language)


def enumerated(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> enumerated(["Thai"]), enumerated(["Thai", "Lao"]), enumerated(["Thai", "Lao", "Khmer"])
    ('Thai', 'Thai and Lao', 'Thai, Lao and Khmer')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
