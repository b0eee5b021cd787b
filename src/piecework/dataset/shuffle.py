"""Shuffles documents with a seed, in two passes over the disk and in bounded memory.

Each document gets a random 64-bit key from the seed, the number of its input shard and its position in it. The keys are
cut into as many ranges, the buckets, as there are shards to write. In the first pass each input shard writes its
documents into one file, 16 MB at a time, sorted by bucket; a table says where each bucket starts in each such chunk:

    .spill      for each chunk, for each bucket: uint64 number of documents n, n uint64 keys, n uint32 lengths, the ids
    .segments   for each chunk: uint64 offsets in .spill of all buckets and of the chunk's end

In the second pass each bucket is gathered from all files, sorted by key, and written as a shard. Equal keys keep the
order of the files, so the result depends on the seed, the documents and the sizes of shards alone.
"""

from __future__ import annotations

import os
import random
import struct
import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from piecework.dataset.encoding import EncodingSettings
from piecework.dataset.formats import FORMATS, FormatName
from piecework.dataset.raw_files import HashedFile, WrittenFile
from piecework.dataset.shard_result import SubsetOutput, TokenizedShard
from piecework.dataset.shard_store import PARTIAL, LocalStore, ShardTarget, remove_files, stem_in

__all__ = ["Bucket", "GatherJob", "SpillWriter", "gather_bucket"]

CHUNK_BYTES = 16 << 20
COPY_BYTES = 2 << 20
KEY_BITS = 64


class SpillWriter:
    """Writes the documents of one input shard, chunk by chunk, sorted by bucket."""

    def __init__(self, stem: Path, width: int, *, seed: str, buckets: int) -> None:
        self._width = width
        self._buckets = buckets
        self._keys = random.Random(seed)
        self._file = HashedFile(Path(f"{stem}.spill"))
        self._segments = HashedFile(Path(f"{stem}.segments"))
        self._pending: list[tuple[bytes | memoryview, array[int]]] = []
        self._pending_bytes = 0

    def add(self, ids: bytes | memoryview, lengths: bytes) -> None:
        """Add documents."""
        self._pending.append((ids, array("I", lengths)))
        self._pending_bytes += len(ids)
        if self._pending_bytes >= CHUNK_BYTES:
            self._flush()

    def _flush(self) -> None:
        found: dict[int, list[tuple[int, memoryview]]] = {}
        for ids, lengths in self._pending:
            view = memoryview(ids)
            start = 0
            for length in lengths:
                end = start + length * self._width
                key = self._keys.getrandbits(KEY_BITS)
                found.setdefault(key * self._buckets >> KEY_BITS, []).append((key, view[start:end]))
                start = end
        starts = array("Q")
        for bucket in range(self._buckets):
            starts.append(self._file.size_bytes)
            documents = found.get(bucket)
            if documents:
                self._file.write(struct.pack("<Q", len(documents)))
                self._file.write(array("Q", (key for key, _ in documents)))
                self._file.write(array("I", (len(ids) // self._width for _, ids in documents)))
                self._file.write(b"".join(ids for _, ids in documents))
        starts.append(self._file.size_bytes)
        self._segments.write(starts)
        self._pending, self._pending_bytes = [], 0

    def close(self) -> list[WrittenFile]:
        """Finish the two files."""
        if self._pending:
            self._flush()
        return [self._file.close(".spill"), self._segments.close(".segments")]


@dataclass(frozen=True, slots=True)
class Bucket:
    """A shard to write in the second pass."""

    number: int
    target: ShardTarget
    size_bytes: int
    """Its part of the input, for progress."""

    def __str__(self) -> str:
        return self.target.stems[0]


@dataclass(frozen=True, slots=True)
class GatherJob:
    """What all buckets share."""

    store: LocalStore
    encoding: EncodingSettings
    format: FormatName
    tokenizer_name: str
    buckets: int
    inputs: tuple[str, ...]
    """The keys of the input shards, in order."""


def gather_bucket(job: GatherJob, bucket: Bucket, report: Callable[[int], None]) -> TokenizedShard:
    """Write the documents of a bucket in the order of their keys."""
    tokens: list[int] = []
    files: list[tuple[WrittenFile, ...]] = []
    documents = 0
    with job.store.new(bucket.target) as folder:
        for index, width in enumerate(job.encoding.widths):
            writer = FORMATS[job.format].open(stem_in(folder, index), width, job.tokenizer_name)
            gathered = folder / "gathered"
            keys, lengths = array("Q"), array("I")
            with gathered.open("wb") as out:
                for key in job.inputs:
                    for part_keys, part_lengths, pieces in _segments(job, key, index, bucket.number, width):
                        keys += part_keys
                        lengths += part_lengths
                        for data in pieces:
                            out.write(data)
            documents = len(keys)
            tokens.append(sum(lengths))
            with gathered.open("rb") as source:
                for ids, own in _in_order(keys, lengths, source.fileno(), width):
                    writer.add(ids, own)
            gathered.unlink()
            files.append(tuple(writer.close()))
        output = SubsetOutput("", Counter({"documents": documents}), tuple(tokens))
        if not documents:
            files = remove_files(folder, files)
        result = TokenizedShard((output,), (), (), tuple(files))
        job.store.finish(folder, bucket.target, result)
    report(bucket.size_bytes)
    return result


def _segments(
    job: GatherJob, key: str, index: int, bucket: int, width: int
) -> Iterator[tuple[array[int], array[int], Iterator[bytes]]]:
    """The keys, lengths and ids of a bucket in the files of one input shard, a chunk at a time."""
    stem = stem_in(job.store.folder / PARTIAL / key, index)
    row_bytes = 8 * (job.buckets + 1)
    with Path(f"{stem}.segments").open("rb") as table, Path(f"{stem}.spill").open("rb") as file:
        for chunk in range(os.fstat(table.fileno()).st_size // row_bytes):
            start, end = struct.unpack("<2Q", os.pread(table.fileno(), 16, chunk * row_bytes + 8 * bucket))
            if start == end:
                continue
            file.seek(start)
            [count] = struct.unpack("<Q", file.read(8))
            keys, lengths = array("Q", file.read(8 * count)), array("I", file.read(4 * count))
            yield keys, lengths, _pieces(file, sum(lengths) * width)


def _pieces(file: Any, size_bytes: int) -> Iterator[bytes]:
    while size_bytes:
        data = file.read(min(size_bytes, COPY_BYTES))
        size_bytes -= len(data)
        yield data


def _in_order(keys: array[int], lengths: array[int], file: int, width: int) -> Iterator[tuple[bytes, bytes]]:
    """Documents in the order of their keys, about COPY_BYTES at a time."""
    if sys.modules.get("numpy", keys) is None:
        del sys.modules["numpy"]  # the processes that encode do without it, and start faster
    import numpy as np

    sizes = np.frombuffer(lengths, np.uint32).astype(np.int64) * width
    starts = np.cumsum(sizes) - sizes
    order = np.argsort(np.frombuffer(keys, np.uint64), kind="stable")
    for first in _groups(sizes[order]):
        part = order[first]
        ids = b"".join(
            os.pread(file, size, start) for start, size in zip(starts[part].tolist(), sizes[part].tolist(), strict=True)
        )
        yield ids, np.frombuffer(lengths, np.uint32)[part].tobytes()


def _groups(sizes: Any) -> Iterator[slice]:
    """Slices of documents that take about COPY_BYTES each."""
    start = total = 0
    for index, size in enumerate(sizes.tolist()):
        total += size
        if total >= COPY_BYTES:
            yield slice(start, index + 1)
            start, total = index + 1, 0
    if start < len(sizes):
        yield slice(start, len(sizes))
