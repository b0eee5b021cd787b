"""Files of a shard that grow while documents are added: ids one after the other, and the length of each document."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

__all__ = ["HashedFile", "Lengths", "ShardWriter", "WrittenFile", "sha256_of_file"]

from dataclasses import dataclass

# Lengths are read back in blocks of this many, so that memory does not grow with the number of documents.
BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file of a shard: how its name ends, its size and its SHA-256."""

    suffix: str
    size_bytes: int
    checksum: str

    @classmethod
    def at(cls, path: Path, suffix: str) -> Self:
        """The file that was written at this path; it is read again."""
        return cls(suffix, path.stat().st_size, sha256_of_file(path))

    def is_whole(self, path: Path) -> bool:
        """Whether the file at this path is still as it was written."""
        return path.is_file() and path.stat().st_size == self.size_bytes and sha256_of_file(path) == self.checksum


def sha256_of_file(path: Path) -> str:
    """The checksum of a file. Processors have instructions for SHA-256: it takes half the time of BLAKE2b."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class ShardWriter(Protocol):
    """Writes the files of one shard. Memory does not grow with the number of documents."""

    def add(self, ids: bytes | memoryview, lengths: bytes) -> None:
        """Add documents: their ids one after the other, and the number of ids of each as uint32."""

    def close(self) -> list[WrittenFile]:
        """Finish the files."""


class HashedFile:
    """A file that knows its size and checksum when it is closed, without being read again."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._digest = hashlib.sha256()
        self.size_bytes = 0

    def write(self, data: bytes | memoryview | array[int]) -> None:
        """Append the data."""
        self._file.write(data)
        self._digest.update(data)
        self.size_bytes += len(memoryview(data).cast("B"))

    def close(self, suffix: str) -> WrittenFile:
        """Close the file; its description."""
        self._file.close()
        return WrittenFile(suffix, self.size_bytes, self._digest.hexdigest())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._file.close()


class Lengths:
    """The number of ids of each document, in a temporary file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")
        self.documents = 0
        self.tokens = 0

    def add(self, lengths: bytes) -> None:
        """Add the lengths of some documents, as uint32."""
        self._file.write(lengths)
        numbers = array("I", lengths)
        self.documents += len(numbers)
        self.tokens += sum(numbers)

    def finish(self) -> None:
        """End writing, so that blocks can be read."""
        self._file.close()

    def remove(self) -> None:
        """Remove the temporary file."""
        self._path.unlink()

    def blocks(self) -> Iterator[array[int]]:
        """The lengths, many at a time."""
        with self._path.open("rb") as file:
            while data := file.read(4 * BLOCK):
                yield array("I", data)

    def document_ends(self, *, scale: int = 1) -> Iterator[array[int]]:
        """The end of each document, in tokens times `scale`, as int64."""
        total = 0
        for block in self.blocks():
            block_ends = array("q", accumulate(block, initial=total))
            total = block_ends[-1]
            if scale != 1:
                block_ends = array("q", (end * scale for end in block_ends))
            yield block_ends[1:]

    def starts(self, *, scale: int = 1) -> Iterator[array[int]]:
        """The start of each document, in tokens times `scale`, as int64."""
        last = 0
        for block_ends in self.document_ends(scale=scale):
            yield array("q", [last]) + block_ends[:-1]
            last = block_ends[-1]
