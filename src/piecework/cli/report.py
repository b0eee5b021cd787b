"""`piecework report`: the page of a study that has been run."""

import sys
from pathlib import Path

import click

from piecework.cli.terminal import Terminal, format_bytes, format_count, verbosity_options
from piecework.errors import InputError

__all__ = ["command"]


@click.command("report")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="The page [default: DIR/report.html].")
@click.option("--open", "open_page", is_flag=True, help="Show the page in a browser.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object: the files, and what was found.")
@verbosity_options
@click.pass_obj
def command(terminal: Terminal, folder: Path, out: Path | None, open_page: bool, force: bool, as_json: bool) -> None:
    """Write the report of a study again, from the figures in its folder DIR.

    One self-contained page, and its charts as SVG files in DIR/results/figures. With --out, the page alone.

    \b
    Examples:
      piecework report out/nordic --open
      piecework report out/nordic --out nordic.html
      piecework report out/nordic --json | jq -r '.findings[]'
    """
    from piecework.results.folder import FIGURES_FOLDER, StudyFolder

    results = StudyFolder.load(folder)
    page = out or results.report
    # The study's own page is made of its figures and can be made again; another file may be someone's.
    if out is not None and out.resolve() != results.report.resolve():
        if out.is_dir():
            raise InputError(f"{out} is a folder; give the file, as {out / 'report.html'}")
        if out.exists() and not force:
            raise InputError(f"{out} exists already; pass --force to replace it")
        if not out.absolute().parent.is_dir():
            raise InputError(f"{out.parent}: no such folder; make it first, or choose another --out")

    # jinja2, numpy and the tables: only once it is clear that there is something to show.
    from piecework.report import write_report

    _, *figures = write_report(results, page, figures=folder / FIGURES_FOLDER if out is None else None)
    terminal.say(f"wrote {page}, {format_bytes(page.stat().st_size)}")
    if figures:
        terminal.say(f"wrote {format_count(len(figures), 'chart')} to {folder / FIGURES_FOLDER}")
    if as_json:
        import orjson

        summary = {
            "report": str(page),
            "figures": [str(path) for path in figures],
            "findings": results.tables["summary"].column("sentence"),
        }
        sys.stdout.buffer.write(orjson.dumps(summary, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    else:
        print(page)
    if open_page:
        import webbrowser

        if not webbrowser.open(page.resolve().as_uri()):
            terminal.warn(f"no browser was found; open {page} yourself")
    else:
        again = ["--out", str(out), "--force"] if out else []
        terminal.suggest("report", folder, *again, "--open")
