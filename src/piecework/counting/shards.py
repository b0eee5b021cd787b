"""Splits the corpus into shards, which depend on the settings and files alone."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from piecework.common.storage import relative_name
from piecework.common.subset_name import SubsetName
from piecework.common.terms import CleanUp
from piecework.corpus.inputs import InputFile, Slice
from piecework.corpus.languages import UNDETERMINED
from piecework.corpus.readers import open_parquet
from piecework.corpus.record_languages import LanguageField
from piecework.errors import InputError

if TYPE_CHECKING:
    # For types only: counting processes need neither, and start faster without pydantic.
    from piecework.study.schema import DocumentUnit
    from piecework.study.subsets import Subset

__all__ = ["Shard", "check_regular", "plan_shards"]

# A killed count loses its unfinished shards, and each shard writes files. 64 MB take about half a second. A corpus of
# terabytes has larger shards, so that there are thousands and not millions.
SMALLEST_SHARD_BYTES = 64_000_000
LARGEST_SHARD_BYTES = 1_000_000_000
MOST_SHARDS = 4096
# Small files are grouped up to this part of a shard: compressed files hold several times their size.
GROUPED_PART = 4
MOST_GROUPED_FILES = 2000


@dataclass(frozen=True, slots=True)
class Shard:
    """Slices of files, counted together by one process.

    They belong to one subset, or to several of one category if a field has the language of each record.
    """

    key: str
    """A hash of settings, files and slices. It names the folder of the shard's results."""
    subsets: tuple[SubsetName, ...]
    text_field: str
    documents: DocumentUnit
    code_token: str | None
    clean_up: CleanUp | None
    slices: tuple[Slice, ...]
    size_bytes: int
    language_field: LanguageField | None = None

    @property
    def subset(self) -> SubsetName:
        """Its only subset."""
        (subset,) = self.subsets
        return subset

    @property
    def category(self) -> str:
        """The category of its subsets."""
        return self.subsets[0].category

    @property
    def default_language(self) -> str:
        """The language of records that no field assigns to another one: of all, or of those without a language."""
        return self.subsets[0].language if self.language_field is None else UNDETERMINED

    def __str__(self) -> str:
        first = self.slices[0]
        text = str(first.file.path)
        if len(self.slices) > 1:
            return f"{text} and {len(self.slices) - 1:,} more"
        if first.stop is None:
            return text
        unit = "row groups" if first.file.format == "parquet" else "bytes"
        return f"{text}, {unit} {first.start:,} to {first.stop:,}"


def plan_shards(
    subsets: Iterable[Subset],
    settings_key: str,
    *,
    folder: Path,
    shard_bytes: int | None = None,
    clean_up: CleanUp | None = None,
    in_order: bool = False,
) -> list[Shard]:
    """The shards of these subsets, in counting order; with `in_order`, in the order of their documents.

    `settings_key` stands for all else that the counts depend on. Paths enter the keys relative to `folder`, so that a
    corpus may move together with its study. Plain text and JSONL are cut at about `shard_bytes`, Parquet between row
    groups; what is compressed, or a single document, is not cut. Subsets of weight 0 have no shards.
    """
    together = list(_sharing_files(subsets))
    if shard_bytes is None:
        size_bytes = sum(file.size_bytes for sharing in together for file in sharing[0].files)
        shard_bytes = min(max(SMALLEST_SHARD_BYTES, size_bytes // MOST_SHARDS), LARGEST_SHARD_BYTES)
    shards = [
        _shard(sharing, slices, settings_key, folder, clean_up)
        for sharing in together
        for slices in _grouped(sharing[0], max(1, shard_bytes), in_order=in_order)
    ]
    # A file may be given twice; its shards have files of their own.
    repeated: Counter[str] = Counter()
    for index, shard in enumerate(shards):
        if number := repeated[shard.key]:
            shards[index] = replace(shard, key=f"{shard.key}-{number}")
        repeated[shard.key] += 1
    if in_order:
        return shards
    # Large files that cannot be split come first, so that no process works on one alone at the end.
    return sorted(shards, key=lambda shard: -shard.size_bytes if shard.size_bytes > 2 * shard_bytes else 0)


def _sharing_files(subsets: Iterable[Subset]) -> Iterator[list[Subset]]:
    """The subsets that are read together: each alone, or all languages of a field. Those of weight 0 come last."""
    together: dict[object, list[Subset]] = {}
    for subset in subsets:
        key = subset.name if subset.language_field is None else (subset.category, subset.text_field)
        together.setdefault(key, []).append(subset)
    for sharing in together.values():
        if any(subset.weight for subset in sharing):
            yield sorted(sharing, key=lambda subset: not subset.weight)


def _grouped(subset: Subset, shard_bytes: int, *, in_order: bool) -> Iterator[list[tuple[Slice, int]]]:
    """Groups of slices with their sizes; small files share a group, if `in_order` those that follow each other."""
    group: list[tuple[Slice, int]] = []
    group_bytes = 0
    for file in subset.files:
        check_regular(file)
        parts = list(_cut(file, subset.documents, shard_bytes))
        if len(parts) > 1:
            if in_order and group:
                yield group
                group, group_bytes = [], 0
            yield from ([part] for part in parts)
            continue
        group += parts
        group_bytes += file.size_bytes
        if group_bytes >= shard_bytes // GROUPED_PART or len(group) >= MOST_GROUPED_FILES:
            yield group
            group, group_bytes = [], 0
    if group:
        yield group


def _cut(file: InputFile, documents: DocumentUnit, shard_bytes: int) -> Iterator[tuple[Slice, int]]:
    size = file.size_bytes
    whole = file.compression is not None or (file.format == "text" and documents == "file")
    if whole or size <= shard_bytes:
        yield Slice(file), size
    elif file.format == "parquet":
        yield from _cut_parquet(file, shard_bytes)
    else:
        count = -(-size // shard_bytes)
        bounds = [size * index // count for index in range(count + 1)]
        for start, stop in pairwise(bounds):
            yield Slice(file, start, stop), stop - start


def _cut_parquet(file: InputFile, shard_bytes: int) -> Iterator[tuple[Slice, int]]:
    with open_parquet(file.path) as parquet:
        rows = [parquet.metadata.row_group(index).num_rows for index in range(parquet.num_row_groups)]
    total = sum(rows)
    if not total:
        yield Slice(file), file.size_bytes
        return
    start = done_rows = reported = 0
    for group, group_rows in enumerate(rows, 1):
        done_rows += group_rows
        # The same estimate as the reader's, so that progress adds up.
        position = file.size_bytes * done_rows // total
        if position - reported >= shard_bytes or group == len(rows):
            yield Slice(file, start, group), position - reported
            start, reported = group, position


def check_regular(file: InputFile) -> None:
    """Refuses a pipe: it can be read only once, so a killed count could not resume."""
    if not file.size_bytes and file.path.exists() and not file.path.is_file():
        raise InputError(f"{file.path}: not a file that can be read again; write what it gives into a file first")


def _shard(
    sharing: Sequence[Subset],
    slices: Sequence[tuple[Slice, int]],
    settings_key: str,
    folder: Path,
    clean_up: CleanUp | None,
) -> Shard:
    subset = sharing[0]
    counted = tuple(each.name for each in sharing if each.weight)
    own: list[Any] = [subset.category, subset.language, subset.text_field, subset.documents, subset.code_token]
    field = None
    if subset.language_field is not None:
        left_out = frozenset(each.language for each in sharing if not each.weight)
        field = LanguageField(subset.language_field, frozenset(name.language for name in counted), left_out)
        own += [field.name, sorted(field.languages), sorted(field.left_out)]
    parts = [
        [relative_name(part.file.path, folder), part.file.size_bytes, part.file.modified_ns, part.start, part.stop]
        for part, _ in slices
    ]
    key = hashlib.blake2b(json.dumps([settings_key, own, parts]).encode(), digest_size=16).hexdigest()
    return Shard(
        key=key,
        subsets=counted,
        text_field=subset.text_field,
        documents=subset.documents,
        code_token=subset.code_token,
        clean_up=clean_up,
        slices=tuple(part for part, _ in slices),
        size_bytes=sum(size for _, size in slices),
        language_field=field,
    )
