"""How often each piece is a token, by subset and by block of documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from piecework.corpus.sampling import BUCKETS
from piecework.evaluation.metrics import Array
from piecework.evaluation.passes import Evaluator, PassResult
from piecework.evaluation.text_sample import unit_sample
from piecework.evaluation.units import BLOCKS, EvaluationUnits, UnitSource
from piecework.health.vocabulary_checks import Native
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PieceUse", "piece_use"]


@dataclass(frozen=True, eq=False)
class PieceUse:
    """How often each piece is a token of the evaluation text."""

    groups: Sequence[str]
    """The subsets."""
    tokens: Array
    """[subsets][16 blocks of documents][pieces]."""
    units: EvaluationUnits | None
    """The units of the text as it is, by subset, if they were arranged."""
    found: PassResult | None
    """The result of encoding them."""

    @cached_property
    def totals(self) -> Array:
        """The tokens of each piece."""
        return np.asarray(self.tokens.sum(axis=(0, 1), dtype=np.int64))

    @cached_property
    def block_tokens(self) -> Array:
        """The tokens of each block of each subset."""
        return np.asarray(self.tokens.sum(axis=2, dtype=np.int64))


def piece_use(
    tokenizer: Native, counts: UnitSource, *, units: EvaluationUnits | None = None, threads: int = 1
) -> PieceUse:
    """Encodes the evaluation text of the counts and counts the tokens of each piece.

    With `units` of these counts by subset, the pass also gives the totals of their other tables.

    >>> import piecework as pw
    >>> text = ["en ros är en ros"] * 4
    >>> tokenizer = pw.train(text, vocab_size=16)
    >>> use = piece_use(tokenizer, pw.count_units({"sv": text}))
    >>> int(use.totals[tokenizer.encode("ros")[0]])
    8
    """
    units = units or EvaluationUnits(counts, ["eval"], list(counts.languages), by="subset", in_blocks={"eval"})
    if isinstance(tokenizer, Tokenizer) or counts.pre_tokenizer is not None:
        found = Evaluator(tokenizer, name="the tokenizer", sizes=None, threads=threads).run(units, in_blocks=True)
        return PieceUse(units.groups, found.by_block()["eval"], units, found)
    tokens = np.zeros((len(units.groups), BLOCKS, tokenizer.vocab_size), np.int64)
    for language in counts.languages:
        for subset, table in _tables(counts, language):
            group = subset if subset in units.groups else language
            tokens[units.groups.index(group)] += _block_tokens(tokenizer, table, threads=threads)
    return PieceUse(units.groups, tokens, None, None)


def _tables(counts: UnitSource, language: str) -> Iterator[tuple[str, pa.Table]]:
    """The units of each subset of a language."""
    import pyarrow as pa

    batches: dict[str, list[pa.RecordBatch]] = {}
    for subset, batch in counts.evaluation_batches([language]):
        batches.setdefault(str(subset), []).append(batch)
    return ((name, pa.Table.from_batches(each)) for name, each in batches.items())


def _block_tokens(tokenizer: ByteLevelTokenizer, table: pa.Table, *, threads: int) -> Array:
    """The tokens of each piece in each block. A unit inside a document is encoded after "a", which is not counted."""
    sample = unit_sample(table)
    encoded = tokenizer.encode_batch(sample.texts, threads=threads)
    encoded = [ids[skip:] for ids, skip in zip(encoded, sample.skip.tolist(), strict=True)]
    owner = np.repeat(np.arange(len(encoded)), [len(ids) for ids in encoded])
    ids = np.fromiter(chain.from_iterable(encoded), np.int64, len(owner))
    by_text = np.zeros((len(encoded), BLOCKS), np.int64)
    np.add.at(by_text, (sample.text_index, sample.buckets * BLOCKS // BUCKETS), sample.counts)
    tokens = [np.bincount(ids, by_text[owner, block], tokenizer.vocab_size) for block in range(BLOCKS)]
    return np.array(tokens).astype(np.int64)
