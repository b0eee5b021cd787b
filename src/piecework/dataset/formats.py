"""The formats of training shards, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from piecework.dataset.arrow_files import ArrowWriter, ParquetWriter, int32_width
from piecework.dataset.datatrove import DatatroveWriter, unsigned_width
from piecework.dataset.flat_arrays import FlatArrayWriter
from piecework.dataset.megatron import MegatronWriter, megatron_width
from piecework.dataset.raw_files import ShardWriter

__all__ = ["FORMATS", "FORMAT_NAMES", "SUFFIXES", "DatasetFormat", "FormatName"]

FormatName = Literal["megatron", "datatrove", "numpy", "arrow", "parquet"]
FORMAT_NAMES: tuple[FormatName, ...] = get_args(FormatName)


@dataclass(frozen=True, slots=True)
class DatasetFormat:
    """How the documents of a shard are stored."""

    open: Callable[[Path, int, str], ShardWriter]
    """Makes a writer from the path without suffixes, the bytes of an id and the name of the tokenizer."""
    width: Callable[[int], int]
    """The bytes of an id for a vocabulary size."""
    signed: bool
    """Whether ids of 4 bytes are called int32."""

    def dtype(self, vocab_size: int) -> str:
        """The type of the ids, as in tokenized.json."""
        width = self.width(vocab_size)
        return "uint16" if width == 2 else "int32" if self.signed else "uint32"


FORMATS: Mapping[FormatName, DatasetFormat] = {
    "megatron": DatasetFormat(MegatronWriter, megatron_width, signed=True),
    "datatrove": DatasetFormat(DatatroveWriter, unsigned_width, signed=False),
    "numpy": DatasetFormat(FlatArrayWriter, unsigned_width, signed=False),
    "arrow": DatasetFormat(ArrowWriter, int32_width, signed=True),
    "parquet": DatasetFormat(ParquetWriter, int32_width, signed=True),
}

SUFFIXES: Mapping[FormatName, tuple[str, ...]] = {
    "megatron": (".bin", ".idx"),
    "datatrove": (".ds", ".ds.index", ".ds.metadata"),
    "numpy": (".npy", ".documents.npy", ".json"),
    "arrow": (".arrow",),
    "parquet": (".parquet",),
}
"""The suffixes of the files of a shard."""
