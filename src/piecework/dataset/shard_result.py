"""The result of tokenizing one shard, as its manifest has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from piecework.common.manifest import Each, Shape, seal, unseal
from piecework.counting.partial import SliceResult
from piecework.dataset.raw_files import WrittenFile

__all__ = ["TokenizedShard"]

_FILE: Shape = {"suffix": str, "size_bytes": int, "checksum": str}
_SHAPE: Mapping[str, Shape] = {
    "statistics": Each(int),
    "tokens": [int],
    "slices": [{"lines": int, "skipped": Each(Each({"count": int, "numbers": [int]}))}],
    "hashes": [str],
    "files": [[_FILE]],
}


@dataclass(frozen=True, slots=True)
class TokenizedShard:
    """What one shard came to."""

    statistics: Counter[str]
    """read_documents, documents, text_bytes, empty_documents, skipped_records."""
    tokens: tuple[int, ...]
    """For each size."""
    slices: tuple[SliceResult, ...]
    hashes: tuple[str, ...]
    """SHA-256 of the stored bytes of each slice; empty where they were not read as bytes."""
    files: tuple[tuple[WrittenFile, ...], ...]
    """For each size."""

    def to_json(self) -> bytes:
        """One line, the same for the same result."""
        content: dict[str, Any] = asdict(self) | {"statistics": dict(sorted(self.statistics.items()))}
        return seal(content, indent=None)

    @classmethod
    def from_json(cls, data: bytes) -> TokenizedShard:
        """The result that `to_json` wrote; a ValueError where it is damaged."""
        content = unseal(data, _SHAPE)
        return cls(
            Counter(content["statistics"]),
            tuple(content["tokens"]),
            tuple(SliceResult(**part) for part in content["slices"]),
            tuple(content["hashes"]),
            tuple(tuple(WrittenFile(**file) for file in files) for files in content["files"]),
        )
