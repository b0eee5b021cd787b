"""One shard to its tables: read, placed by the sampler, counted, written; the same in whatever process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from piecework.corpus.inputs import Slice
from piecework.corpus.readers import Documents, open_batches
from piecework.corpus.sampling import Sampler
from piecework.corpus.skipped import Skipped
from piecework.corpus.streams import lines_before
from piecework.counting.partial import PartialResults, ShardResult, SliceResult, TableFile
from piecework.counting.shards import Shard
from piecework.counting.tables import DocumentCounter
from piecework.errors import InputError

__all__ = ["ShardJob", "count_shard", "encoded", "first_skipped", "strict_message"]

# Larger batches were no faster, and each is in memory several times: as bytes, as lines, as strings, as UTF-8.
BATCH_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ShardJob:
    """What is the same for all shards of a run."""

    sampler: Sampler
    folder: Path
    """Of the partial results."""
    table_bytes: int
    """How large the tables may grow in memory before they are written out."""
    strict: bool = False
    """Whether the first record that cannot be used is an error."""


def count_shard(job: ShardJob, shard: Shard, report: Callable[[int], None]) -> ShardResult:
    """Count a shard and leave its tables in the folder; `report` is told how many bytes were read since the last call.

    What is written and returned depends on the shard and the sampler alone, but for how often tables were spilled.
    """
    partial = PartialResults(job.folder)
    with partial.new(shard.key) as folder:
        tables = _Tables(folder, job.table_bytes)
        placing = _Placing(job.sampler, shard, tables)
        slices = []
        for part in shard.slices:
            skipped = Skipped()
            lines = 0
            for batch in open_batches(
                [part],
                text_field=shard.text_field,
                text_unit=shard.documents,
                batch_bytes=BATCH_BYTES,
                skipped=skipped,
                clean_up=shard.clean_up,
            ):
                if job.strict and skipped.counts:
                    raise InputError(first_skipped(part, skipped))
                placing.add(batch.documents)
                lines += batch.lines
                report(batch.read_bytes)
            if job.strict and skipped.counts:
                raise InputError(first_skipped(part, skipped))
            _check_unchanged(part)
            slices.append(SliceResult.of(lines, skipped))
            placing.statistics["skipped_records"] += skipped.total
        tables.spill()
        placing.statistics["dropped_lines"] += tables.counter.dropped_lines
        result = ShardResult(placing.statistics, tuple(slices), tuple(tables.files))
        partial.describe(folder, result)
    return result


class _Placing:
    """Hands documents to the tables, batch by batch, as the sampler decides."""

    def __init__(self, sampler: Sampler, shard: Shard, tables: _Tables) -> None:
        self._place = sampler.place
        self._subset = shard.subset
        self._token = (shard.code_token or "").encode()
        self._tables = tables
        self.statistics: Counter[str] = Counter()

    def add(self, documents: Documents) -> None:
        training: dict[int, list[bytes]] = {}
        evaluation: list[bytes] = []
        buckets: list[int] = []
        sides = {side: _Side() for side in ("train", "eval", "unused")}
        train, eval_, unused = sides.values()
        for text, characters in encoded(documents):
            placement = self._place(text, self._subset)
            if placement.evaluation:
                side = eval_
                evaluation.append(text)
                buckets.append(placement.bucket)
            elif placement.copies:
                side = train
                training.setdefault(placement.copies, []).append(self._token + text)
            else:
                side = unused
            side.documents += 1
            side.characters += characters
            side.bytes += len(text)
        for copies, texts in training.items():
            self._tables.counter.add_training(texts, copies)
            self.statistics["train_copies"] += copies * len(texts)
        if evaluation:
            self._tables.counter.add_evaluation(evaluation, buckets, self._token)
        for name, side in sides.items():
            for of in ("read", name):
                self.statistics[f"{of}_documents"] += side.documents
                self.statistics[f"{of}_characters"] += side.characters
                self.statistics[f"{of}_bytes"] += side.bytes
        self._tables.spill_if_large()


@dataclass(slots=True)
class _Side:
    documents: int = 0
    characters: int = 0
    bytes: int = 0


def encoded(documents: Documents) -> Iterable[tuple[bytes, int]]:
    """Each document's UTF-8, and its length in characters."""
    if isinstance(documents, list):
        return ((text.encode(), len(text)) for text in documents)
    return _encoded_arrow(documents)


def _encoded_arrow(documents: Any) -> Iterable[tuple[bytes, int]]:
    import pyarrow as pa
    from pyarrow import compute

    characters = compute.utf8_length(documents).to_pylist()
    return zip(documents.cast(pa.large_binary()).to_pylist(), characters, strict=True)


class _Tables:
    """The tables of a shard, in memory up to a limit, and beyond it in as many files as it takes."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self.counter = DocumentCounter()
        self.files: list[TableFile] = []
        self._folder = folder
        self._limit_bytes = limit_bytes
        self._spills = 0

    def spill_if_large(self) -> None:
        if self.counter.memory_bytes > self._limit_bytes:
            self.spill()

    def spill(self) -> None:
        import pyarrow.parquet as pq

        tables = self.counter.take(ordered=False)  # merging sorts them
        while tables:
            name, table = tables.popitem()
            if not len(table):
                continue
            path = self._folder / f"{name}-{self._spills}.parquet"
            pq.write_table(table, path, compression="lz4", use_dictionary=False, row_group_size=1 << 17)
            self.files.append(TableFile(path.name, name, len(table), path.stat().st_size))
        self._spills += 1


def first_skipped(part: Slice, skipped: Skipped) -> str:
    """The first record of a slice that was left out, as an error."""
    (file, reason), places = min(skipped.places.items(), key=lambda item: item[1][0])
    first = Skipped()
    before = lines_before(part.file.path, part.start) if part.start and part.file.format != "parquet" else 0
    first.add(file, reason, [places[0] + before])
    return strict_message(first.first_location(reason), reason)


def strict_message(location: str, reason: str) -> str:
    """What to tell about a record that cannot be used."""
    return f"{location}: {reason}; without --strict such records are counted and left out"


def _check_unchanged(part: Slice) -> None:
    file = part.file
    try:
        status = file.path.stat()
    except OSError as error:
        raise InputError(f"{file.path}: cannot read: {error.strerror or error}") from error
    if (status.st_size, status.st_mtime_ns) != (file.size_bytes, file.modified_ns):
        raise InputError(f"{file.path}: changed while it was read; run the command again when nothing writes to it")
