"""tokenized.json: what a dataset holds. It is written last and makes the dataset valid."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

from piecework.common.exact import format_exact
from piecework.common.manifest import Each, Shape, inner_path, read_manifest
from piecework.common.storage import Location, relative_name
from piecework.common.subset_name import SubsetName
from piecework.corpus.skipped import Skipped, skipped_rows
from piecework.counting.summary import sum_skipped
from piecework.dataset.formats import FORMATS
from piecework.dataset.plan import FORMAT_VERSION, DatasetPlan
from piecework.dataset.shard_result import TokenizedShard
from piecework.errors import DamagedError

__all__ = ["TOKENIZED", "describe", "file_row", "files_of", "read_tokenized"]

TOKENIZED = "tokenized.json"

_SHAPE: Mapping[str, Shape] = {
    "format": int,
    "key": str,
    "settings": Each(str | int | list | None),
    "model": {"name": str, "kind": str, "sha256": str, "vocab_size": int},
    "datasets": [{"folder": str, "vocab_size": int, "dtype": str, "tokens": int}],
    "subsets": [
        {
            **dict.fromkeys(("category", "language", "weight"), str),
            **dict.fromkeys(("read_documents", "documents", "empty_documents", "skipped_records", "text_bytes"), int),
            "tokens": [int],
            "share": [float],
        }
    ],
    "shards": [
        {
            "name": str,
            "subset": str,
            "documents": int,
            "tokens": [int],
            "files": [{"path": str, "size_bytes": int, "checksum": str}],
        }
    ],
    "inputs": [{"path": str, "subset": str, "size_bytes": int, "sha256": [[int | str | None]]}],
    "skipped": [{"category": str, "language": str, "reason": str, "records": int, "first": [str]}],
    "extra_files": [{"path": str, "size_bytes": int, "checksum": str}],
}


def read_tokenized(folder: Location) -> dict[str, Any] | None:
    """The content of tokenized.json; None where there is none, a DamagedError where it is damaged."""
    description = read_manifest(folder / TOKENIZED, _SHAPE, format_version=FORMAT_VERSION)
    if description is not None:
        folders = [dataset["folder"] for dataset in description["datasets"] if dataset["folder"]]
        for name in [*folders, *(row["path"] for row in files_of(description))]:
            try:
                inner_path(Path(str(folder)), name)
            except ValueError as error:
                raise DamagedError(folder / TOKENIZED, str(error)) from None
    return description


def files_of(description: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of all files that a tokenized.json describes."""
    shards = (file for shard in description["shards"] for file in shard["files"])
    return [*shards, *description["extra_files"]]


def describe(
    plan: DatasetPlan,
    results: Sequence[TokenizedShard],
    written: Sequence[TokenizedShard],
    *,
    model: Mapping[str, Any],
    extra_files: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The content of tokenized.json. It has no times: the same documents and settings give the same file."""
    sizes = plan.encoding.sizes
    dataset_format = FORMATS[plan.format]
    return {
        "format": FORMAT_VERSION,
        "key": plan.key,
        "settings": dict(plan.settings),
        "model": dict(model),
        "datasets": [
            {
                "folder": folder,
                "vocab_size": size,
                "dtype": dataset_format.dtype(size),
                "tokens": sum(result.tokens(index) for result in results),
            }
            for index, (folder, size) in enumerate(zip(plan.folders, sizes, strict=True))
        ],
        "subsets": _subset_rows(plan, results),
        "shards": list(_shard_rows(plan, written)),
        "inputs": _inputs(plan, results),
        "skipped": skipped_rows(skipped_records(plan, results)),
        "extra_files": [dict(file) for file in extra_files],
    }


def _shard_rows(plan: DatasetPlan, written: Sequence[TokenizedShard]) -> Iterator[dict[str, Any]]:
    sizes = len(plan.folders)
    # A shuffled shard has documents of all subsets.
    subsets = [tuple(map(str, shard.subsets)) for shard in plan.shards] if plan.shuffle is None else repeat(("",))
    for names, own_subsets, result in zip(plan.names, subsets, written, strict=plan.shuffle is None):
        for index, (name, subset, output) in enumerate(zip(names, own_subsets, result.outputs, strict=True)):
            files = result.files[index * sizes : (index + 1) * sizes]
            if any(files):
                yield {
                    "name": name,
                    "subset": subset,
                    "documents": output.statistics["documents"],
                    "tokens": list(output.tokens),
                    "files": [
                        {
                            "path": f"{folder}/{name}{file.suffix}".lstrip("/"),
                            "size_bytes": file.size_bytes,
                            "checksum": file.checksum,
                        }
                        for folder, own in zip(plan.folders, files, strict=True)
                        for file in own
                    ],
                }


def skipped_records(plan: DatasetPlan, results: Sequence[TokenizedShard]) -> dict[SubsetName, Skipped]:
    """What was skipped, by subset, with lines counted from the start of each file."""
    parts = [
        (shard, part, result)
        for shard, whole in zip(plan.shards, results, strict=True)
        for part, result in zip(shard.slices, whole.slices, strict=True)
    ]
    return sum_skipped(parts, [subset.name for subset in plan.source.subsets], folder=plan.source.folder)


def _subset_rows(plan: DatasetPlan, results: Sequence[TokenizedShard]) -> list[dict[str, Any]]:
    sizes = len(plan.encoding.sizes)
    statistics: dict[SubsetName, Counter[str]] = {subset.name: Counter() for subset in plan.source.subsets}
    tokens = {subset.name: [0] * sizes for subset in plan.source.subsets}
    for shard, result in zip(plan.shards, results, strict=True):
        for name, output in zip(shard.subsets, result.outputs, strict=True):
            statistics[name].update(output.statistics)
            for index, count in enumerate(output.tokens):
                tokens[name][index] += count
    totals = [sum(counts[index] for counts in tokens.values()) for index in range(sizes)]
    return [
        {
            "category": subset.category,
            "language": subset.language,
            "weight": format_exact(subset.weight),
            **{
                name: statistics[subset.name][name]
                for name in ("read_documents", "documents", "empty_documents", "skipped_records", "text_bytes")
            },
            "tokens": tokens[subset.name],
            "share": [
                count / total if total else 0.0 for count, total in zip(tokens[subset.name], totals, strict=True)
            ],
        }
        for subset in plan.source.subsets
        if subset.weight
    ]


def _inputs(plan: DatasetPlan, results: Sequence[TokenizedShard]) -> list[dict[str, Any]]:
    """Every file with the hash of its bytes, or of parts of them: start, stop and SHA-256."""
    files: dict[tuple[str, str], dict[str, Any]] = {}
    for shard, result in zip(plan.shards, results, strict=True):
        for part, digest in zip(shard.slices, result.hashes, strict=True):
            name = relative_name(part.file.path, plan.source.folder)
            subsets = ", ".join(map(str, shard.subsets))
            row = files.setdefault(
                (subsets, name), {"path": name, "subset": subsets, "size_bytes": part.file.size_bytes, "sha256": []}
            )
            if digest:
                stop = None if part.file.format == "parquet" else part.stop
                row["sha256"].append([part.start, stop, digest])
    return list(files.values())


def file_row(path: str, data: bytes) -> dict[str, Any]:
    """The description of a small file that is written beside the shards."""
    return {"path": path, "size_bytes": len(data), "checksum": hashlib.sha256(data).hexdigest()}
