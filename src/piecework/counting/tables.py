"""Counts one subset: words or pre-tokens for training, units for evaluation; as Arrow tables or as spill files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from piecework import _core
from piecework.common.pre_tokenizer import PreTokenizer
from piecework.corpus.passages import LONG_ENOUGH, PassageChoice
from piecework.counting.words import words_to_arrow
from piecework.study.count_settings import CountSettings

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DocumentCounter", "units_to_arrow"]

_Units = tuple[memoryview, memoryview, memoryview, memoryview, memoryview, memoryview]


class DocumentCounter:
    """Counts the documents of one subset.

    Training documents are counted as words. Evaluation documents are counted as units: a run of spaces and the text up
    to the next space. Units are counted twice: with and without ASCII punctuation.

    With a pre-tokenizer both are counted as pre-tokens, for evaluation with their `context`.

    >>> counter = DocumentCounter()
    >>> counter.add_evaluation(["Hej,  du!"], [7])
    >>> tables = counter.take()
    >>> tables["eval"].select(["opens", "unit"]).to_pylist()
    [{'opens': False, 'unit': '  du!'}, {'opens': True, 'unit': 'Hej,'}]
    >>> tables["eval_plain"].column("unit").to_pylist()
    ['  du', 'Hej']
    """

    def __init__(self, settings: CountSettings | None = None) -> None:
        settings = settings or CountSettings()
        normalization, pre_tokenizer = settings.normalization, settings.pre_tokenizer
        self._pre_tokens = pre_tokenizer is not None
        self.unmatched: Counter[str] = Counter()
        """The first characters of the pre-tokens that a custom pattern does not match. They are counted as well."""
        self._counter = _core.DocumentCounter(
            max_line_bytes=settings.max_sentence_length or 0,
            normalizer=normalization.normalizer() if normalization else None,
            split=_core.Split[settings.split],
            pre_tokenizer=pre_tokenizer._native if pre_tokenizer and pre_tokenizer.is_native else None,
            cut=partial(_cut, pre_tokenizer, self.unmatched) if pre_tokenizer and not pre_tokenizer.is_native else None,
        )

    def add_training(self, documents: Sequence[str | bytes], copies: int = 1) -> None:
        """Count the words of each document `copies` times."""
        self._counter.add_training(documents, copies)

    def add_evaluation(self, documents: Sequence[str | bytes], buckets: list[int], prefix: bytes = b"") -> None:
        """Count the units of each document in its bucket. `prefix`, a code token, is put before each document.

        Pre-tokens are counted without the prefix: there a special token is not text.
        """
        self._counter.add_evaluation(documents, buckets, prefix)

    def add_placed(
        self, documents: Any, placer: _core.Placer, *, prefix: bytes, passage: PassageChoice
    ) -> _core.PlacedBatch:
        """Place each document, and count it where it belongs; `documents` may be an Arrow array.

        The result names the documents whose passage could be better than the best of `passage`.
        """
        return self._counter.add_placed(
            documents, placer, prefix=prefix, best=passage.standing, long_enough=LONG_ENOUGH
        )

    @property
    def counts_pre_tokens(self) -> bool:
        """Whether it counts pre-tokens, and not words and units."""
        return self._pre_tokens

    @property
    def memory_bytes(self) -> int:
        """The memory of the tables, in bytes."""
        return self._counter.memory_bytes

    @property
    def dropped_lines(self) -> int:
        """Training lines that were dropped because they contain ▅ (U+2585) or exceed `max_sentence_length`."""
        return self._counter.statistics.marked_lines + self._counter.statistics.long_lines

    def take(self, *, ordered: bool = True) -> dict[str, pa.Table]:
        """Return the tables `train`, `eval` and `eval_plain`, sorted or in no order, and empty the counter."""
        return {
            "train": words_to_arrow(self._counter.take_training().columns(ordered=ordered)),
            **{
                table: units_to_arrow(
                    self._counter.take_evaluation(plain=table == "eval_plain", ordered=ordered),
                    pre_tokens=self._pre_tokens,
                )
                for table in ("eval", "eval_plain")
            },
        }

    def write(self, table: str, path: Path) -> int:
        """Write a table to a spill file, for `_core.SpillMerger`, and empty it; return its number of rows.

        An empty table makes no file.
        """
        if table == "train":
            return self._counter.write_training(os.fsencode(path))
        return self._counter.write_evaluation(os.fsencode(path), plain=table == "eval_plain")


def _cut(pre_tokenizer: PreTokenizer, unmatched: Counter[str], text: str) -> list[str]:
    """The pre-tokens of a text; those that the pattern does not match are noted."""
    parts, left_out = pre_tokenizer.cut(text)
    unmatched.update(part[0] for part in left_out)
    return parts


def units_to_arrow(columns: _Units, *, pre_tokens: bool = False) -> pa.Table:
    """Wraps the arrays of the core as an Arrow table of units and counts."""
    import pyarrow as pa

    n = len(columns[0])
    buckets, contexts, opens, offsets, data, counts = map(pa.py_buffer, columns)
    neighbours = (
        {"context": pa.Array.from_buffers(pa.uint8(), n, [None, contexts])}
        if pre_tokens
        else {"opens": pa.Array.from_buffers(pa.bool_(), n, [None, opens])}
    )
    return pa.table(
        {
            "bucket": pa.Array.from_buffers(pa.uint8(), n, [None, buckets]),
            **neighbours,
            "unit": pa.Array.from_buffers(pa.large_string(), n, [None, offsets, data]),
            "count": pa.Array.from_buffers(pa.uint64(), n, [None, counts]),
        }
    )
