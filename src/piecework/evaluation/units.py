"""The evaluation text as counted units: from the counts of a study, or from documents in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from threading import Lock
from typing import Literal, Protocol

import numpy as np
import pyarrow as pa

from piecework import _core
from piecework.common.pre_tokenizer import PreTokenizer
from piecework.common.subset_name import SubsetName
from piecework.corpus.sampling import BUCKETS, Sampler
from piecework.counting.files import column_types, with_names
from piecework.counting.store import stretches
from piecework.counting.tables import DocumentCounter
from piecework.errors import InputError
from piecework.evaluation.characters import TextCharacters, add_characters, count_characters
from piecework.evaluation.metrics import Array, UnitKind
from piecework.evaluation.word_spacing import unspaced_share
from piecework.study.count_settings import CountSettings

__all__ = ["BLOCKS", "EvaluationUnits", "GroupBy", "UnitCounts", "UnitSource", "count_units"]

GroupBy = Literal["language", "subset"]

BLOCKS = 16
"""Distinct things are counted in blocks of two buckets, which need half the memory of buckets."""

_BATCH_DOCUMENTS = 1024


class UnitSource(Protocol):
    """Counted units: the `Counts` of a study, or `UnitCounts`."""

    @property
    def languages(self) -> list[str]:
        """The languages, sorted."""

    @property
    def pre_tokenizer(self) -> PreTokenizer | None:
        """What cut the documents, if units are pre-tokens; None for units of SentencePiece."""

    def evaluation(
        self, language: Sequence[str] | None = None, category: str | None = None, *, plain: bool = False
    ) -> pa.Table:
        """Rows of language, category, bucket, opens, unit and count; `plain` is without ASCII punctuation.

        Where units are pre-tokens, `context` stands in place of `opens`.
        """

    def evaluation_batches(
        self, language: Sequence[str] | None = None, category: str | None = None, *, plain: bool = False
    ) -> Iterator[tuple[SubsetName, pa.RecordBatch]]:
        """The same, each batch of one subset, and without columns for language and category."""

    def evaluation_subsets(self, language: Sequence[str], *, plain: bool = False) -> set[SubsetName]:
        """The subsets of these languages that have rows."""


class UnitCounts:
    """The units of documents, counted by language. `count_units` makes them."""

    def __init__(
        self, tables: Mapping[UnitKind, Mapping[str, pa.Table]], *, pre_tokenizer: PreTokenizer | None = None
    ) -> None:
        """Tables of bucket, opens, unit and count, by language."""
        self._tables = tables
        self.pre_tokenizer = pre_tokenizer
        self.languages = sorted(tables["eval"])

    def evaluation(
        self, language: Sequence[str] | None = None, category: str | None = None, *, plain: bool = False
    ) -> pa.Table:
        """Rows of language, category, bucket, opens, unit and count."""
        types = column_types("eval", pre_tokens=self.pre_tokenizer is not None)
        batches = self.evaluation_batches(language, category, plain=plain)
        return pa.concat_tables([types.empty_table(), *(with_names("eval", rows, subset) for subset, rows in batches)])

    def evaluation_batches(
        self, language: Sequence[str] | None = None, category: str | None = None, *, plain: bool = False
    ) -> Iterator[tuple[SubsetName, pa.RecordBatch]]:
        """The same, each batch of one language; the category of its subset is empty."""
        wanted = self.languages if language is None else [language] if isinstance(language, str) else language
        for name, table in self._tables["eval_plain" if plain else "eval"].items():
            if name in wanted and not category:
                yield from ((SubsetName("", name), batch) for batch in table.to_batches())

    def evaluation_subsets(self, language: Sequence[str], *, plain: bool = False) -> set[SubsetName]:
        """The languages that have rows, each as a subset without a category."""
        return {name for name, _ in self.evaluation_batches(language, plain=plain)}

    def __repr__(self) -> str:
        rows = sum(table.num_rows for table in self._tables["eval"].values())
        return f"UnitCounts({rows:,} rows, {', '.join(self.languages)})"


def count_units(
    documents: Mapping[str, Iterable[str]],
    *,
    seed: int = 1,
    buckets: Mapping[str, Sequence[int]] | None = None,
    pre_tokenizer: str | PreTokenizer | None = None,
) -> UnitCounts:
    """Counts the units of documents by language, to evaluate tokenizers on them.

    A document has the bucket that a study with this seed gives it, unless `buckets` lists one for each document. With
    a pre-tokenizer the units are pre-tokens, for byte-level tokenizers that have it.

    >>> counts = count_units({"sv": ["Hej, världen!"], "da": ["Hej, verden!"]})
    >>> counts.languages
    ['da', 'sv']
    >>> counts.evaluation(["sv"], plain=True).column("unit").to_pylist()
    [' världen', 'Hej']
    """
    named = PreTokenizer(pre_tokenizer) if isinstance(pre_tokenizer, str) else pre_tokenizer
    settings = CountSettings(pre_tokenizer=named)
    bucket_of = Sampler(seed=seed, train=Fraction(0), evaluation=Fraction(0), weights={}).bucket
    tables: dict[UnitKind, dict[str, pa.Table]] = {"eval": {}, "eval_plain": {}}
    for language in sorted(documents):
        if isinstance(documents[language], (str, bytes)):
            raise InputError(f'the documents of "{language}" are one string; for a single document write [text]')
        counter = DocumentCounter(settings)
        texts = iter(documents[language])
        done = 0
        while batch := [text.encode("utf-8", "surrogatepass") for text in islice(texts, _BATCH_DOCUMENTS)]:
            if buckets is None:
                chosen = [bucket_of(text) for text in batch]
            else:
                chosen = list(buckets[language][done : done + len(batch)])
            counter.add_evaluation(batch, chosen)
            done += len(batch)
        for kind, table in counter.take().items():
            if kind in tables:
                tables[kind][language] = table
    return UnitCounts(tables, pre_tokenizer=settings.pre_tokenizer)


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Units in the order of the core: by table and group, and for some tables also by block of buckets."""

    units: _core.UnitSet
    blocks: Mapping[UnitKind, int]
    """For each table, the number of blocks in each of its groups."""
    groups: int
    overall: bool
    """Whether results get one more group: the sum of all groups."""

    @property
    def frequency_groups(self) -> int:
        """The number of leading groups with token frequencies: those of the unchanged text."""
        return self.groups * self.blocks.get("eval", 0)

    def curves(self, numbers: Array) -> dict[UnitKind, Array]:
        """The core's curves, [tables][groups][...], by table."""
        return {kind: self.with_all(each) for kind, each in zip(self.blocks, numbers, strict=True)}

    def types(self, numbers: Array) -> dict[UnitKind, Array]:
        """The core's word types, [...][tables][groups and all of them][blocks and several], by table."""
        return dict(zip(self.blocks, np.moveaxis(numbers, -3, 0), strict=True)) if numbers.size else {}

    def frequencies(self, numbers: Array) -> dict[UnitKind, Array]:
        """The core's frequencies as [groups][blocks][pieces], if the text with punctuation is among the tables.

        The overall group has none. They have 32 bits where all of them fit, so a sum must ask for 64.
        """
        if not self.frequency_groups:
            return {}
        return {"eval": numbers.reshape(self.groups, self.blocks["eval"], -1)}

    def split(self, numbers: Array) -> dict[UnitKind, Array]:
        """The core's totals, [groups of all tables][...], by table: each [groups][blocks][...]."""
        found, start = {}, 0
        for kind, blocks in self.blocks.items():
            stop = start + self.groups * blocks
            found[kind] = self.with_all(numbers[start:stop].reshape(self.groups, blocks, *numbers.shape[1:]))
            start = stop
        return found

    def with_all(self, numbers: Array) -> Array:
        """Numbers by group, with the sum of all groups added as one more if `overall`."""
        return np.concatenate([numbers, numbers.sum(axis=0, keepdims=True)]) if self.overall else numbers


class EvaluationUnits:
    """The units of the requested tables, by group: a language or a subset.

    All tables share one set of units, so that a unit in both tables is encoded once.

    >>> units = EvaluationUnits(count_units({"sv": ["ett två", "två"], "da": ["en"]}), ["eval"], ["da", "sv"])
    >>> units.text["eval"][:, :, 0].sum(axis=1).tolist()
    [1, 3]
    """

    def __init__(
        self,
        counts: UnitSource,
        kinds: Sequence[UnitKind],
        languages: Sequence[str],
        *,
        by: GroupBy = "language",
        in_blocks: Collection[UnitKind] = (),
        overall: bool = False,
        by_subset: EvaluationUnits | None = None,
    ) -> None:
        """`in_blocks` are the tables whose metrics count distinct things; `overall` adds a group of all languages.

        `by_subset` are the units of the same tables by subset: the languages are made from their groups, which is
        faster than from the counts.
        """
        self.by_subset = by_subset
        self.overall = overall
        self._counts = counts
        self.languages = list(languages)
        self.pre_tokenizer = counts.pre_tokenizer
        """What cut the documents, if units are pre-tokens."""
        self.by: GroupBy = by
        self._kinds = list(kinds)
        self._in_blocks = set(in_blocks)
        self._arrangements: dict[tuple[bool, bool], Arrangement] = {}
        self._lock = Lock()

    @cached_property
    def subsets(self) -> list[SubsetName]:
        """The subsets with text, in the order of their names."""
        kinds = [kind == "eval_plain" for kind in self._kinds]
        found = {name for plain in kinds for name in self._counts.evaluation_subsets(self.languages, plain=plain)}
        return sorted(found, key=_group)

    @cached_property
    def groups(self) -> list[str]:
        """The names of the languages or subsets."""
        return self.languages if self.by == "language" else list(map(_group, self.subsets))

    def arranged(self, *, in_blocks: bool = False, cut_lines: bool = True) -> Arrangement:
        """All units by group; with `in_blocks`, also by block in the tables that need it.

        `cut_lines` is for encoders that never merge across a newline: fewer units are distinct, so there is less to do.
        """
        cut_lines = cut_lines and self.pre_tokenizer is None
        with self._lock:
            if (in_blocks, cut_lines) not in self._arrangements:
                blocks = {kind: BLOCKS if in_blocks and kind in self._in_blocks else 1 for kind in self._kinds}
                self._arrangements[in_blocks, cut_lines] = self._arrange(blocks, cut_lines=cut_lines)
            return self._arrangements[in_blocks, cut_lines]

    def prepare(self) -> None:
        """Reads and sorts the units that most tokenizers need; this takes a while, on one thread."""
        _ = self.text, self.unspaced_shares

    def release(self) -> None:
        """Frees the memory of the units, once all tokenizers have encoded them."""
        self._arrangements.clear()
        _core.return_freed_memory()

    @cached_property
    def text(self) -> dict[UnitKind, Array]:
        """Words, characters and bytes of each group and bucket."""
        arranged = self.arranged(in_blocks=bool(self._in_blocks))
        totals = arranged.split(arranged.units.text_totals())
        return {kind: np.asarray(each.sum(axis=1)) for kind, each in totals.items()}

    @cached_property
    def unspaced_shares(self) -> dict[str, float]:
        """For each group, the share of its characters, spaces aside, that are of scripts written without spaces."""
        by_group: dict[str, list[TextCharacters]] = {group: [] for group in self.groups}
        for subset, characters in self.characters.items():
            by_group[self._group(subset)].append(characters)
        return {group: unspaced_share(add_characters(parts)) for group, parts in by_group.items()}

    @cached_property
    def characters(self) -> dict[SubsetName, TextCharacters]:
        """The characters of the text as it is, by subset."""
        if self.by_subset is not None:
            return self.by_subset.characters
        return count_characters(self._counts.evaluation_batches(self.languages))

    def _arrange(self, blocks: dict[UnitKind, int], *, cut_lines: bool) -> Arrangement:
        if self.by_subset is not None:
            return self._from_subsets(self.by_subset, blocks, cut_lines=cut_lines)
        groups = len(self.groups) * sum(blocks.values())
        units = _core.UnitSet(groups, cut_lines=cut_lines, pre_tokens=self.pre_tokenizer is not None)
        start = 0
        for kind in self._kinds:
            for group, bucket, rows in self._rows(kind):
                cell = start + group * blocks[kind] + bucket * blocks[kind] // BUCKETS
                try:
                    units.add_columns(cell, *(rows[column] for column in rows.schema.names))
                except (ValueError, OverflowError) as error:
                    raise InputError(f"the evaluation counts are damaged: {error}; count again") from error
            start += len(self.groups) * blocks[kind]
        pa.default_memory_pool().release_unused()  # memory of the reader
        return Arrangement(units, blocks, len(self.groups), self.overall)

    def _from_subsets(self, subsets: EvaluationUnits, blocks: dict[UnitKind, int], *, cut_lines: bool) -> Arrangement:
        finer = subsets.arranged(in_blocks=any(count > 1 for count in blocks.values()), cut_lines=cut_lines)
        languages = [self.groups.index(subset.language) for subset in subsets.subsets]
        new_groups: list[int] = []
        start = 0
        for kind in self._kinds:
            count = blocks[kind]
            new_groups += [start + language * count + block for language in languages for block in range(count)]
            start += len(self.groups) * count
        units = _core.UnitSet(finer.units, start, new_groups=new_groups)
        return Arrangement(units, blocks, len(self.groups), self.overall)

    def _rows(self, kind: UnitKind) -> Iterator[tuple[int, int, pa.RecordBatch]]:
        """Group, bucket, and rows of these."""
        for subset, batch in self._counts.evaluation_batches(self.languages, plain=kind == "eval_plain"):
            rows = _checked(batch, self._counts, pre_tokens=self.pre_tokenizer is not None)
            group = self.groups.index(self._group(subset))
            buckets = np.from_dlpack(rows["bucket"])
            for start, stop in stretches(buckets):
                yield group, int(buckets[start]), rows.slice(start, stop - start)

    def _group(self, subset: SubsetName) -> str:
        return subset.language if self.by == "language" else _group(subset)


def _group(subset: SubsetName) -> str:
    """The name of the group of a subset; documents in memory have no category."""
    return str(subset) if subset.category else subset.language


def _checked(batch: pa.RecordBatch, counts: object, *, pre_tokens: bool) -> pa.RecordBatch:
    """The columns that the core needs, in its order and with its types."""
    neighbours = "context" if pre_tokens else "opens"
    types = {"bucket": pa.uint8(), neighbours: pa.uint8(), "unit": pa.large_string(), "count": pa.uint64()}
    if missing := [name for name in types if name not in batch.schema.names]:
        raise InputError(
            f"{counts!r} has no column {', '.join(missing)} in its evaluation table, so another version made it;"
            " count again with piecework count"
        )
    if len(batch) and np.from_dlpack(batch["bucket"]).max() >= BUCKETS:
        raise InputError(f"{counts!r} has buckets outside 0 to {BUCKETS - 1}; count again with piecework count")
    return pa.RecordBatch.from_arrays([batch[name].cast(type_) for name, type_ in types.items()], list(types))
