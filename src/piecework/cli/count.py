"""`piecework count`: sample and count the documents of a study."""

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from piecework.cli.cluster_options import cluster_options, resolve_cluster
from piecework.cli.options import LocationType, SizeType
from piecework.cli.output import stdout_console, write_json
from piecework.cli.skipped import warn_about_skipped
from piecework.cli.terminal import Terminal, format_bytes, format_count, format_seconds, verbosity_options
from piecework.cli.wide_table import WideTable
from piecework.common.percent import format_percent
from piecework.common.terms import MOST_THREADS

if TYPE_CHECKING:
    from piecework.cli.progress import Unit
    from piecework.common.storage import Location
    from piecework.counting.spark_cluster import Cluster
    from piecework.counting.store import Counts
    from piecework.study.study import Study

__all__ = ["command"]

UNITS: "dict[str, Unit]" = {"counting": "bytes", "merging": "tables"}


@click.command("count", short_help="Sample and count the documents of a study.")
@click.argument("study_file", metavar="STUDY.toml", type=click.Path(path_type=Path, dir_okay=False))
@click.option("-o", "--out", type=LocationType(as_text=True), help="Output folder, local or s3:// [default: out/NAME].")
@cluster_options
@click.option("--threads", type=click.IntRange(1, MOST_THREADS), help="Number of cores [default: all].")
@click.option(
    "--memory",
    type=SizeType(),
    help="Memory limit, as 2GB; on Spark, of each task [default: half of the free memory].",
)
@click.option("--strict", is_flag=True, help="Stop at the first record that cannot be used.")
@click.option("--allow-empty", is_flag=True, help="Continue if a subset loses all its documents.")
@click.option("--dry-run", is_flag=True, help="List the files and estimate the sample, time and memory; write nothing.")
@click.option("--force", is_flag=True, help="Count again and replace existing counts.")
@click.option("--json", "as_json", is_flag=True, help="Write a summary as a JSON object.")
@verbosity_options
@click.pass_obj
def command(
    terminal: Terminal,
    study_file: Path,
    out: "Location | None",
    engine: str,
    master: str | None,
    conf: tuple[str, ...],
    threads: int | None,
    memory: int | None,
    strict: bool,
    allow_empty: bool,
    dry_run: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Sample the documents of STUDY.toml and count their words, in one pass and in bounded memory.

    The counts go to the folder `counts` in the study's output folder. No later stage reads a document again. The files
    are the same for any number of threads, any memory limit, and on a Spark cluster. A killed run on one machine
    resumes. Paths in the study, and --out, may be on s3://.

    \b
    Examples:
      piecework count study.toml --dry-run
      piecework count study.toml
      piecework count study.toml --out out/nordic --threads 8 --memory 4GB --strict
      piecework count study.toml --engine spark --master spark://node1:7077 --out s3://bucket/nordic
    """
    from piecework.counting.local import default_out
    from piecework.study.study import Study
    from piecework.training.base import with_base

    cluster = resolve_cluster(engine, master, conf, say=terminal.say)
    study = with_base(Study.load(study_file))
    if dry_run:
        from piecework.cli.count_plan import show_count_plan

        show_count_plan(terminal, study, threads=threads, memory=memory, as_json=as_json)
        terminal.suggest(*(argument for argument in sys.argv[1:] if argument != "--dry-run"))
        return
    folder = default_out(study) if out is None else out
    counts = _count(
        terminal,
        study,
        folder,
        threads=threads,
        memory=memory,
        strict=strict,
        force=force,
        allow_empty=allow_empty,
        cluster=cluster,
    )
    if as_json:
        content = {"folder": str(counts.folder), **counts.description}
        write_json(content)
    elif not terminal.quiet:
        _show(counts)
    _report_skipped(terminal, counts)
    if isinstance(folder, Path):
        # The study's recipe fits its text; the default of `train` may be too large for it.
        terminal.suggest("run", study_file, *(() if out is None else ("--out", folder)))
    else:
        size = ("--vocab-size", str(study.recipe.vocab_size))
        terminal.suggest("train", "--counts", str(folder), *size, "--out", f"out/{study.name}")


def _count(
    terminal: Terminal,
    study: "Study",
    folder: "Location",
    *,
    threads: int | None,
    memory: int | None,
    strict: bool,
    force: bool,
    allow_empty: bool,
    cluster: "Cluster | None",
) -> "Counts":
    from piecework.cli.progress import Update, show_progress
    from piecework.counting.local import count
    from piecework.counting.progress import Stage

    started = time.monotonic()
    current: Stage | None = None
    update: Update
    with ExitStack() as stage_display:

        def progress(stage: Stage, done: int, total: int) -> None:
            nonlocal current, update
            if stage != current:
                current = stage
                stage_display.close()
                update = stage_display.enter_context(show_progress(terminal, stage, UNITS[stage]))
            update(done, total)

        counts = count(
            study,
            out=folder,
            threads=threads,
            memory=memory,
            strict=strict,
            force=force,
            allow_empty=allow_empty,
            progress=progress,
            warn=terminal.warn,
            cluster=cluster,
        )
    if current:
        inputs = counts.description["inputs"]
        terminal.say(
            f"counted {format_bytes(inputs['size_bytes'])} in {format_count(inputs['files'], 'file')} in "
            f"{format_seconds(time.monotonic() - started)}; wrote {counts.folder}"
        )
    else:
        terminal.say(f"{counts.folder}: the counts of this study exist already (--force counts again)")
    return counts


def _show(counts: "Counts") -> None:
    from rich.text import Text

    sides = (f"{side}{column}" for side in ("train", "eval") for column in ("", " share", " target"))
    table = WideTable("subset", ["weight", "documents", "text", *sides, "skipped"])
    rows = counts.subset_rows
    for row in rows:
        table.add_row(
            Text(f"{row['category']}_{row['language']}"),
            row["weight"],
            f"{row['read_documents']:,}",
            format_bytes(row["read_bytes"]),
            f"{row['train_copies']:,}",
            format_percent(row["train_achieved"]),
            format_percent(row["train_intended"]),
            f"{row['eval_documents']:,}",
            format_percent(row["eval_achieved"]),
            format_percent(row["eval_intended"]),
            f"{row['skipped_records']:,}",
            style="" if row["read_documents"] else "dim",
        )
    sums = {
        name: sum(row[name] for row in rows)
        for name in ("read_documents", "read_bytes", "train_copies", "eval_documents", "skipped_records")
    }
    table.add_row(
        "all",
        "",
        f"{sums['read_documents']:,}",
        format_bytes(sums["read_bytes"]),
        f"{sums['train_copies']:,}",
        format_percent(sums["train_copies"] / sums["read_documents"]),
        "",
        f"{sums['eval_documents']:,}",
        format_percent(sums["eval_documents"] / sums["read_documents"]),
        "",
        f"{sums['skipped_records']:,}",
        style="bold",
    )
    stdout_console().print(table)


def _report_skipped(terminal: Terminal, counts: "Counts") -> None:
    warn_about_skipped(terminal, counts.description["skipped"])
    dropped = sum(row["dropped_lines"] for row in counts.subset_rows)
    if dropped:
        terminal.warn(
            f"{format_count(dropped, 'line')} with U+2585, SentencePiece's mark for unknown, left out of training"
        )
    sides = (("train_copies", "training", "train"), ("eval_documents", "evaluation", "eval"))
    for column, side, setting in sides:
        if counts.description["settings"]["sampling"][setting] != "0" and not any(
            row[column] for row in counts.subset_rows
        ):
            terminal.warn(f"no document was sampled for {side}; raise {setting} in [sampling]")
