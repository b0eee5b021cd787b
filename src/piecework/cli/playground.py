"""`piecework playground`: the page on which tokenizers cut text side by side."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from piecework.cli.terminal import Terminal, verbosity_options

if TYPE_CHECKING:
    from piecework.playground.catalogue import Catalogue

__all__ = ["command"]


@click.command("playground")
@click.argument("sources", nargs=-1, metavar="[STUDY_DIR | MODEL...]")
@click.option("--port", type=click.IntRange(0, 65535), help="The port [default: 8765, or the next that is free].")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--counts", type=click.Path(path_type=Path), help="Counts to evaluate MODELs on, for their figures.")
@click.option("--open", "open_page", is_flag=True, help="Open the page in a browser.")
@verbosity_options
@click.pass_obj
def command(
    terminal: Terminal,
    sources: tuple[str, ...],
    port: int | None,
    host: str,
    counts: Path | None,
    open_page: bool,
) -> None:
    """Show how tokenizers cut text, side by side, and why, on a page in the browser.

    Give the folder of a study, for its tokenizers with all their figures; or tokenizers, each a .model, a
    tokenizer.json or a .tiktoken, the folder of one, or tiktoken:NAME; NAME=TOKENIZER gives it a name. Ctrl-C ends it.
    Nothing that is typed leaves this machine, and no other machine can open the page unless --host says so.

    \b
    Examples:
      piecework playground out/nordic --open
      piecework playground out/nordic/tokenizers/sv out/nordic/tokenizers/multilingual
      piecework playground first.model gpt2/tokenizer.json --counts out/nordic --port 9000
    """
    from piecework.playground.server import listen, serve

    catalogue = _catalogue(sources, counts)
    # The tokenizer that is shown first: a damaged one is told here and not on the page.
    catalogue[catalogue.names[0]]
    listener = listen(host, port)
    if not listener.access.is_loopback:
        terminal.warn(
            f"other machines can reach {host}: whoever has the whole address below can open the page,"
            " and text travels unencrypted"
        )
    terminal.say(f"the playground is at {listener.url} (Ctrl-C ends it)")
    if open_page:
        import webbrowser

        webbrowser.open(listener.url)
    serve(catalogue, listener, verbose=terminal.verbose)
    terminal.say("the playground has ended")
    terminal.suggest("encode", "--compare", *(catalogue.path(name) for name in catalogue.names[:2]), "text")


def _catalogue(sources: tuple[str, ...], counts: Path | None) -> "Catalogue":
    from piecework import Counts
    from piecework.cli.compare import named_sources
    from piecework.playground.catalogue import Catalogue
    from piecework.results.folder import RUN_FILE, StudyFolder

    if not sources:
        raise click.UsageError("nothing to show; give the folder of a study, or tokenizers: piecework playground DIR")
    if len(sources) == 1 and (Path(sources[0]) / RUN_FILE).exists():
        return Catalogue.of_study(StudyFolder.load(sources[0]))
    return Catalogue.of_models(named_sources(sources), counts=Counts.load(counts) if counts is not None else None)
