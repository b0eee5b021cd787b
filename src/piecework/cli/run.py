"""`piecework run`: a whole study, from documents to the report."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from piecework.cli.cluster_options import cluster_options, resolve_cluster
from piecework.cli.options import FolderType, SizeType
from piecework.cli.output import write_json
from piecework.cli.skipped import warn_about_skipped
from piecework.cli.terminal import Terminal, format_bytes, format_count, format_seconds, verbosity_options
from piecework.common.terms import MOST_THREADS

if TYPE_CHECKING:
    from piecework.counting.spark_cluster import Cluster
    from piecework.pipeline.results import StudyResults
    from piecework.study.study import Study

__all__ = ["command"]

DEFAULT_STUDY = Path("study.toml")


@click.command("run", short_help="Run a whole study: sample, count, train, evaluate, report.")
@click.argument("study_file", metavar="[STUDY.toml]", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--demo", is_flag=True, help="Use a small corpus of real text instead of STUDY.toml; needs the extra `demo`."
)
@click.option("-o", "--out", type=FolderType(as_text=True), help="Output folder [default: out/NAME].")
@cluster_options
@click.option("--threads", type=click.IntRange(1, MOST_THREADS), help="Number of cores [default: all].")
@click.option("--memory", type=SizeType(), help="Memory limit for counting, as 2GB [default: half of the free memory].")
@click.option("--allow-empty", is_flag=True, help="Continue if a subset loses all its documents.")
@click.option("--latex", is_flag=True, help="Also write the paper's tables as LaTeX, into results/latex.")
@click.option(
    "--force", is_flag=True, help="Run every stage again, and replace the output of other studies in the folder."
)
@click.option("--json", "as_json", is_flag=True, help="Write findings and output paths as a JSON object.")
@verbosity_options
@click.pass_obj
def command(
    terminal: Terminal,
    study_file: Path | None,
    demo: bool,
    out: Path | None,
    engine: str,
    master: str | None,
    conf: tuple[str, ...],
    threads: int | None,
    memory: int | None,
    allow_empty: bool,
    latex: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Run a whole study: sample, count, train, evaluate, report.

    Writes the multilingual tokenizer at every vocabulary size, a tokenizer for each language, tables of all metrics,
    and report.html. A stage runs only if its inputs have changed: a new recipe reads no document again, and a killed
    run resumes. Without STUDY.toml, the file study.toml in the current folder is used.

    \b
    Examples:
      piecework run --demo
      piecework run study.toml
      piecework run study.toml --out out/nordic --threads 8 --memory 4GB
      piecework run study.toml --engine spark --master spark://node1:7077
      piecework run study.toml --latex --json | jq -r '.findings[].sentence'
    """
    cluster = resolve_cluster(engine, master, conf, say=terminal.say)
    study, folder = _study(study_file, demo=demo, out=out)
    if study.recipe.vocab_size % 128:
        terminal.warn(
            f"vocab_size = {study.recipe.vocab_size:,} is not divisible by 128, which makes language models slower; "
            f"the next multiple is {-(-study.recipe.vocab_size // 128) * 128:,}"
        )
    started = time.monotonic()
    try:
        results, has_changed = _run(
            terminal,
            study,
            folder,
            threads=threads,
            memory=memory,
            force=force,
            allow_empty=allow_empty,
            latex=latex,
            cluster=cluster,
        )
    except KeyboardInterrupt:
        terminal.say("stopped; the same command resumes the run")
        raise
    if has_changed:
        terminal.say(
            f"{study.name}: {format_count(len(results.tokenizers), 'tokenizer')}, "
            f"{format_count(len(results.languages), 'language')} in {format_seconds(time.monotonic() - started)}; "
            f"wrote {folder}"
        )
        terminal.detail(f"peak memory {format_bytes(results.run['peak_memory_bytes'])}")
    else:
        terminal.say(f"{folder}: nothing has changed since the last run (--force runs every stage again)")
    warn_about_skipped(terminal, results.run["skipped"])
    if as_json or not terminal.quiet:
        _show(results, as_json=as_json)
    terminal.suggest("report", folder, "--open")


def _study(study_file: Path | None, *, demo: bool, out: Path | None) -> "tuple[Study, Path]":
    """Return the study and its output folder. For the demo, write its corpus first."""
    if demo and study_file is not None:
        raise click.UsageError(f"--demo is a study of its own: give either --demo or {study_file}")
    if not demo and study_file is None and not DEFAULT_STUDY.is_file():
        raise click.UsageError(
            "no STUDY.toml is given, and there is no study.toml here; `piecework init FOLDER` writes one, "
            "and `piecework run --demo` needs none"
        )
    from piecework.counting.local import default_out
    from piecework.study.study import Study
    from piecework.training.base import with_base

    if demo:
        from piecework.study.demo import demo_study, write_demo

        folder = Path("out") / "demo" if out is None else out
        write_demo(folder)
        return demo_study(folder), folder
    # The corpus is checked later: it may be missing if the counts are there.
    study = with_base(Study.load(study_file or DEFAULT_STUDY, check_corpus=False))
    return study, default_out(study) if out is None else out


def _run(
    terminal: Terminal,
    study: "Study",
    folder: Path,
    *,
    threads: int | None,
    memory: int | None,
    force: bool,
    allow_empty: bool,
    latex: bool,
    cluster: "Cluster | None",
) -> "tuple[StudyResults, bool]":
    """Return the results, and whether any stage ran."""
    from piecework.cli.progress import show_stages
    from piecework.pipeline.run import STAGES, Stage, run

    has_changed = False
    without = set() if study.analysis.tokenizers else {"comparing"}
    with show_stages(terminal, {stage: unit for stage, unit in STAGES.items() if stage not in without}) as show:

        def progress(stage: Stage, done: int, total: int) -> None:
            nonlocal has_changed
            has_changed = True
            show(stage, done, total)

        results = run(
            study,
            out=folder,
            threads=threads,
            memory=memory,
            force=force,
            allow_empty=allow_empty,
            latex=latex,
            progress=progress,
            warn=terminal.warn,
            cluster=cluster,
        )
    return results, has_changed


def _show(results: "StudyResults", *, as_json: bool) -> None:
    findings = results.tables["summary"].rows()
    if as_json:
        content = {
            "folder": str(results.folder),
            "report": str(results.report),
            "tokenizers": {name: str(results.folder / "tokenizers" / name) for name in results.tokenizers},
            "findings": findings,
            "elapsed_s": results.run["elapsed_s"],
            "peak_memory_bytes": results.run["peak_memory_bytes"],
        }
        write_json(content)
        return
    for finding in findings:
        print(f"- {finding['sentence']} ({finding['certainty']})")
    print(results.report)
