"""Counts one shard: reads its documents, samples them, counts them, writes spill files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from piecework.common.storage import RemotePath
from piecework.common.subset_name import SubsetName
from piecework.corpus.inputs import Slice
from piecework.corpus.passages import PassageChoice
from piecework.corpus.readers import Documents, open_batches
from piecework.corpus.record_languages import RecordLanguages
from piecework.corpus.sampling import Sampler
from piecework.corpus.skipped import Skipped
from piecework.corpus.streams import lines_before
from piecework.counting.files import TABLES
from piecework.counting.partial import PartialResults, ShardResult, SliceResult, SpillFile
from piecework.counting.shards import Shard
from piecework.counting.tables import DocumentCounter
from piecework.errors import InputError
from piecework.study.count_settings import CountSettings

__all__ = [
    "ShardJob",
    "check_nothing_skipped",
    "check_unchanged",
    "count_shard",
    "encoded",
    "filled_counters",
    "strict_message",
]

# Larger batches were no faster, and each is in memory several times: as bytes, as lines, as strings, as UTF-8.
BATCH_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ShardJob:
    """What all shards of a study share."""

    sampler: Sampler
    folder: Path
    """Of the partial results."""
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
    placings = {name.language: _Placing(sampler, name, shard.code_token, new_counter()) for name in shard.subsets}
    slices = []
    for part in shard.slices:
        languages = None if shard.language_field is None else RecordLanguages(shard.language_field)
        by_language = {} if languages is None else languages.skipped
        skipped = by_language.setdefault(shard.default_language, Skipped())
        lines = 0
        for batch in open_batches(
            [part],
            text_field=shard.text_field,
            text_unit=shard.documents,
            batch_bytes=BATCH_BYTES,
            skipped=skipped,
            clean_up=shard.clean_up,
            languages=languages,
            lines_as_arrow=True,
        ):
            if strict:
                check_nothing_skipped(part, by_language)
            if batch.by_language is None:
                placings[shard.default_language].add(batch.documents)
            else:
                for language, documents in batch.by_language.items():
                    placings[language].add(documents)
            lines += batch.lines
            report(batch.read_bytes)
            if sum(placing.counter.memory_bytes for placing in placings.values()) > table_bytes:
                yield from ((language, placing.counter) for language, placing in placings.items())
        if strict:
            check_nothing_skipped(part, by_language)
        check_unchanged(part)
        slices.append(SliceResult.from_skipped(lines, by_language))
        for language, records in by_language.items():
            if language in placings:
                placings[language].statistics["skipped_records"] += records.total
    for language, placing in placings.items():
        yield language, placing.counter
        placing.statistics["dropped_lines"] += placing.counter.dropped_lines
    return ShardResult(
        {language: placing.statistics for language, placing in placings.items()},
        tuple(slices),
        {language: best for language, placing in placings.items() if (best := placing.passage.best) is not None},
    )


class _Placing:
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


def check_nothing_skipped(part: Slice, by_language: Mapping[str, Skipped]) -> None:
    """Raise an error for the first record of a slice that was skipped."""
    skipped = Skipped()
    for each in by_language.values():
        skipped.update(each)
    if skipped.counts:
        raise InputError(first_skipped(part, skipped))


def first_skipped(part: Slice, skipped: Skipped) -> str:
    """The first record of a slice that was left out, as an error."""
    (file, reason), numbers = min(skipped.numbers.items(), key=lambda item: item[1][0])
    first = Skipped()
    before = lines_before(part.file.path, part.start) if part.start and part.file.format != "parquet" else 0
    first.add(file, reason, [numbers[0] + before])
    return strict_message(first.locations(reason)[0], reason)


def strict_message(location: str, reason: str) -> str:
    """What to tell about a record that cannot be used."""
    return f"{location}: {reason}; without --strict such records are counted and left out"


def check_unchanged(part: Slice) -> None:
    """Raise an InputError if the file is not as it was when its shard was planned."""
    file = part.file
    try:
        status = file.path.stat_now() if isinstance(file.path, RemotePath) else file.path.stat()
    except OSError as error:
        raise InputError(f"{file.path}: cannot read: {error.strerror or error}") from error
    if (status.st_size, status.st_mtime_ns) != (file.size_bytes, file.modified_ns):
        raise InputError(f"{file.path}: changed while it was read; run the command again when nothing writes to it")
