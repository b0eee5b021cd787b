"""Counts one shard: reads its documents, samples them, counts them, writes spill files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from piecework.common.subset_name import SubsetName
from piecework.corpus.passages import PassageChoice
from piecework.corpus.readers import Documents
from piecework.corpus.sampling import Sampler
from piecework.counting.files import TABLES
from piecework.counting.partial import UNMATCHED, PartialResults, ShardResult, SpillFile
from piecework.counting.shards import Shard
from piecework.counting.slice_reading import SliceReader
from piecework.counting.tables import DocumentCounter
from piecework.study.count_settings import CountSettings

__all__ = ["ShardJob", "count_shard", "encoded", "filled_counters"]

# Larger batches were no faster, and each is in memory several times: as bytes, as lines, as strings, as UTF-8.
BATCH_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ShardJob:
    """What all shards of a study share."""

    sampler: Sampler
    folder: Path
    """The folder of the partial results."""
    table_bytes: int
    """How large the tables may grow in memory before they are written out."""
    settings: CountSettings = field(default_factory=CountSettings)
    strict: bool = False
    """Whether the first record that cannot be used is an error."""


def count_shard(job: ShardJob, shard: Shard, report: Callable[[int], None]) -> ShardResult:
    """Count a shard into spill files; `report` gets the number of bytes read since the last call.

    The result depends on the shard and the sampler alone, except for how often tables were spilled.
    """
    partial = PartialResults(job.folder)
    with partial.new(shard.key) as folder:
        spilled: list[SpillFile] = []
        counters = filled_counters(
            shard,
            sampler=job.sampler,
            new_counter=lambda: DocumentCounter(job.settings),
            table_bytes=job.table_bytes,
            strict=job.strict,
            report=report,
        )
        while True:
            try:
                language, counter = next(counters)
            except StopIteration as end:
                result: ShardResult = replace(end.value, spill_files=tuple(spilled))
                break
            for table in TABLES:
                path = folder / f"{table}-{len(spilled)}.spill"
                if counter.write(table, path):
                    spilled.append(SpillFile.at(path, table, language))
        partial.describe(folder, result)
    return result


def filled_counters(
    shard: Shard,
    *,
    sampler: Sampler,
    new_counter: Callable[[], DocumentCounter],
    table_bytes: int,
    strict: bool,
    report: Callable[[int], None],
) -> Generator[tuple[str, DocumentCounter], None, ShardResult]:
    """Count a shard, with a counter for each language.

    Yields the languages with their counters, to be emptied, when the tables have grown to `table_bytes` and at the end.
    """
    subsets = {name.language: _SampledSubset(sampler, name, shard.code_token, new_counter()) for name in shard.subsets}
    slices = []
    for part in shard.slices:
        reader = SliceReader(shard, part, batch_bytes=BATCH_BYTES, strict=strict, lines_as_arrow=True)
        for batch in reader:
            for language, documents in batch.documents.items():
                subsets[language].add(documents)
            report(batch.read_bytes)
            if sum(subset.counter.memory_bytes for subset in subsets.values()) > table_bytes:
                yield from ((language, subset.counter) for language, subset in subsets.items())
        slices.append(reader.result())
        for language, records in reader.skipped.items():
            if language in subsets:
                subsets[language].statistics["skipped_records"] += records.total
    for language, subset in subsets.items():
        yield language, subset.counter
        subset.statistics["dropped_lines"] += subset.counter.dropped_lines
        for character, parts in subset.counter.unmatched.items():
            subset.statistics[f"{UNMATCHED}{character}"] += parts
    return ShardResult(
        {language: subset.statistics for language, subset in subsets.items()},
        tuple(slices),
        {language: best for language, subset in subsets.items() if (best := subset.passage.best) is not None},
    )


class _SampledSubset:
    """Hands the documents of a subset to its counter, batch by batch, as the sampler decides."""

    def __init__(self, sampler: Sampler, subset: SubsetName, code_token: str | None, counter: DocumentCounter) -> None:
        self._sampler = sampler
        self._placer = sampler.placer(subset)
        self._subset = subset
        # Byte-level tokenizers cut special tokens out before they merge, so they are no text to count.
        self._token = b"" if counter.counts_pre_tokens else (code_token or "").encode()
        self.counter = counter
        self.statistics: Counter[str] = Counter()
        self.passage = PassageChoice(subset.language)

    def add(self, documents: Documents) -> None:
        batch = self.counter.add_placed(documents, self._placer, prefix=self._token, passage=self.passage)
        for index in batch.passages:
            document: Any = documents[index]
            text = (document if isinstance(document, str) else document.as_py()).encode()
            self.passage.offer(text, self._sampler.place(text, self._subset))
        if batch.train_copies:
            self.statistics["train_copies"] += batch.train_copies
        for name, side in (("train", batch.train), ("eval", batch.eval), ("unused", batch.unused)):
            for prefix in ("read", name):
                for what, amount in zip(("documents", "characters", "bytes"), side, strict=True):
                    self.statistics[f"{prefix}_{what}"] += amount


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
