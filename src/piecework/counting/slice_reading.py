"""Reads one slice of a shard: its documents by language, and what was skipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from piecework.corpus.inputs import Slice
from piecework.corpus.limits import Limits
from piecework.corpus.readers import Documents, open_batches
from piecework.corpus.record_languages import RecordLanguages
from piecework.corpus.skipped import Skipped
from piecework.corpus.streams import lines_before
from piecework.counting.partial import SliceResult
from piecework.counting.shards import Shard
from piecework.errors import InputError

__all__ = ["SliceReader", "check_nothing_skipped", "strict_message"]


@dataclass(frozen=True, slots=True)
class LanguageBatch:
    """Documents that were read together."""

    documents: Mapping[str, Documents]
    """By language."""
    read_bytes: int
    """As stored."""


class SliceReader:
    """Iterates over the batches of a slice. With `strict` the first record that cannot be used is an error.

    With `lines_as_arrow` the documents of a text file by line are an Arrow array, not a list.
    """

    def __init__(
        self,
        shard: Shard,
        part: Slice,
        *,
        batch_bytes: int,
        strict: bool,
        limits: Limits | None = None,
        lines_as_arrow: bool = False,
    ) -> None:
        self._shard, self._part = shard, part
        self._batch_bytes, self._strict, self._limits = batch_bytes, strict, limits
        self._lines_as_arrow = lines_as_arrow
        self._languages = None if shard.language_field is None else RecordLanguages(shard.language_field)
        self._lines = 0
        self.skipped: dict[str, Skipped] = {} if self._languages is None else self._languages.skipped
        """By language."""
        self.skipped.setdefault(shard.default_language, Skipped())

    def __iter__(self) -> Iterator[LanguageBatch]:
        shard = self._shard
        for batch in open_batches(
            [self._part],
            text_field=shard.text_field,
            text_unit=shard.documents,
            batch_bytes=self._batch_bytes,
            skipped=self.skipped[shard.default_language],
            clean_up=shard.clean_up,
            limits=self._limits,
            languages=self._languages,
            lines_as_arrow=self._lines_as_arrow,
        ):
            self._check()
            self._lines += batch.lines
            documents = {shard.default_language: batch.documents} if batch.by_language is None else batch.by_language
            yield LanguageBatch(dict(sorted(documents.items())), batch.read_bytes)
        self._check()

    def result(self) -> SliceResult:
        """What the slice had, when all of it was read."""
        return SliceResult.from_skipped(self._lines, self.skipped)

    def _check(self) -> None:
        if self._strict:
            check_nothing_skipped(self._part, self.skipped)


def check_nothing_skipped(part: Slice, by_language: Mapping[str, Skipped]) -> None:
    """Raise an error for the first record of a slice that was skipped."""
    skipped = Skipped()
    for each in by_language.values():
        skipped.update(each)
    if skipped.counts:
        raise InputError(_first_skipped(part, skipped))


def _first_skipped(part: Slice, skipped: Skipped) -> str:
    (file, reason), numbers = min(skipped.numbers.items(), key=lambda item: item[1][0])
    first = Skipped()
    before = lines_before(part.file.path, part.start) if part.start and part.file.format != "parquet" else 0
    first.add(file, reason, [numbers[0] + before])
    return strict_message(first.locations(reason)[0], reason)


def strict_message(location: str, reason: str) -> str:
    """The error about a record that cannot be used."""
    return f"{location}: {reason}; without --strict such records are counted and left out"
