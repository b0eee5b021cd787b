"""How many processes fit into a memory limit: the memory of one was measured, shared memory included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from piecework.errors import InputError

if TYPE_CHECKING:
    from piecework.dataset.formats import FormatName
    from piecework.dataset.plan import DatasetPlan

__all__ = ["ENVIRONMENT", "DatasetBudget", "gathering_processes"]

# For the processes that encode. By default glibc keeps blocks of up to 32 MB for later and has a heap for each thread:
# a process that read Parquet grew to 240 MB. With these settings it takes 170 MB, and no more CPU.
ENVIRONMENT: Mapping[str, str] = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": str(4 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(16 << 20),
}

PARENT_BYTES = 75_000_000
# The interpreter, pyarrow, the cache of units when it has grown, and a batch of 2 MB in all its forms.
PROCESS_BYTES = 150_000_000
# Dictionaries and pages of typical Parquet files.
PARQUET_BYTES = 70_000_000
# The vocabulary and its tables, in each process and for each size.
PIECE_BYTES = 600
# What a writer holds before it writes.
WRITER_BYTES: Mapping[FormatName, int] = {
    "megatron": 4_000_000,
    "datatrove": 4_000_000,
    "numpy": 4_000_000,
    "arrow": 28_000_000,
    "parquet": 40_000_000,
}
SPILL_BYTES = 50_000_000
# Keys, lengths, offsets and the order, while a bucket is sorted.
GATHERED_DOCUMENT_BYTES = 60
GATHER_BYTES = 90_000_000


@dataclass(frozen=True, slots=True)
class DatasetBudget:
    """A memory limit, divided among the processes."""

    processes: int
    """As many as were asked for, or as fit."""
    memory_bytes: int

    @classmethod
    def share_out(cls, memory_bytes: int, plan: DatasetPlan, threads: int) -> DatasetBudget:
        """The processes that fit; an InputError if the memory is not enough for one."""
        parent, process = _parent_bytes(plan), _process_bytes(plan)
        if memory_bytes < parent + process:
            raise InputError(
                f"{memory_bytes / 1e6:.0f} MB of memory are too little; "
                f"--memory should be {-(-(parent + process) // 1_000_000)}MB or more"
            )
        return cls(max(1, min(threads, (memory_bytes - parent) // process)), memory_bytes)


def gathering_processes(budget: DatasetBudget, plan: DatasetPlan, documents: int) -> int:
    """How many processes may sort buckets at a time, for this many documents in all."""
    bucket = GATHER_BYTES + WRITER_BYTES[plan.format] + GATHERED_DOCUMENT_BYTES * documents // len(plan.targets)
    return max(1, min(budget.processes, (budget.memory_bytes - _parent_bytes(plan)) // bucket))


def _parent_bytes(plan: DatasetPlan) -> int:
    return PARENT_BYTES + PIECE_BYTES * sum(plan.encoding.sizes)


def _process_bytes(plan: DatasetPlan) -> int:
    has_parquet = any(part.file.format == "parquet" for shard in plan.shards for part in shard.slices)
    # A file of several languages becomes a file for each.
    subsets = max(len(shard.subsets) for shard in plan.shards)
    writer = subsets * WRITER_BYTES[plan.format] if plan.shuffle is None else SPILL_BYTES
    sizes = sum(PIECE_BYTES * size + writer for size in plan.encoding.sizes)
    return PROCESS_BYTES + (PARQUET_BYTES if has_parquet else 0) + sizes
