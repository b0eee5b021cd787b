"""`piecework report`: write the report of a study again."""

from pathlib import Path

import click

from piecework.cli.options import LocalPath
from piecework.cli.output import write_json
from piecework.cli.terminal import Terminal, format_bytes, format_count, verbosity_options
from piecework.errors import InputError

__all__ = ["command"]


@click.command("report", short_help="Write the report of a study again.")
@click.argument("folder", metavar="DIR", type=LocalPath())
@click.option("--out", metavar="FILE", type=LocalPath(), help="The report to write [default: DIR/report.html].")
@click.option("--open", "open_page", is_flag=True, help="Open the report in a browser.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object: files and findings.")
@verbosity_options
@click.pass_obj
def command(terminal: Terminal, folder: Path, out: Path | None, open_page: bool, force: bool, as_json: bool) -> None:
    """Write the report of a study again, from the tables in its output folder DIR.

    The report is one self-contained HTML file. Its charts are also written as SVG files to DIR/results/figures, unless
    --out names another file.

    \b
    Examples:
      piecework report out/nordic --open
      piecework report out/nordic --out nordic.html
      piecework report out/nordic --json | jq -r '.findings[]'
    """
    from piecework.results.folder import FIGURES_FOLDER, StudyFolder

    results = StudyFolder.load(folder)
    page = out or results.report
    # The study's own report can be made again at any time; another file may be precious.
    if out is not None and out.resolve() != results.report.resolve():
        if out.is_dir():
            raise InputError(f"{out} is a folder; give a file, for example {out / 'report.html'}")
        if out.exists() and not force:
            raise InputError(f"{out} exists already; pass --force to replace it")
        if not out.absolute().parent.is_dir():
            raise InputError(f"{out.parent}: no such folder; make it first, or choose another --out")

    # Imports jinja2 and numpy: only after the arguments are checked.
    from piecework.report import write_report

    try:
        _, *figures = write_report(results, page, figures=folder / FIGURES_FOLDER if out is None else None)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # The tables of a study have all that the report needs. Those of a received folder may have anything in them.
        raise InputError(
            f"{folder}: its tables are not as a study writes them ({type(error).__name__}: {error}); "
            "piecework run makes them again"
        ) from error
    terminal.say(f"wrote {page}, {format_bytes(page.stat().st_size)}")
    if figures:
        terminal.say(f"wrote {format_count(len(figures), 'chart')} to {folder / FIGURES_FOLDER}")
    if as_json:
        summary = {
            "report": str(page),
            "figures": [str(path) for path in figures],
            "findings": results.tables["summary"].column("sentence"),
        }
        write_json(summary)
    else:
        print(page)
    if open_page:
        import webbrowser

        if not webbrowser.open(page.resolve().as_uri()):
            terminal.warn(f"no browser found; open {page} yourself")
    else:
        again = ["--out", str(out), "--force"] if out else []
        terminal.suggest("report", folder, *again, "--open")
