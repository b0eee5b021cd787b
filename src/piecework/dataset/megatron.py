"""Writes the `.bin` and `.idx` files of Megatron-LM, NeMo and GPT-NeoX.

`.bin` has the ids of all documents, one after the other. `.idx`, little-endian:

    9 bytes   MMIDIDX and two zeros
    uint64    version, 1
    uint8     type of the ids: 8 is uint16, 4 is int32
    uint64    S, the number of sequences; here one for each document
    uint64    D + 1, where D is the number of documents
    int32     S lengths in ids
    int64     S offsets in bytes
    int64     D + 1 numbers of sequences: document d has those from entry d up to entry d + 1

So three documents of 2, 0 and 5 ids take 34 + 3·4 + 3·8 + 4·8 = 102 bytes. Megatron takes uint16 for a vocabulary below
65,500 pieces, and so do we.
"""

from __future__ import annotations

import struct
from array import array
from pathlib import Path

from piecework.dataset.raw_files import BLOCK, HashedFile, Lengths, WrittenFile

__all__ = ["MegatronWriter", "megatron_width"]

MAGIC = b"MMIDIDX\x00\x00"
TYPES = {2: 8, 4: 4}
SMALL_VOCABULARY = 65_500


def megatron_width(vocab_size: int) -> int:
    """The bytes of an id.

    >>> megatron_width(64_000), megatron_width(65_500)
    (2, 4)
    """
    return 2 if vocab_size < SMALL_VOCABULARY else 4


class MegatronWriter:
    """Writes one `.bin` with its `.idx`."""

    def __init__(self, stem: Path, width: int, _tokenizer: str) -> None:
        self._stem = stem
        self._width = width
        self._ids = HashedFile(Path(f"{stem}.bin"))
        self._lengths = Lengths(Path(f"{stem}.lengths"))

    def add(self, ids: bytes | memoryview, lengths: bytes) -> None:
        """Add documents."""
        self._ids.write(ids)
        self._lengths.add(lengths)

    def close(self) -> list[WrittenFile]:
        """Finish the two files."""
        lengths = self._lengths
        lengths.finish()
        documents = lengths.documents
        with HashedFile(Path(f"{self._stem}.idx")) as index:
            index.write(MAGIC + struct.pack("<QBQQ", 1, TYPES[self._width], documents, documents + 1))
            for block in lengths.blocks():
                index.write(block)
            for starts in lengths.starts(scale=self._width):
                index.write(starts)
            for first in range(0, documents + 1, BLOCK):
                index.write(array("q", range(first, min(first + BLOCK, documents + 1))))
            lengths.remove()
            return [self._ids.close(".bin"), index.close(".idx")]
