"""The ids of many texts as flat arrays with offsets: no Python object for each id, and no copy."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

from piecework._core import ByteLevelEncoder, Encoder, IdPacker

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

__all__ = ["IdArrays", "encode_flat", "flat_ids"]


@dataclass(frozen=True, slots=True, eq=False)
class IdArrays:
    """The ids of all texts one after the other. Text i has `ids[offsets[i]:offsets[i + 1]]`."""

    ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def to_arrow(self) -> pa.LargeListArray[Any]:
        """The same as an Arrow array of lists, on the same memory.

        >>> import piecework as pw
        >>> tokenizer = pw.train(["ha hade"], vocab_size=9)
        >>> arrays = tokenizer.encode_batch(["ha", "", "hade"], as_arrays=True)
        >>> arrays.to_arrow().to_pylist() == tokenizer.encode_batch(["ha", "", "hade"])
        True
        """
        import pyarrow as pa

        offsets: Any = pa.array(self.offsets)
        return pa.LargeListArray.from_arrays(offsets, pa.array(self.ids))


def encode_flat(
    encoder: Encoder | ByteLevelEncoder,
    texts: object,
    *,
    threads: int,
    before: Sequence[int] = (),
    after: Sequence[int] = (),
) -> IdArrays:
    """The ids of a sequence of str or bytes, or of an Arrow array of strings."""
    import numpy as np

    packer = IdPacker(4, before=before, after=after, smaller=None)
    [(ids, lengths)], _ = encoder.encode_packed(texts, [packer], threads)
    offsets = array("q", accumulate(array("I", lengths), initial=0))
    return IdArrays(np.frombuffer(ids, np.int32), np.frombuffer(offsets, np.int64))


def flat_ids(batch: Sequence[Sequence[int]]) -> IdArrays:
    """The same for ids that are lists already."""
    import numpy as np

    offsets = np.fromiter(accumulate(map(len, batch), initial=0), np.int64, len(batch) + 1)
    return IdArrays(np.fromiter(chain.from_iterable(batch), np.int32, int(offsets[-1])), offsets)
