"""How many distinct words a larger text has: Heaps' law, fitted on a sample."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

from piecework.counting.tables import DocumentCounter

__all__ = ["Heaps", "TableSize", "table_sizes"]

# Where a sample is too small to tell: natural text has 0.5 to 0.7.
USUAL_EXPONENT = 0.6
FIRST_PART = 4


@dataclass(frozen=True, slots=True)
class Heaps:
    """The law V(n) = V(m) · (n / m)^β of one kind of text, and what a word costs.

    >>> law = Heaps(sample_bytes=1000, sample_words=100, exponent=0.5, memory_bytes=60, stored_bytes=5)
    >>> law.words(100_000)
    1000.0
    """

    sample_bytes: int
    """m: the size of the text that it was fitted on."""
    sample_words: int
    """V(m): its distinct words."""
    exponent: float
    memory_bytes: float
    """Of a distinct word in training."""
    stored_bytes: float
    """Of a distinct word in train.parquet."""

    def words(self, text_bytes: float) -> float:
        """How many distinct words a text of this size would have."""
        return self.sample_words * math.pow(text_bytes / self.sample_bytes, self.exponent) if text_bytes else 0.0

    @classmethod
    def fit(cls, texts: Sequence[bytes]) -> Heaps | None:
        """The law through the first quarter of the documents and all of them; None where they hold no word."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        sizes, words = [], []
        for part in (texts[: max(1, len(texts) // FIRST_PART)], texts):
            counter = DocumentCounter()
            counter.add_training(part)
            memory_bytes = counter.memory_bytes
            table = counter.take()["train"]
            sizes.append(sum(map(len, part)))
            words.append(len(table))
        if not words[1]:
            return None
        exponent = USUAL_EXPONENT
        if sizes[1] > 2 * sizes[0] and words[0]:
            exponent = min(1.0, math.log(words[1] / words[0]) / math.log(sizes[1] / sizes[0]))
        stored = io.BytesIO()
        columns = pa.table({"word": table["word"], "count": table["count"]})
        pq.write_table(
            columns, stored, compression="zstd", use_dictionary=False, column_encoding={"word": "DELTA_BYTE_ARRAY"}
        )
        return cls(
            sample_bytes=sizes[1],
            sample_words=words[1],
            exponent=exponent,
            memory_bytes=memory_bytes / words[1],
            stored_bytes=len(stored.getvalue()) / words[1],
        )


@dataclass(frozen=True, slots=True)
class TableSize:
    """What the table of training words would be for so much text."""

    text_bytes: float
    distinct_words: float
    memory_bytes: float
    stored_bytes: float


def table_sizes(laws: Sequence[tuple[Heaps, float]], text_bytes: float) -> TableSize:
    """The table for a text of this size, of several kinds in these shares."""
    total = sum(share for _, share in laws) or 1.0
    words = [(law, law.words(text_bytes * share / total)) for law, share in laws]
    return TableSize(
        text_bytes=text_bytes,
        distinct_words=sum(count for _, count in words),
        memory_bytes=sum(law.memory_bytes * count for law, count in words),
        stored_bytes=sum(law.stored_bytes * count for law, count in words),
    )
