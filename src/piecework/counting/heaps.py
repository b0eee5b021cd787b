"""The number of distinct words in a larger text, by Heaps' law, fitted on a sample."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

from piecework.counting.tables import DocumentCounter
from piecework.study.count_settings import CountSettings

__all__ = ["HeapsLaw", "TableSize", "WordTable", "table_size"]

# Used if a sample is too small to fit the law: natural text has 0.5 to 0.7.
USUAL_EXPONENT = 0.6
FIRST_PART = 4


@dataclass(frozen=True, slots=True)
class HeapsLaw:
    """The number of distinct words in a text of n bytes: V(n) = V(m) · (n / m)^β.

    >>> law = HeapsLaw(sample_bytes=1000, sample_words=100, exponent=0.5)
    >>> law.words(100_000), law.growth(4)
    (1000.0, 2.0)
    """

    sample_bytes: int
    """m: the size of the text that it was fitted on."""
    sample_words: int
    """V(m): the number of its distinct words."""
    exponent: float = USUAL_EXPONENT
    """β."""

    @classmethod
    def through(cls, part: tuple[int, int], whole: tuple[int, int]) -> HeapsLaw:
        """The law through a part of a sample and all of it, each with its bytes and distinct words.

        >>> HeapsLaw.through((1000, 100), (4000, 200)).exponent
        0.5
        """
        (part_bytes, part_words), (sample_bytes, sample_words) = part, whole
        if not part_words or sample_bytes < 1.5 * part_bytes:
            return cls(sample_bytes, sample_words)
        exponent = math.log(sample_words / part_words) / math.log(sample_bytes / part_bytes)
        return cls(sample_bytes, sample_words, min(1.0, exponent))

    def growth(self, factor: float) -> float:
        """The factor by which the distinct words grow if the text grows by `factor`."""
        return math.pow(factor, self.exponent)

    def words(self, text_bytes: float) -> float:
        """The number of distinct words in a text of this size."""
        return self.sample_words * self.growth(text_bytes / self.sample_bytes) if text_bytes else 0.0


@dataclass(frozen=True, slots=True)
class WordTable:
    """The distinct words of one kind of text, and what each costs."""

    law: HeapsLaw
    stored_bytes: float
    """Size of a distinct word in train.parquet."""

    @classmethod
    def fit(cls, texts: Sequence[bytes], settings: CountSettings | None = None) -> WordTable | None:
        """Counts the first quarter of the documents, and all of them; None if they hold no word."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        sizes = []
        for part in (texts[: max(1, len(texts) // FIRST_PART)], texts):
            counter = DocumentCounter(settings)
            counter.add_training(part)
            table = counter.take()["train"]
            sizes.append((sum(map(len, part)), len(table)))
        if not len(table):
            return None
        stored = io.BytesIO()
        columns = pa.table({"word": table["word"], "count": table["count"]})
        pq.write_table(
            columns, stored, compression="zstd", use_dictionary=False, column_encoding={"word": "DELTA_BYTE_ARRAY"}
        )
        return cls(
            HeapsLaw.through(*sizes),
            stored_bytes=len(stored.getvalue()) / len(table),
        )


@dataclass(frozen=True, slots=True)
class TableSize:
    """The size of the table of training words for a text of this size."""

    text_bytes: float
    distinct_words: float
    stored_bytes: float


def table_size(tables: Sequence[tuple[WordTable, float]], text_bytes: float) -> TableSize:
    """The table for a text of this size that mixes several kinds of text in these shares."""
    total = sum(share for _, share in tables) or 1.0
    words = [(table, table.law.words(text_bytes * share / total)) for table, share in tables]
    return TableSize(
        text_bytes=text_bytes,
        distinct_words=sum(count for _, count in words),
        stored_bytes=sum(table.stored_bytes * count for table, count in words),
    )
