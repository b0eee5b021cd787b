"""The cores and the memory of the machine, and how counting divides them among processes."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from piecework.errors import InputError

__all__ = ["Budget", "available_cores", "free_memory_bytes", "parse_size", "task_table_bytes"]

_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_BINARY_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}

PARENT_BYTES = 60_000_000
# A process without tables: the interpreter, pyarrow, and several copies of a batch.
PROCESS_BYTES = 160_000_000
SMALLEST_TABLE_BYTES = 16_000_000
# A task then takes about 0.5 GB, in addition to the memory of Java.
USUAL_TABLE_BYTES = 160_000_000
# Converting tables to Arrow, or sorting them, takes at most as much memory again.
TABLE_COPIES = 2
# The interpreter, pyarrow, and a row group; spill files take little.
MERGE_BYTES = 200_000_000
# The same if a row group is full of long texts. One process may always take this much.
LARGEST_MERGE_BYTES = 240_000_000


def parse_size(text: str) -> int:
    """A size as people write it, in bytes.

    >>> parse_size("2GB"), parse_size("1.5 GiB"), parse_size("500m")
    (2000000000, 1610612736, 500000000)
    >>> parse_size("plenty")
    Traceback (most recent call last):
    ValueError: "plenty" is no size; write it as 2GB, 500MB or 1.5GiB
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", text, re.IGNORECASE)
    if not match or (match[3] and not match[2]):
        raise ValueError(f'"{text}" is no size; write it as 2GB, 500MB or 1.5GiB')
    unit = (_BINARY_UNITS if match[3] else _UNITS)[match[2].lower()]
    return int(float(match[1]) * unit)


@dataclass(frozen=True, slots=True)
class Budget:
    """A memory limit, divided among the processes."""

    processes: int
    """As many as were asked for, or as fit."""
    table_bytes: int
    """How large a process may let its tables grow."""
    merging: int
    """How many of the processes may merge at a time."""

    @classmethod
    def share_out(cls, memory_bytes: int, threads: int) -> "Budget":
        """The share of each process; an InputError if the memory is not enough for one process.

        >>> Budget.share_out(2_000_000_000, 2).table_bytes
        405000000
        """
        smallest = PARENT_BYTES + PROCESS_BYTES + TABLE_COPIES * SMALLEST_TABLE_BYTES
        smallest = max(smallest, PARENT_BYTES + MERGE_BYTES)
        if memory_bytes < smallest:
            raise InputError(
                f"{memory_bytes / 1e6:.0f} MB of memory are too little; "
                f"--memory should be {smallest / 1e6:.0f}MB or more"
            )
        room = memory_bytes - PARENT_BYTES
        processes = max(1, min(threads, room // (PROCESS_BYTES + TABLE_COPIES * SMALLEST_TABLE_BYTES)))
        return cls(
            processes=processes,
            table_bytes=(room // processes - PROCESS_BYTES) // TABLE_COPIES,
            merging=max(1, min(processes, room // LARGEST_MERGE_BYTES)),
        )


def task_table_bytes(memory_bytes: int | None) -> int:
    """How large the tables of a task on a cluster may grow, with this memory limit or by default."""
    if memory_bytes is None:
        return USUAL_TABLE_BYTES
    return max(SMALLEST_TABLE_BYTES, (memory_bytes - PROCESS_BYTES) // TABLE_COPIES)


def available_cores() -> int:
    """The cores that this process may use, which in a container can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_memory_bytes() -> int:
    """What this process could still take: what the machine has free, or its container, whichever is less."""
    free = [_available()]
    for limit, usage in _cgroup_files():
        try:
            free.append(int(limit.read_text()) - int(usage.read_text()))
        except (OSError, ValueError):  # no such group, or "max"
            continue
    return max(0, min(free))


def _available() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _cgroup_files() -> list[tuple[Path, Path]]:
    """Files with the limit and the use of memory, of this process's control group and of those above it."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    files = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = Path("/sys/fs/cgroup/memory") if controllers else Path("/sys/fs/cgroup")
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if controllers else ("memory.max", "memory.current")
        group = root / path.lstrip("/")
        # Inside a container the path is often that of the host, and the group itself is at the root.
        for folder in (group, *group.parents):
            files.append((folder / names[0], folder / names[1]))
            if folder == root:
                break
    return files
