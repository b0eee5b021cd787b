"""Readers of training shards, written from the specifications of the formats, without any code of Piecework."""

import json
import os
import struct
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Documents = list[list[int]]

# The Python of an environment with megatron-core and torch, which are too large for the environment of the tests.
MEGATRON = os.environ.get("PIECEWORK_MEGATRON")


def read_megatron(stem: Path) -> Documents:
    index = Path(f"{stem}.idx").read_bytes()
    magic, version, dtype, sequences, entries = struct.unpack_from("<9sQBQQ", index)
    assert (magic, version, entries) == (b"MMIDIDX\0\0", 1, sequences + 1)
    at = 34
    lengths = np.frombuffer(index, "<i4", sequences, at)
    offsets = np.frombuffer(index, "<i8", sequences, at + 4 * sequences)
    documents = np.frombuffer(index, "<i8", entries, at + 12 * sequences)
    assert len(index) == at + 12 * sequences + 8 * entries
    assert documents.tolist() == list(range(entries))
    data = Path(f"{stem}.bin").read_bytes()
    kind = np.dtype({8: "<u2", 4: "<i4"}[dtype])
    assert len(data) == int(lengths.sum()) * kind.itemsize
    return [np.frombuffer(data, kind, n, at).tolist() for n, at in zip(lengths, offsets, strict=True)]


def read_datatrove(stem: Path) -> Documents:
    name, tokens, _ = Path(f"{stem}.ds.metadata").read_text().split("\n")
    width = int(name.rpartition("|")[2])
    ids = np.fromfile(f"{stem}.ds", {2: "<u2", 4: "<u4"}[width])
    ends = np.fromfile(f"{stem}.ds.index", "<u8").astype(np.int64)
    assert len(ids) == int(tokens) == (ends[-1] if len(ends) else 0)
    starts = [0, *ends[:-1].tolist()] if len(ends) else []
    return [ids[start:end].tolist() for start, end in zip(starts, ends, strict=True)]


def read_numpy(stem: Path) -> Documents:
    ids = np.load(f"{stem}.npy", mmap_mode="r")
    bounds = np.load(f"{stem}.documents.npy").tolist()
    described = json.loads(Path(f"{stem}.json").read_text())
    assert (described["tokens"], described["documents"]) == (len(ids), len(bounds) - 1)
    assert described["dtype"] == str(ids.dtype)
    return [ids[start:end].tolist() for start, end in pairwise(bounds)]


def read_arrow(stem: Path) -> Documents:
    with pa.memory_map(f"{stem}.arrow") as file:
        return pa.ipc.open_file(file).read_all().column("input_ids").to_pylist()


def read_parquet(stem: Path) -> Documents:
    return pq.read_table(f"{stem}.parquet").column("input_ids").to_pylist()


READERS = {
    "megatron": (read_megatron, ".idx"),
    "datatrove": (read_datatrove, ".ds"),
    "numpy": (read_numpy, ".documents.npy"),
    "arrow": (read_arrow, ".arrow"),
    "parquet": (read_parquet, ".parquet"),
}


def read_dataset(folder: Path, to: str) -> Documents:
    """The documents of all shards, in order of name."""
    read, suffix = READERS[to]
    stems = sorted(str(path).removesuffix(suffix) for path in folder.glob(f"*{suffix}"))
    return [document for stem in stems for document in read(Path(stem))]


_WITH_MEGATRON = """
import json, sys
from megatron.core.datasets.indexed_dataset import IndexedDataset
documents = []
for stem in sys.argv[1:]:
    dataset = IndexedDataset(stem)
    assert len(dataset.document_indices) == len(dataset) + 1
    documents += [dataset[i].tolist() for i in range(len(dataset))]
print(json.dumps(documents))
"""

_WITH_DATATROVE = """
import array, json, sys
from datatrove.pipeline.tokens.merger import get_data_reader, load_doc_ends
documents = []
for path in sys.argv[1:]:
    ends = load_doc_ends(open(f"{path}.index", "rb"))
    width = int(open(f"{path}.metadata").readline().rpartition("|")[2])
    kind = {2: "H", 4: "I"}[width]
    documents += [array.array(kind, data).tolist() for data in get_data_reader(open(path, "rb"), ends, nb_bytes=width)]
print(json.dumps(documents))
"""


def read_with_library(folder: Path, to: str) -> Documents:
    """The same, read by Megatron's or datatrove's own code. Without megatron-core the test is skipped."""
    if to == "megatron":
        if MEGATRON is None:
            pytest.skip("needs PIECEWORK_MEGATRON, a Python with megatron-core and torch")
        python, program, paths = MEGATRON, _WITH_MEGATRON, [str(path.with_suffix("")) for path in folder.glob("*.idx")]
    else:
        python, program, paths = sys.executable, _WITH_DATATROVE, [str(path) for path in folder.glob("*.ds")]
    done = subprocess.run([python, "-W", "ignore", "-c", program, *sorted(paths)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: Documents = json.loads(done.stdout.splitlines()[-1])
    return found
