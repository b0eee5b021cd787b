"""`piecework count --dry-run`: files, documents, the sample to expect, and what counting would cost."""

import sys
from typing import TYPE_CHECKING, Any

from piecework.cli.terminal import Terminal, format_bytes, format_count, format_seconds
from piecework.common.exact import format_exact
from piecework.counting.estimate import Estimate, SubsetEstimate, estimate_counting
from piecework.counting.machine import Budget, available_cores, free_memory_bytes
from piecework.counting.plan import Plan

if TYPE_CHECKING:
    from piecework.study.schema import Study

__all__ = ["show_plan"]

FILES_SHOWN = 5
PLAIN_WIDTH = 110


def show_plan(terminal: Terminal, study: "Study", *, threads: int | None, memory: int | None, as_json: bool) -> None:
    """Print the plan to stdout, as text or JSON."""
    plan = Plan.of(study)
    memory_bytes = free_memory_bytes() // 2 if memory is None else memory
    budget = Budget.share_out(memory_bytes, threads or available_cores())
    estimate = estimate_counting(plan, budget)
    if as_json:
        _write_json(plan, budget, estimate, memory_bytes)
    else:
        _write_text(terminal, plan, budget, estimate, memory_bytes)


def _write_text(terminal: Terminal, plan: Plan, budget: Budget, estimate: Estimate, memory_bytes: int) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)
    files = [file for of in estimate.subsets for file in of.subset.files]
    console.print(
        f"{format_count(len(files), 'file')}, {format_bytes(plan.size_bytes)} to read "
        f"in {format_count(len(plan.shards), 'shard')}"
    )
    shown = files if terminal.verbose else files[:FILES_SHOWN]
    for file in shown:
        console.print(Text(f"  {format_bytes(file.size_bytes):>10}  {file.path}"), soft_wrap=True)
    if len(shown) < len(files):
        console.print(f"  {'':>10}  and {len(files) - len(shown):,} more (-v shows all)")

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("subset", overflow="fold")
    for name in ("weight", "files", "documents", "text", "to train", "to evaluate"):
        table.add_column(name, justify="right", no_wrap=True)
    for of in estimate.subsets:
        table.add_row(
            Text(str(of.subset.name)),
            format_exact(of.subset.weight),
            f"{len(of.subset.files):,}",
            f"{of.documents:,}",
            format_bytes(of.text_bytes),
            f"{of.train_documents:,.0f}",
            f"{of.eval_documents:,.0f}",
        )
    sample_bytes = sum(of.sample_bytes for of in estimate.subsets)
    console.print(f"\nestimate, from reading {format_bytes(sample_bytes)}")
    console.print(Padding(table, (0, 0, 0, 2), expand=False))
    console.print(
        f"  time    about {format_seconds(estimate.elapsed_s)} with {format_count(budget.processes, 'thread')}\n"
        f"  memory  about {format_bytes(estimate.memory_bytes)}, of {format_bytes(memory_bytes)} that may be used"
    )
    if estimate.tables and estimate.tables[0].distinct_words:
        _write_tables(console, estimate)


def _write_tables(console: Any, estimate: Estimate) -> None:
    """What the words to train on would take, here and where there is more text."""
    from rich.padding import Padding
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("text to train on", no_wrap=True)
    for name in ("distinct words", "train.parquet", "memory to train"):
        table.add_column(name, justify="right", no_wrap=True)
    for size, whose in zip(estimate.tables, ("this study's", "", ""), strict=True):
        table.add_row(
            f"{format_bytes(size.text_bytes)}{f', {whose}' if whose else ''}",
            f"{size.distinct_words:,.0f}" if size.distinct_words < 1e6 else f"{size.distinct_words / 1e6:,.0f} million",
            format_bytes(size.stored_bytes),
            format_bytes(size.memory_bytes),
        )
    lowest, highest = estimate.exponents
    console.print(
        f"\nwords, by Heaps' law with an exponent of {lowest:.2f} to {highest:.2f} as in the sample\n"
        "(an upper estimate: the exponent falls with size)"
    )
    console.print(Padding(table, (0, 0, 0, 2), expand=False))


def _write_json(plan: Plan, budget: Budget, estimate: Estimate, memory_bytes: int) -> None:
    import orjson

    content = {
        "study": plan.study.name,
        "size_bytes": plan.size_bytes,
        "shards": len(plan.shards),
        "processes": budget.processes,
        "memory_limit_bytes": memory_bytes,
        "estimate": {
            "memory_bytes": estimate.memory_bytes,
            "elapsed_s": round(estimate.elapsed_s, 1),
            "subsets": [_as_json(of) for of in estimate.subsets],
            "tables": [
                {
                    "text_bytes": round(size.text_bytes),
                    "distinct_words": round(size.distinct_words),
                    "stored_bytes": round(size.stored_bytes),
                    "memory_bytes": round(size.memory_bytes),
                }
                for size in estimate.tables
            ],
            "heaps_exponents": estimate.exponents,
        },
    }
    sys.stdout.buffer.write(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def _as_json(of: SubsetEstimate) -> dict[str, Any]:
    return {
        "name": str(of.subset.name),
        "weight": format_exact(of.subset.weight),
        "files": [{"path": str(file.path), "size_bytes": file.size_bytes} for file in of.subset.files],
        "documents": of.documents,
        "text_bytes": of.text_bytes,
        "train_documents": round(of.train_documents, 1),
        "eval_documents": round(of.eval_documents, 1),
        "sample_bytes": of.sample_bytes,
    }
