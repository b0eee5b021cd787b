"""The result of tokenizing one shard, as its manifest has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from piecework.common.manifest import Each, Shape, seal, unseal
from piecework.counting.partial import SliceResult
from piecework.dataset.raw_files import WrittenFile

__all__ = ["SubsetOutput", "TokenizedShard"]

_FILE: Shape = {"suffix": str, "size_bytes": int, "checksum": str}
_SHAPE: Mapping[str, Shape] = {
    "outputs": [{"language": str, "statistics": Each(int), "tokens": [int]}],
    "slices": [{"lines": int, "skipped": Each(Each({"count": int, "numbers": [int]}))}],
    "hashes": [str],
    "files": [[_FILE]],
}


@dataclass(frozen=True, slots=True)
class SubsetOutput:
    """The result of one subset of a shard."""

    language: str
    statistics: Counter[str]
    """read_documents, documents, text_bytes, empty_documents, skipped_records."""
    tokens: tuple[int, ...]
    """For each size."""


@dataclass(frozen=True, slots=True)
class TokenizedShard:
    """The result of one shard."""

    outputs: tuple[SubsetOutput, ...]
    """One for each subset: usually there is one, and several if a field holds the language of each record."""
    slices: tuple[SliceResult, ...]
    hashes: tuple[str, ...]
    """SHA-256 of the stored bytes of each slice; empty where they were not read as bytes."""
    files: tuple[tuple[WrittenFile, ...], ...]
    """For each subset, for each size; none if the subset has no document here."""

    @property
    def statistics(self) -> Counter[str]:
        """The statistics of all subsets together."""
        total: Counter[str] = Counter()
        for output in self.outputs:
            total.update(output.statistics)
        return total

    def tokens(self, size_index: int) -> int:
        """The number of tokens of all subsets, at one size."""
        return sum(output.tokens[size_index] for output in self.outputs)

    def to_json(self) -> bytes:
        """One line, the same for the same result."""
        outputs: list[dict[str, Any]] = [
            {"language": each.language, "statistics": dict(sorted(each.statistics.items())), "tokens": each.tokens}
            for each in self.outputs
        ]
        content = {
            "outputs": outputs,
            "slices": [asdict(part) for part in self.slices],
            "hashes": self.hashes,
            "files": [[asdict(file) for file in files] for files in self.files],
        }
        return seal(content, indent=None)

    @classmethod
    def from_json(cls, data: bytes) -> TokenizedShard:
        """The result that `to_json` wrote; a ValueError where it is damaged."""
        content = unseal(data, _SHAPE)
        return cls(
            tuple(
                SubsetOutput(each["language"], Counter(each["statistics"]), tuple(each["tokens"]))
                for each in content["outputs"]
            ),
            tuple(SliceResult(**part) for part in content["slices"]),
            tuple(content["hashes"]),
            tuple(tuple(WrittenFile(**file) for file in files) for files in content["files"]),
        )
