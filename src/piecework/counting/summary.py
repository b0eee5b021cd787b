"""Sums up the results of all shards, and describes them in inputs.json and counts.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from piecework.common.exact import format_exact
from piecework.common.manifest import write_manifest
from piecework.common.storage import Location, relative_name
from piecework.common.subset_name import SubsetName
from piecework.corpus.fields import guess_text_field
from piecework.corpus.inputs import Slice
from piecework.corpus.passages import Candidate
from piecework.corpus.skipped import Reason, Skipped, skipped_rows
from piecework.counting.description import FORMAT, SIDES, inputs_content
from piecework.counting.files import COUNTS_FILE, INPUTS_FILE, TABLES
from piecework.counting.merge import write_subsets
from piecework.counting.partial import UNMATCHED, ShardResult, SliceResult
from piecework.counting.plan import Plan
from piecework.counting.shards import Shard
from piecework.counting.store import Counts
from piecework.errors import EmptySubsetError
from piecework.study.subsets import Subset

__all__ = ["Summary", "replace_subset_rows", "statistics_of", "subset_rows", "sum_skipped"]


class Summary:
    """The results of all shards, by subset."""

    def __init__(self, plan: Plan, results: Sequence[ShardResult]) -> None:
        self._plan = plan
        self.statistics: dict[SubsetName, Counter[str]] = {subset.name: Counter() for subset in plan.subsets}
        """Documents, characters and bytes on each side."""
        self.passages: dict[SubsetName, Candidate] = {}
        for shard, result in zip(plan.shards, results, strict=True):
            for language, statistics in result.statistics.items():
                self.statistics[SubsetName(shard.category, language)].update(statistics)
            for language, passage in result.passages.items():
                name = SubsetName(shard.category, language)
                self.passages[name] = min(self.passages.get(name, passage), passage)
        parts = [
            (shard, part, result)
            for shard, whole in zip(plan.shards, results, strict=True)
            for part, result in zip(shard.slices, whole.slices, strict=True)
        ]
        self.skipped = sum_skipped(parts, [subset.name for subset in plan.subsets], folder=plan.study.folder)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of subsets.parquet."""
        return subset_rows(self._plan, self.statistics)

    def check(self, *, allow_empty: bool, warn: Callable[[str], None]) -> None:
        """Raise an EmptySubsetError where subsets have lost all their documents.

        Warns about parts of the text that a custom pattern does not match.
        """
        # A language that the study names, and no record has, is a mistake in the study.
        in_a_field = {subset.name for subset in self._plan.subsets if subset.language_field and subset.weight}
        empty = [
            name
            for name, statistics in self.statistics.items()
            if not statistics["read_documents"] and (statistics["skipped_records"] or name in in_a_field)
        ]
        if not any(statistics["read_documents"] for statistics in self.statistics.values()):
            files = len(self._plan.files())
            message = f"no document in {files:,} file{'s' if files != 1 else ''}: {self._all_skipped()}"
            raise EmptySubsetError(message, map(str, empty), fatal=True)
        if empty and not allow_empty:
            raise EmptySubsetError("\n".join(map(self._explain_empty, empty)), map(str, empty))
        unmatched = Counter[str]()
        for statistics in self.statistics.values():
            unmatched.update(
                {name.removeprefix(UNMATCHED): n for name, n in statistics.items() if name.startswith(UNMATCHED)}
            )
        if unmatched:
            first, _ = min(unmatched.items(), key=lambda item: (-item[1], item[0]))
            warn(
                f"the pattern does not match {unmatched.total():,} parts of the text; most of them start with"
                f" {first!r} (U+{ord(first):04X}). Each is a pre-token of its own, as in tokenizers; tiktoken would"
                " lose it"
            )

    def _explain_empty(self, name: SubsetName) -> str:
        skipped = self.skipped[name]
        message = f"{name} loses all its documents: {skipped}"
        subset = next(subset for subset in self._plan.subsets if subset.name == name)
        if subset.language_field and not skipped.total:
            message = f'no record has the language "{name.language}" in the field "{subset.language_field}"'
        if Reason.FIELD_MISSING in skipped.by_reason():
            _, fields = guess_text_field([file for file in subset.files if file.format != "text"])
            there = f"; its fields with text are {', '.join(fields)}" if fields else ""
            message += f'; there is no field "{subset.text_field}"{there}: set `text` to the right one'
        return f"{message}; --allow-empty continues without it"

    def _all_skipped(self) -> Skipped:
        total = Skipped()
        for skipped in self.skipped.values():
            total.update(skipped)
        return total

    def write(self, folder: Path, tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Write inputs.json, then counts.json, which makes the counts valid; return its content."""
        plan = self._plan
        files = plan.files()
        description: dict[str, Any] = {
            "format": FORMAT,
            "study": plan.study.name,
            "counting_key": plan.study.counting_key(plan.subsets),
            "settings": dict(plan.settings),
            "inputs": {"files": len(files), "size_bytes": sum(file.size_bytes for file in files)},
            "tables": {table: dict(sorted(tables[table].items())) for table in TABLES},
            "subsets": self.rows,
            "skipped": skipped_rows(self.skipped),
            "passages": [
                {"category": name.category, "language": name.language, "text": self.passages[name].text}
                for name in sorted(self.passages)
            ],
        }
        write_manifest(folder / INPUTS_FILE, inputs_content(files), indent=None)
        write_manifest(folder / COUNTS_FILE, description)
        return description


def sum_skipped(
    parts: Iterable[tuple[Shard, Slice, SliceResult]], subsets: Iterable[SubsetName], *, folder: Path
) -> dict[SubsetName, Skipped]:
    """What was skipped, by subset, with lines counted from the start of each file; paths are relative to `folder`."""
    total: dict[SubsetName, Skipped] = {name: Skipped() for name in subsets}
    lines: Counter[tuple[SubsetName, Location]] = Counter()
    for shard, part, result in sorted(parts, key=lambda item: (str(item[1].file.path), item[1].start)):
        key = (shard.subsets[0], part.file.path)
        file = relative_name(part.file.path, folder)
        for language, skipped in result.to_skipped(file).items():
            name = SubsetName(shard.category, language)
            total.setdefault(name, Skipped()).update(skipped, lines_before=lines[key])
        lines[key] += result.lines
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
    """The statistics of counts on disk, by subset."""
    return {SubsetName(row["category"], row["language"]): row for row in counts.subset_rows}


def replace_subset_rows(
    folder: Path, description: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Write counts with other weights; return the new content of counts.json."""
    changed = {**description, "subsets": list(rows)}
    write_subsets(folder, rows)
    write_manifest(folder / COUNTS_FILE, changed)
    return changed
