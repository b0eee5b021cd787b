"""The native tables of one subset, given out as Arrow: words for training, units for evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from piecework import _core
from piecework.counting.words import words_to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DocumentCounter"]


class DocumentCounter:
    """Counts documents of one subset.

    Training documents are counted as words. Evaluation documents are counted as units, a run of spaces with the text up
    to the next space, both as they are and with ASCII punctuation removed.

    >>> counter = DocumentCounter()
    >>> counter.add_evaluation(["Hej,  du!"], [7])
    >>> tables = counter.take()
    >>> tables["eval"].select(["opens", "unit"]).to_pylist()
    [{'opens': False, 'unit': '  du!'}, {'opens': True, 'unit': 'Hej,'}]
    >>> tables["eval_plain"].column("unit").to_pylist()
    ['  du', 'Hej']
    """

    def __init__(self) -> None:
        self._counter = _core.DocumentCounter()

    def add_training(self, documents: Sequence[str | bytes], copies: int = 1) -> None:
        """Counts the words of each document `copies` times."""
        self._counter.add_training(documents, copies)

    def add_evaluation(self, documents: Sequence[str | bytes], buckets: list[int], prefix: bytes = b"") -> None:
        """Counts the units of each document in its bucket. `prefix`, a code token, stands before each text."""
        self._counter.add_evaluation(documents, buckets, prefix)

    @property
    def memory_bytes(self) -> int:
        """The memory that the tables take so far."""
        return self._counter.memory_bytes

    @property
    def dropped_lines(self) -> int:
        """Training lines left out because they contain ▅ (U+2585)."""
        return self._counter.statistics.marked_lines

    def take(self, *, ordered: bool = True) -> dict[str, pa.Table]:
        """The tables `train`, `eval` and `eval_plain`, sorted or in no order; the counter is empty afterwards."""
        return {
            "train": words_to_arrow(self._counter.take_training(), ordered=ordered),
            "eval": self._units(plain=False, ordered=ordered),
            "eval_plain": self._units(plain=True, ordered=ordered),
        }

    def _units(self, *, plain: bool, ordered: bool) -> pa.Table:
        import pyarrow as pa

        buckets, opens, offsets, data, counts = map(pa.py_buffer, self._counter.take_evaluation(plain, ordered=ordered))
        n = buckets.size
        return pa.table(
            {
                "bucket": pa.Array.from_buffers(pa.uint8(), n, [None, buckets]),
                "opens": pa.Array.from_buffers(pa.uint8(), n, [None, opens]).cast(pa.bool_()),
                "unit": pa.Array.from_buffers(pa.large_string(), n, [None, offsets, data]),
                "count": pa.Array.from_buffers(pa.uint64(), n, [None, counts]),
            }
        )
