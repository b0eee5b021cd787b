"""The text to evaluate on, as counted units: from a study's counts, or from documents that are at hand."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from piecework import _core
from piecework.corpus.sampling import BUCKETS, Sampler
from piecework.counting.tables import DocumentCounter
from piecework.errors import InputError
from piecework.evaluation.metrics import Array, UnitKind

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["BLOCKS", "EvaluationUnits", "GroupBy", "UnitCounts", "UnitSource", "count_units"]

GroupBy = Literal["language", "subset"]

BLOCKS = 16
"""What is distinct is counted by blocks of two buckets, which takes half the memory that buckets would."""

_COLUMNS = ("language", "category", "bucket", "opens", "unit", "count")
_BATCH_DOCUMENTS = 1024


class UnitSource(Protocol):
    """Counted units: `Counts` of a study, or `UnitCounts`."""

    @property
    def languages(self) -> list[str]:
        """The languages, sorted."""

    def evaluation(
        self, language: Sequence[str] | None = None, category: str | None = None, *, plain: bool = False
    ) -> pa.Table:
        """Rows of language, category, bucket, opens, unit and count; `plain` is without ASCII punctuation."""


class UnitCounts:
    """The units of documents, counted by language; `count_units` makes them."""

    def __init__(self, tables: Mapping[UnitKind, pa.Table], languages: Iterable[str]) -> None:
        self._tables = tables
        self.languages = sorted(languages)

    def evaluation(
        self, language: Sequence[str] | None = None, category: str | None = None, *, plain: bool = False
    ) -> pa.Table:
        """Rows of language, category, bucket, opens, unit and count."""
        import pyarrow as pa
        from pyarrow import compute

        table = self._tables["eval_plain" if plain else "eval"]
        for name, wanted in (("language", language), ("category", category)):
            if wanted is not None:
                values = pa.array([wanted] if isinstance(wanted, str) else wanted, pa.string())
                table = table.filter(compute.is_in(table.column(name), value_set=values))
        return table

    def __repr__(self) -> str:
        return f"UnitCounts({self._tables['eval'].num_rows:,} rows, {', '.join(self.languages)})"


def count_units(
    documents: Mapping[str, Iterable[str]], *, seed: int = 1, buckets: Mapping[str, Sequence[int]] | None = None
) -> UnitCounts:
    """Counts the documents of each language, to evaluate tokenizers on.

    A document's bucket is that of a study with this seed, unless `buckets` tells one for each document.

    >>> counts = count_units({"sv": ["Hej, världen!"], "da": ["Hej, verden!"]})
    >>> counts.languages
    ['da', 'sv']
    >>> counts.evaluation(["sv"], plain=True).column("unit").to_pylist()
    [' världen', 'Hej']
    """
    sampler = Sampler(seed=seed, train=Fraction(0), evaluation=Fraction(0), weights={"": Fraction(1)})
    parts: dict[UnitKind, list[Any]] = {"eval": [], "eval_plain": []}
    for language in sorted(documents):
        if isinstance(documents[language], (str, bytes)):
            raise InputError(f'the documents of "{language}" are one string; for a single document write [text]')
        counter = DocumentCounter()
        texts = iter(documents[language])
        done = 0
        while batch := [text.encode("utf-8", "surrogatepass") for text in islice(texts, _BATCH_DOCUMENTS)]:
            if buckets is None:
                places = [sampler.place(text, "").bucket for text in batch]
            else:
                places = list(buckets[language][done : done + len(batch)])
            counter.add_evaluation(batch, places)
            done += len(batch)
        tables = counter.take()
        for kind in parts:
            parts[kind].append(_with_names(tables[kind], language))
    return UnitCounts({kind: _together(tables) for kind, tables in parts.items()}, documents)


def _with_names(table: pa.Table, language: str) -> pa.Table:
    import pyarrow as pa

    names = {"language": language, "category": ""}
    columns = {name: pa.repeat(pa.scalar(value, pa.string()), table.num_rows) for name, value in names.items()}
    return pa.table({**columns, **{name: table.column(name) for name in table.column_names}})


def _together(tables: list[pa.Table]) -> pa.Table:
    import pyarrow as pa

    return pa.concat_tables(tables or [_with_names(DocumentCounter().take()["eval"], "")])


@dataclass(frozen=True, slots=True)
class WordTypes:
    """The distinct words of a group, by their places among those of all groups.

    `only_in` is the block of a word that occurs in one alone, else `BLOCKS`.
    """

    places: Array
    only_in: Array


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Units as the core takes them: of each table by group, and of some tables by group and block of buckets."""

    units: _core.UnitSet
    blocks: Mapping[UnitKind, int]
    """Of each table, into how many blocks its groups are divided."""
    groups: int
    overall: bool
    """Whether the sum over all groups follows as one more."""

    @property
    def frequency_groups(self) -> int:
        """How many of the core's groups have token frequencies: those of the text as it is, which come first."""
        return self.groups * self.blocks.get("eval", 0)

    def frequencies(self, data: bytes) -> dict[UnitKind, Array]:
        """The core's frequencies, [groups][blocks][pieces], if the text as it is is among the tables."""
        if not self.frequency_groups:
            return {}
        return {"eval": self._with_all(np.frombuffer(data, np.int64).reshape(self.groups, self.blocks["eval"], -1))}

    def split(self, data: bytes, *shape: int) -> dict[UnitKind, Array]:
        """The core's whole numbers by table, each [groups][blocks][...]; none reaches 2**63, so signed ones do."""
        numbers = np.frombuffer(data, np.int64).reshape(self.groups * sum(self.blocks.values()), *shape)
        found, start = {}, 0
        for kind, blocks in self.blocks.items():
            stop = start + self.groups * blocks
            found[kind] = self._with_all(numbers[start:stop].reshape(self.groups, blocks, *shape))
            start = stop
        return found

    def _with_all(self, numbers: Array) -> Array:
        return np.concatenate([numbers, numbers.sum(axis=0, keepdims=True)]) if self.overall else numbers


class EvaluationUnits:
    """The units of the tables that are wanted, by group: a language or a subset.

    Tables share one set, so that a unit is encoded once though it is in both.

    >>> units = EvaluationUnits(count_units({"sv": ["ett två", "två"], "da": ["en"]}), ["eval"], ["da", "sv"])
    >>> units.text["eval"][:, :, 0].sum(axis=1).tolist()
    [1, 3]
    >>> units.words("eval").take(units.word_types("eval", 1).places).to_pylist()
    [' två']
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
    ) -> None:
        """`in_blocks` are the tables of which what is distinct is asked for; `overall` adds a group that is all."""
        tables = {
            kind: _checked(counts.evaluation(list(languages), plain=kind == "eval_plain"), counts) for kind in kinds
        }
        names = {kind: _group_names(table, by) for kind, table in tables.items()}
        found = sorted({str(name) for each in names.values() for name in each.unique().to_pylist()})
        self.groups: list[str] = list(languages) if by == "language" else found
        self.overall = overall
        self._tables = tables
        self._stretches = {
            kind: _stretches(names[kind], table.column("bucket"), self.groups) for kind, table in tables.items()
        }
        self._in_blocks = set(in_blocks)
        self._types: dict[tuple[UnitKind, int], WordTypes] = {}
        self._words: dict[UnitKind, tuple[pa.Array[Any], list[Array]]] = {}

    @cached_property
    def whole(self) -> Arrangement:
        """All units by group."""
        return self._arrange(dict.fromkeys(self._tables, 1))

    @cached_property
    def in_blocks(self) -> Arrangement:
        """All units by group, and by block where what is distinct is asked for."""
        return self._arrange({kind: BLOCKS if kind in self._in_blocks else 1 for kind in self._tables})

    @cached_property
    def text(self) -> dict[UnitKind, Array]:
        """Words, characters and bytes of each group and bucket."""
        arranged = self.in_blocks if self._in_blocks else self.whole
        totals = arranged.split(arranged.units.text_totals(), BUCKETS, 3)
        return {kind: np.asarray(each.sum(axis=1)) for kind, each in totals.items()}

    def words(self, kind: UnitKind) -> pa.Array[Any]:
        """The distinct words of all groups, each with one space before it."""
        return self._word_places(kind)[0]

    def word_types(self, kind: UnitKind, group: int) -> WordTypes:
        """The distinct words of a group; the group after the last is all of them."""
        if (kind, group) not in self._types:
            self._types[kind, group] = self._find_types(kind, group)
        return self._types[kind, group]

    def _arrange(self, blocks: dict[UnitKind, int]) -> Arrangement:
        import pyarrow as pa

        units = _core.UnitSet(len(self.groups) * sum(blocks.values()))
        start = 0
        for kind, table in self._tables.items():
            for stretch in self._stretches[kind]:
                group = start + stretch.group * blocks[kind] + stretch.bucket * blocks[kind] // BUCKETS
                rows = table.slice(stretch.start, stretch.length)
                for batch in rows.to_batches():
                    opens = batch["opens"].cast(pa.uint8())
                    units.add_columns(group, batch["bucket"], opens, batch["unit"], batch["count"])
            start += len(self.groups) * blocks[kind]
        return Arrangement(units, blocks, len(self.groups), self.overall)

    def _find_types(self, kind: UnitKind, group: int) -> WordTypes:
        words, by_stretch = self._word_places(kind)
        first = np.full(len(words), BLOCKS)
        last = np.full(len(words), -1)
        for stretch, places in zip(self._stretches[kind], by_stretch, strict=True):
            if group in (stretch.group, len(self.groups)):
                block = stretch.bucket * BLOCKS // BUCKETS
                first[places] = np.minimum(first[places], block)
                last[places] = np.maximum(last[places], block)
        found = np.flatnonzero(last >= 0)
        return WordTypes(found, np.where(first == last, first, BLOCKS)[found])

    def _word_places(self, kind: UnitKind) -> tuple[pa.Array[Any], list[Array]]:
        """The distinct words of a table, and those of each stretch of it by their places among them."""
        import pyarrow as pa
        from pyarrow import compute

        if kind not in self._words:
            chunks: list[Any] = []
            lengths = []
            for stretch in self._stretches[kind]:
                rows = self._tables[kind].slice(stretch.start, stretch.length)
                units = rows.column("unit").filter(compute.invert(rows.column("opens")))
                units = units.filter(compute.match_substring_regex(units, _ONE_WORD))
                chunks += units.chunks
                lengths.append(len(units))
            found = pa.chunked_array(chunks, pa.large_string()).combine_chunks().dictionary_encode()
            places = np.split(found.indices.to_numpy(), np.cumsum(lengths[:-1])) if lengths else []
            self._words[kind] = found.dictionary, places
        return self._words[kind]


# One space and then a word, as the core sees words: without what Python's str.split() splits at.
_ONE_WORD = (
    "^ [^\\x{09}-\\x{0D}\\x{1C}-\\x{20}\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}"
    "\\x{205F}\\x{3000}]+$"
)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Rows one after the other that are of one group and bucket."""

    group: int
    bucket: int
    start: int
    length: int


def _stretches(names: Any, buckets: Any, groups: list[str]) -> list[_Stretch]:
    import pyarrow as pa
    from pyarrow import compute

    codes = compute.index_in(names, value_set=pa.array(groups, names.type)).to_numpy(zero_copy_only=False)
    cells = codes * BUCKETS + buckets.to_numpy()
    starts = np.flatnonzero(np.r_[True, cells[1:] != cells[:-1]]) if len(cells) else np.empty(0, int)
    lengths = np.diff(np.r_[starts, len(cells)])
    return [
        _Stretch(*divmod(int(cells[start]), BUCKETS), int(start), int(length))
        for start, length in zip(starts, lengths, strict=True)
    ]


def _checked(table: pa.Table, counts: object) -> pa.Table:
    import pyarrow as pa

    missing = [name for name in _COLUMNS if name not in table.column_names]
    if missing:
        raise InputError(
            f"{counts!r} has no column {', '.join(missing)} in its evaluation table, so it was not made by this"
            " version; count again with piecework count"
        )
    types = {"bucket": pa.uint8(), "opens": pa.bool_(), "unit": pa.large_string(), "count": pa.uint64()}
    table = table.select(list(_COLUMNS))
    for name, type_ in types.items():
        if table.schema.field(name).type != type_:
            table = table.set_column(_COLUMNS.index(name), name, table.column(name).cast(type_))
    if len(table) and table.column("bucket").to_numpy().max() >= BUCKETS:
        raise InputError(f"{counts!r} has other buckets than 0 to {BUCKETS - 1}; count again with piecework count")
    return table


def _group_names(table: pa.Table, by: GroupBy) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    languages: Any = table.column("language").cast(pa.string())
    if by == "language":
        return languages.combine_chunks()
    categories: Any = table.column("category").cast(pa.string())
    subsets = compute.binary_join_element_wise(categories, languages, "_")
    return compute.if_else(compute.equal(categories, pa.scalar("")), languages, subsets).combine_chunks()
