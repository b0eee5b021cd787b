"""Reads the counts of a study for training and evaluation."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from piecework.common.pre_tokenizer import PreTokenizer
from piecework.common.storage import Location, RemotePath, arrow_source, locate
from piecework.common.subset_name import SubsetName
from piecework.counting.description import read_description, verify_tables
from piecework.counting.files import column_types, subsets_table, table_file, with_names
from piecework.counting.pre_tokens import PreTokenCounts
from piecework.counting.rare import RareWords, add_up
from piecework.counting.stream import WordStream
from piecework.counting.words import WordCounts
from piecework.errors import InputError

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

__all__ = [
    "Counts",
    "stretches",
]

Weights = Mapping[SubsetName, Fraction]


class Counts:
    """Word counts of the training sample and unit counts of the evaluation sample, by language and category.

    `piecework.count` makes them, and `Counts.load` reads them.
    """

    def __init__(self, folder: Location, description: Mapping[str, Any], *, verified: Iterable[str] = ()) -> None:
        """Use `load` or `piecework.count` instead. `verified` are the tables whose checksums are known to be right."""
        self.folder = folder
        self.description = description
        """The content of counts.json: settings, subsets, skipped records, passages, checksums."""
        self._verified = set(verified)

    @classmethod
    def load(cls, folder: str | os.PathLike[str] | RemotePath) -> Counts:
        """The counts in a study's output folder, or in its folder `counts`."""
        folder = locate(folder)
        for candidate in (folder / "counts", folder):
            description = read_description(candidate)
            if description is not None:
                return cls(candidate, description)
        raise InputError(f"{folder}: no counts in this folder; first run piecework count STUDY.toml --out {folder}")

    @cached_property
    def subsets(self) -> pa.Table:
        """One row for each subset, sorted by language and category: weight, documents, characters, bytes, fractions.

        The columns say how much of the text that was read is for training, for evaluation, or unused. A document that
        is used several times for training is one document with several copies.
        """
        return subsets_table(self.subset_rows)

    @property
    def subset_rows(self) -> Sequence[Mapping[str, Any]]:
        """The rows of `subsets`, without pyarrow, which is slow to import."""
        rows: Sequence[Mapping[str, Any]] = self.description["subsets"]
        return rows

    @property
    def languages(self) -> list[str]:
        """The languages, sorted."""
        return sorted({name.language for name in self.weights})

    @property
    def weights(self) -> dict[SubsetName, Fraction]:
        """The weight that the study gives to each subset."""
        return {_subset(row): Fraction(row["weight"]) for row in self.subset_rows}

    @property
    def weighting(self) -> str:
        """What the weights act on: "documents" while sampling, or "counts" before training."""
        return str(self.description["settings"]["sampling"]["weighting"])

    @property
    def pre_tokenizer(self) -> PreTokenizer | None:
        """What cut the documents, if pre-tokens were counted; None for words, as SentencePiece has them."""
        described = self.description["settings"].get("pre_tokenizer")
        return None if described is None else PreTokenizer.restored(described)

    def training(
        self,
        language: str | Sequence[str] | None = None,
        category: str | Sequence[str] | None = None,
        weights: Weights | None = None,
        *,
        min_count: int = 0,
    ) -> WordCounts | PreTokenCounts:
        """The words or pre-tokens of these languages and categories, or of all, read in a stream.

        Counts are multiplied by the weights of their subsets, exactly: all are scaled by the weights' common
        denominator. A subset of weight 0 is left out, and one without a weight has 1. Without `weights`, the
        study's weights are used if it has `weighting = "counts"`; under "documents" the sample has them already.

        Words or pre-tokens that occur fewer than `min_count` times are left out and take no memory; `rare` of the
        result says what that can change. A word counts in all of these subsets together, with their weights, at the
        start of a line and elsewhere.
        """
        scales, denominator = self._scales(language, category, weights)
        batches = self._scaled(scales)
        settings = self.description["settings"]
        split = settings.get("split", "words")
        source = str(self.folder / table_file("train"))
        cut = self.pre_tokenizer
        rare = None
        if min_count > 1:
            rare = RareWords(min_count * denominator, pre_tokens=cut is not None)
            batches = rare.leave_out(add_up(batches, split=split, pre_tokens=cut is not None))
        if cut is not None:
            pre_tokens = PreTokenCounts.from_columns(batches, pre_tokenizer=cut, source=source)
            pre_tokens.rare = rare
            return pre_tokens
        counts = WordCounts.from_columns(
            batches,
            source=source,
            dropped_lines=sum(row["dropped_lines"] for row in self.subset_rows if _subset(row) in scales),
            normalization=settings.get("normalization"),
            split=split,
            max_sentence_length=settings["max_sentence_length"],
            clean_up=settings.get("clean_up"),
        )
        counts.rare = rare
        return counts

    def training_stream(
        self,
        language: str | Sequence[str] | None = None,
        category: str | Sequence[str] | None = None,
        weights: Weights | None = None,
    ) -> WordStream:
        """The same words as `training`, but read from the files whenever training needs them.

        No table of all words is in memory. The tokenizer is the same.
        """
        scales, _ = self._scales(language, category, weights)
        settings = self.description["settings"]
        return WordStream(
            read=lambda: self._scaled(scales),
            rows=self.training_rows if scales else 0,
            source=str(self.folder / table_file("train")),
            normalization=settings.get("normalization"),
            split=settings.get("split", "words"),
            max_sentence_length=settings["max_sentence_length"],
            clean_up=settings.get("clean_up"),
        )

    @property
    def training_rows(self) -> int:
        """The rows of the table of training words: distinct words, by subset."""
        return int(self.description["tables"]["train"]["rows"])

    def _scales(
        self, language: str | Sequence[str] | None, category: str | Sequence[str] | None, weights: Weights | None
    ) -> tuple[dict[SubsetName, int], int]:
        """The whole number that the counts of each subset are multiplied by, and the weights' common denominator."""
        if weights is None:
            weights = self.weights if self.weighting == "counts" else {}
        known = self.weights
        if unknown := [subset for subset in weights if subset not in known]:
            names = ", ".join(map(str, sorted(known)))
            raise InputError(f"{self.folder}: no subset {unknown[0]} in these counts to weight; there is {names}")
        factors = {subset: Fraction(weights.get(subset, 1)) for subset in self._chosen(language, category)}
        if negative := [subset for subset, factor in factors.items() if factor < 0]:
            raise InputError(f"the weight of {negative[0]} is negative; 0 leaves a subset out")
        denominator = math.lcm(*(factor.denominator for factor in factors.values()))
        scales = {subset: int(factor * denominator) for subset, factor in factors.items() if factor}
        return scales, denominator

    def _scaled(self, scales: Mapping[SubsetName, int]) -> Iterator[tuple[Any, Any]]:
        """Words and counts of these subsets, each multiplied by an integer, in one pass over the table."""
        for subset, batch in self._batches("train", list(scales), ["word", "count"]):
            counts = batch.column("count")
            yield batch.column("word"), counts if scales[subset] == 1 else _times(counts, scales[subset], subset)

    def evaluation(
        self,
        language: str | Sequence[str] | None = None,
        category: str | Sequence[str] | None = None,
        *,
        plain: bool = False,
    ) -> pa.Table:
        """The units of these languages and categories, or of all, in rows; `plain` is without ASCII punctuation."""
        import pyarrow as pa

        table = "eval_plain" if plain else "eval"
        types = column_types(table, pre_tokens=self.pre_tokenizer is not None)
        batches = self.evaluation_batches(language, category, plain=plain)
        return pa.concat_tables([types.empty_table(), *(with_names(table, rows, subset) for subset, rows in batches)])

    def evaluation_batches(
        self,
        language: str | Sequence[str] | None = None,
        category: str | Sequence[str] | None = None,
        *,
        plain: bool = False,
    ) -> Iterator[tuple[SubsetName, pa.RecordBatch]]:
        """The same in batches of one subset each, without the columns language and category."""

        table = "eval_plain" if plain else "eval"
        types = column_types(table, pre_tokens=self.pre_tokenizer is not None)
        return self._batches(table, self._chosen(language, category), types.names[2:])

    def evaluation_subsets(self, language: Sequence[str], *, plain: bool = False) -> set[SubsetName]:
        """The subsets of these languages that have rows."""
        table = "eval_plain" if plain else "eval"
        return {subset for subset, _ in self._batches(table, self._chosen(language, None), ["bucket"])}

    def _chosen(self, language: str | Sequence[str] | None, category: str | Sequence[str] | None) -> list[SubsetName]:
        """The subsets of these languages and categories, in order; one that does not exist is an error."""
        subsets = sorted(self.weights)
        for what, wanted in (("language", language), ("category", category)):
            if wanted is None:
                continue
            names = {wanted} if isinstance(wanted, str) else set(wanted)
            known = {getattr(subset, what) for subset in self.weights}
            if missing := sorted(names - known):
                raise InputError(
                    f'{self.folder}: no {what} "{missing[0]}" in these counts; there is {", ".join(sorted(known))}'
                )
            subsets = [subset for subset in subsets if getattr(subset, what) in names]
        return subsets

    def _batches(
        self, table: str, subsets: Sequence[SubsetName], columns: list[str]
    ) -> Iterator[tuple[SubsetName, pa.RecordBatch]]:
        """Rows of these subsets in batches. Row groups without any of them are not read."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.folder / table_file(table)
        if table not in self._verified:
            verify_tables(self.folder, self.description, [table])
            self._verified.add(table)
        wanted = set(subsets)
        names = ["language", "category"]
        try:
            # Names as dictionary indices: as strings, each row would hold its own copy.
            with pq.ParquetFile(arrow_source(path)) as file:
                # A right checksum shows that the table has not changed. It does not show that it is a table of counts.
                types = column_types(table, pre_tokens=self.pre_tokenizer is not None)
                if not file.schema_arrow.equals(types):
                    described = ", ".join(f"{field.name} ({field.type})" for field in types)
                    raise InputError(f"{path}: not a table of counts, whose columns are {described}")
                metadata = file.metadata
            with pq.ParquetFile(arrow_source(path), metadata=metadata, read_dictionary=names) as file:
                for number in range(file.num_row_groups):
                    first, last = _subset_bounds(file.metadata.row_group(number))
                    if first == last:
                        if first in wanted:
                            batches = file.iter_batches(1 << 16, [number], columns, use_threads=False)
                            yield from ((first, batch) for batch in batches)
                    elif any(first <= subset <= last for subset in wanted):
                        for batch in file.iter_batches(1 << 16, [number], [*names, *columns], use_threads=False):
                            for subset, part in _by_subset(batch):
                                if subset in wanted:
                                    yield subset, part.select(columns)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{path}: cannot read: {error}; run piecework count again, with --force") from error


def _subset(row: Mapping[str, Any]) -> SubsetName:
    return SubsetName(row["category"], row["language"])


_LAST_NAME = SubsetName(chr(0x10FFFF), chr(0x10FFFF))


def _subset_bounds(group: Any) -> tuple[SubsetName, SubsetName]:
    """The lowest and highest name that a row group can have, from the statistics of its language and category."""
    languages, categories = (group.column(number).statistics for number in (0, 1))
    if not (languages and categories and languages.has_min_max and categories.has_min_max):
        return SubsetName("", ""), _LAST_NAME
    return SubsetName(categories.min, languages.min), SubsetName(categories.max, languages.max)


def _by_subset(batch: pa.RecordBatch) -> Iterator[tuple[SubsetName, pa.RecordBatch]]:
    """Splits a batch by subset; its rows are sorted by subset."""
    import numpy as np

    languages: Any = batch["language"]
    categories: Any = batch["category"]
    # Arrow's to_numpy would import pandas if it is installed.
    first, second = (cast("npt.NDArray[Any]", np.from_dlpack(each.indices)) for each in (languages, categories))
    for start, stop in stretches(first * len(categories.dictionary) + second):
        yield SubsetName(categories[start].as_py(), languages[start].as_py()), batch.slice(start, stop - start)


def stretches(numbers: npt.NDArray[Any]) -> Iterator[tuple[int, int]]:
    """The start and stop of each stretch of equal numbers.

    >>> import numpy as np
    >>> list(stretches(np.array([7, 7, 3])))
    [(0, 2), (2, 3)]
    """
    import numpy as np

    cuts = np.flatnonzero(np.diff(numbers)) + 1
    return pairwise([0, *cuts.tolist(), len(numbers)] if len(numbers) else [])


def _times(counts: Any, scale: int, subset: SubsetName) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    try:
        return compute.multiply_checked(counts, pa.scalar(scale, pa.uint64()))
    except (pa.ArrowInvalid, OverflowError) as error:
        raise InputError(
            f"counts of {subset} times {scale:,} do not fit in 64 bits; use weights with fewer decimals"
        ) from error
