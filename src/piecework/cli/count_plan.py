"""`piecework count --dry-run`: files, the expected sample, and the estimated time and memory."""

from typing import TYPE_CHECKING, Any

from piecework.cli.output import indented, new_table, stdout_console, write_json
from piecework.cli.terminal import Terminal, format_bytes, format_count, format_seconds
from piecework.cli.training_estimate import counted_units, loaded_training_bytes, streamed_training_bytes
from piecework.common.exact import format_exact
from piecework.counting.estimate import Estimate, SubsetEstimate, estimate_counting
from piecework.counting.machine import Budget, available_cores, free_memory_bytes
from piecework.counting.plan import Plan
from piecework.study.subsets import distinct_files

if TYPE_CHECKING:
    from piecework.study.study import Study

__all__ = ["show_count_plan"]

LISTED_FILES = 5


def show_count_plan(
    terminal: Terminal, study: "Study", *, threads: int | None, memory: int | None, as_json: bool
) -> None:
    """Print the plan to stdout, as text or JSON."""
    plan = Plan.from_study(study)
    memory_bytes = free_memory_bytes() // 2 if memory is None else memory
    budget = Budget.share_out(memory_bytes, threads or available_cores())
    estimate = estimate_counting(plan, budget)
    if as_json:
        _write_json(plan, budget, estimate, memory_bytes)
    else:
        _write_text(terminal, plan, budget, estimate, memory_bytes)


def _write_text(terminal: Terminal, plan: Plan, budget: Budget, estimate: Estimate, memory_bytes: int) -> None:
    from rich.text import Text

    console = stdout_console()
    files = distinct_files(each.subset for each in estimate.subsets)
    console.print(
        f"{format_count(len(files), 'file')}, {format_bytes(plan.size_bytes)} to read "
        f"in {format_count(len(plan.shards), 'shard')}"
    )
    listed = files if terminal.verbose else files[:LISTED_FILES]
    for file in listed:
        console.print(Text(f"  {format_bytes(file.size_bytes):>10}  {file.path}"), soft_wrap=True)
    if len(listed) < len(files):
        console.print(f"  {'':>10}  and {len(files) - len(listed):,} more (-v lists all)")

    table = new_table()
    table.add_column("subset", overflow="fold")
    for name in ("weight", "files", "documents", "text", "to train", "to evaluate"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in estimate.subsets:
        table.add_row(
            Text(str(each.subset.name)),
            format_exact(each.subset.weight),
            f"{len(each.subset.files):,}",
            f"{each.documents:,}",
            format_bytes(each.text_bytes),
            f"{each.train_documents:,.0f}",
            f"{each.eval_documents:,.0f}",
        )
    sample_bytes = sum(each.sample_bytes for each in estimate.subsets)
    console.print(f"\nestimate, from a sample of {format_bytes(sample_bytes)}")
    console.print(indented(table))
    console.print(
        f"  time    about {format_seconds(estimate.elapsed_s)} with {format_count(budget.processes, 'thread')}\n"
        f"  memory  about {format_bytes(estimate.memory_bytes)}, within the limit of {format_bytes(memory_bytes)}"
    )
    if estimate.tables and estimate.tables[0].distinct_words:
        _write_tables(console, plan, estimate)


def _training_bytes(plan: Plan, distinct: float) -> int:
    """What training on the counts needs: words are read from disk, pre-tokens are in memory."""
    needed = loaded_training_bytes if plan.counts_pre_tokens else streamed_training_bytes
    return needed(round(distinct))


def _write_tables(console: Any, plan: Plan, estimate: Estimate) -> None:
    """Estimate the table of training words for this study, and for larger texts of the same kind."""

    units = f"distinct {counted_units(plan.study.recipe)}"
    table = new_table()
    table.add_column("text to train on", no_wrap=True)
    for name in (units, "train.parquet", "memory to train"):
        table.add_column(name, justify="right", no_wrap=True)
    for size, label in zip(estimate.tables, ("this study", "", ""), strict=True):
        table.add_row(
            f"{format_bytes(size.text_bytes)}{f' ({label})' if label else ''}",
            f"{size.distinct_words:,.0f}" if size.distinct_words < 1e6 else f"{size.distinct_words / 1e6:,.0f} million",
            format_bytes(size.stored_bytes),
            format_bytes(_training_bytes(plan, size.distinct_words)),
        )
    lowest, highest = estimate.exponents
    console.print(
        f"\n{units} by Heaps' law, exponent {lowest:.2f} to {highest:.2f} from the sample\n"
        "(an upper bound: the exponent falls as text grows)"
    )
    console.print(indented(table))


def _write_json(plan: Plan, budget: Budget, estimate: Estimate, memory_bytes: int) -> None:
    content = {
        "study": plan.study.name,
        "size_bytes": plan.size_bytes,
        "shards": len(plan.shards),
        "processes": budget.processes,
        "memory_limit_bytes": memory_bytes,
        "estimate": {
            "memory_bytes": estimate.memory_bytes,
            "elapsed_s": round(estimate.elapsed_s, 1),
            "subsets": list(map(_subset_record, estimate.subsets)),
            "tables": [
                {
                    "text_bytes": round(size.text_bytes),
                    "distinct_words": round(size.distinct_words),
                    "stored_bytes": round(size.stored_bytes),
                    "memory_bytes": _training_bytes(plan, size.distinct_words),
                }
                for size in estimate.tables
            ],
            "heaps_exponents": estimate.exponents,
        },
    }
    write_json(content)


def _subset_record(estimate: SubsetEstimate) -> dict[str, Any]:
    return {
        "name": str(estimate.subset.name),
        "weight": format_exact(estimate.subset.weight),
        "files": [{"path": str(file.path), "size_bytes": file.size_bytes} for file in estimate.subset.files],
        "documents": estimate.documents,
        "text_bytes": estimate.text_bytes,
        "train_documents": round(estimate.train_documents, 1),
        "eval_documents": round(estimate.eval_documents, 1),
        "sample_bytes": estimate.sample_bytes,
    }
