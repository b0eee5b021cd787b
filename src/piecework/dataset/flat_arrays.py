"""Writes `.npy` files for `numpy.load(path, mmap_mode="r")`: all ids in one array, and where documents start and end.

`NAME.npy` has the ids of all documents as uint16 or uint32. `NAME.documents.npy` has D + 1 numbers (uint64) for D
documents: document d is `ids[bounds[d]:bounds[d + 1]]`. `NAME.json` describes both files.
"""

from __future__ import annotations

import json
from array import array
from pathlib import Path

from piecework.dataset.raw_files import HashedFile, Lengths, WrittenFile

__all__ = ["FlatArrayWriter", "npy_header"]

HEADER_BYTES = 128
DTYPES = {2: "<u2", 4: "<u4"}


def npy_header(dtype: str, length: int) -> bytes:
    """The start of a `.npy` file with one axis, in version 1.0 of the format; always 128 bytes.

    >>> npy_header("<u2", 5)[10:66]
    b"{'descr': '<u2', 'fortran_order': False, 'shape': (5,), "
    """
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({length},), }}"
    return b"\x93NUMPY\x01\x00" + (HEADER_BYTES - 10).to_bytes(2, "little") + f"{text:<{HEADER_BYTES - 11}}\n".encode()


class FlatArrayWriter:
    """Writes one array of ids with the bounds of its documents."""

    def __init__(self, stem: Path, width: int, tokenizer: str) -> None:
        self._stem = stem
        self._width = width
        self._tokenizer = tokenizer
        self._ids = Path(f"{stem}.npy").open("wb")  # noqa: SIM115
        self._ids.write(bytes(HEADER_BYTES))
        self._lengths = Lengths(Path(f"{stem}.lengths"))

    def add(self, ids: bytes | memoryview, lengths: bytes) -> None:
        """Add documents."""
        self._ids.write(ids)
        self._lengths.add(lengths)

    def close(self) -> list[WrittenFile]:
        """Finish the three files. The header has the number of ids, so it is written last."""
        lengths = self._lengths
        lengths.finish()
        self._ids.seek(0)
        self._ids.write(npy_header(DTYPES[self._width], lengths.tokens))
        self._ids.close()
        described = {
            "tokenizer": self._tokenizer,
            "dtype": f"uint{8 * self._width}",
            "tokens": lengths.tokens,
            "documents": lengths.documents,
            "bounds": "documents.npy",
        }
        with (
            HashedFile(Path(f"{self._stem}.documents.npy")) as bounds,
            HashedFile(Path(f"{self._stem}.json")) as description,
        ):
            bounds.write(npy_header("<u8", lengths.documents + 1))
            bounds.write(array("q", [0]))
            for document_ends in lengths.document_ends():
                bounds.write(document_ends)
            description.write(json.dumps(described, indent=1).encode() + b"\n")
            lengths.remove()
            ids = WrittenFile.at(Path(f"{self._stem}.npy"), ".npy")
            return [ids, bounds.close(".documents.npy"), description.close(".json")]
