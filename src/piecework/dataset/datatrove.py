"""Writes the `.ds` files of datatrove and nanotron.

`.ds` has the ids of all documents, as uint16 or uint32; `.ds.index` the end of each document in ids, as uint64;
`.ds.metadata` three lines: the tokenizer with the bytes of an id, the number of ids, and that number with a unit.
"""

from __future__ import annotations

from math import floor, log10
from pathlib import Path

from piecework.dataset.raw_files import HashedFile, Lengths, WrittenFile

__all__ = ["DatatroveWriter", "unsigned_width"]


def unsigned_width(vocab_size: int) -> int:
    """The bytes of an id: 2 as long as all of them fit.

    >>> unsigned_width(65_536), unsigned_width(65_537)
    (2, 4)
    """
    return 2 if vocab_size <= 1 << 16 else 4


class DatatroveWriter:
    """Writes one `.ds` with its index and metadata."""

    def __init__(self, stem: Path, width: int, tokenizer: str) -> None:
        self._stem = stem
        self._width = width
        self._tokenizer = tokenizer
        self._ids = HashedFile(Path(f"{stem}.ds"))
        self._lengths = Lengths(Path(f"{stem}.lengths"))

    def add(self, ids: bytes | memoryview, lengths: bytes) -> None:
        """Add documents."""
        self._ids.write(ids)
        self._lengths.add(lengths)

    def close(self) -> list[WrittenFile]:
        """Finish the three files."""
        lengths = self._lengths
        lengths.finish()
        with (
            HashedFile(Path(f"{self._stem}.ds.index")) as index,
            HashedFile(Path(f"{self._stem}.ds.metadata")) as metadata,
        ):
            for document_ends in lengths.document_ends():
                index.write(document_ends)
            lines = (f"{self._tokenizer}|{self._width}", str(lengths.tokens), readable_tokens(lengths.tokens))
            metadata.write("\n".join(lines).encode())
            lengths.remove()
            return [self._ids.close(".ds"), index.close(".ds.index"), metadata.close(".ds.metadata")]


def readable_tokens(tokens: int) -> str:
    """The number with three digits and a unit.

    >>> [readable_tokens(tokens) for tokens in (0, 15, 1_234, 56_789_000_000)]
    ['0.00 T', '15.0 T', '1.23 kT', '56.8 GT']
    """
    exponent = floor(log10(tokens)) if tokens else 0
    thousands = exponent // 3
    value = tokens / 10 ** (3 * thousands)
    return f"{value:.{2 - exponent % 3}f} {('', 'k', 'M', 'G', 'T', 'P', 'E')[thousands]}T"
