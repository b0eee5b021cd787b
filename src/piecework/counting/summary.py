"""What the shards of a run come to: subsets.parquet and counts.json."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from piecework.common.exact import format_exact
from piecework.common.files import replace_atomically
from piecework.common.storage import Location, relative_name
from piecework.common.subset_name import SubsetName
from piecework.corpus.skipped import Skipped
from piecework.counting.files import COUNTS_FILE, TABLES
from piecework.counting.partial import ShardResult
from piecework.counting.plan import Plan
from piecework.counting.store import FORMAT, Counts
from piecework.study.subsets import Subset

__all__ = ["statistics_of", "subset_rows", "sum_by_subset", "sum_skipped", "write_description"]

SIDES = ("read", "train", "eval", "unused")


def sum_by_subset(plan: Plan, results: Sequence[ShardResult]) -> dict[SubsetName, Counter[str]]:
    """The documents, characters and bytes on each side, by the subset's name."""
    statistics: dict[SubsetName, Counter[str]] = {subset.name: Counter() for subset in plan.subsets}
    for shard, result in zip(plan.shards, results, strict=True):
        statistics[shard.subset].update(result.statistics)
    return statistics


def sum_skipped(plan: Plan, results: Sequence[ShardResult]) -> Skipped:
    """What was left out of all files, with the lines counted from the start of each file."""
    parts = [
        (part, of)
        for shard, result in zip(plan.shards, results, strict=True)
        for part, of in zip(shard.slices, result.slices, strict=True)
    ]
    total = Skipped()
    lines: Counter[Location] = Counter()
    for part, of in sorted(parts, key=lambda item: (str(item[0].file.path), item[0].start)):
        name = relative_name(part.file.path, plan.study.folder)
        total.update(of.to_skipped(name), lines_before=lines[part.file.path])
        lines[part.file.path] += of.lines
    return total


def subset_rows(plan: Plan, statistics: Mapping[SubsetName, Mapping[str, int]]) -> list[dict[str, Any]]:
    """The rows of subsets.parquet, sorted by language and category."""
    return [_row(plan, subset, statistics[subset.name]) for subset in plan.subsets]


def _row(plan: Plan, subset: Subset, statistics: Mapping[str, int]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "language": subset.language,
        "category": subset.category,
        "weight": format_exact(subset.weight),
    }
    for side in SIDES:
        row[f"{side}_documents"] = statistics.get(f"{side}_documents", 0)
        if side == "train":
            row["train_copies"] = statistics.get("train_copies", 0)
        for unit in ("characters", "bytes"):
            row[f"{side}_{unit}"] = statistics.get(f"{side}_{unit}", 0)
    for name in ("skipped_records", "dropped_lines"):
        row[name] = statistics.get(name, 0)
    read = row["read_documents"]
    for side, intended, taken in zip(
        ("train", "eval"), plan.intended(subset), (row["train_copies"], row["eval_documents"]), strict=True
    ):
        row[f"{side}_intended"] = float(intended)
        row[f"{side}_achieved"] = taken / read if read else None
    return row


def statistics_of(counts: Counts) -> dict[SubsetName, Mapping[str, int]]:
    """What `sum_by_subset` gave for counts that are on disk."""
    return {SubsetName(row["category"], row["language"]): row for row in counts.subset_rows}


def write_description(
    folder: Path, plan: Plan, tables: Mapping[str, Mapping[str, int]], skipped: Skipped
) -> dict[str, Any]:
    """Write counts.json, which makes the counts valid, and return what it holds."""
    locations = skipped.locations
    description: dict[str, Any] = {
        "format": FORMAT,
        "study": plan.study.name,
        "counting_key": plan.study.counting_key(plan.subsets),
        "settings": dict(plan.settings),
        "tables": {table: dict(sorted(tables[table].items())) for table in TABLES},
        "skipped": {
            file: {str(reason): {"count": count, "first": locations[file, reason]} for reason, count in reasons.items()}
            for file, reasons in skipped.by_file().items()
        },
        "files": plan.files(),
    }
    text = json.dumps(description, indent=1, ensure_ascii=False)
    with replace_atomically(folder / COUNTS_FILE) as temporary:
        # A file's name may be no valid UTF-8; JSON has an escape for what stands for such bytes.
        temporary.write_bytes(text.encode("utf-8", "backslashreplace") + b"\n")
    return description
