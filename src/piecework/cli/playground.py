"""`piecework playground`: a web page that shows tokenizers side by side."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from piecework.cli.options import LocalPath
from piecework.cli.terminal import Terminal, verbosity_options

if TYPE_CHECKING:
    from piecework.playground.catalogue import Catalogue

__all__ = ["command"]


@click.command("playground", short_help="Open a page that shows tokenizers side by side.")
@click.argument("sources", nargs=-1, metavar="[STUDY_DIR | MODEL...]")
@click.option("--port", type=click.IntRange(0, 65535), help="Port [default: 8765, or the next free one].")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--counts", type=LocalPath(), help="Counts to evaluate each MODEL on.")
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
    """Open a web page that shows how tokenizers split text, side by side, and why.

    STUDY_DIR is the output folder of a study. MODEL is a .model, a tokenizer.json, a .tiktoken, a folder with one of
    these, a name that `piecework known` lists, or tiktoken:NAME; NAME=MODEL sets the name on the page. Ctrl-C stops the
    server. Typed text stays on this machine, and other machines cannot open the page unless --host allows it.

    \b
    Examples:
      piecework playground out/nordic --open
      piecework playground out/nordic/tokenizers/sv out/nordic/tokenizers/multilingual
      piecework playground first.model gpt2/tokenizer.json --counts out/nordic --port 9000
    """
    from piecework.playground.known import known_tokenizers
    from piecework.playground.server import listen, serve

    catalogue = _catalogue(sources, counts)
    catalogue.add_known(known_tokenizers())
    # Load the first tokenizer now: if it is damaged, the command fails, not the page.
    catalogue[catalogue.names[0]]
    listener = listen(host, port)
    if not listener.access.is_loopback:
        terminal.warn(
            f"other machines can reach {host}: anyone with the full address below can open the page,"
            " and the connection is not encrypted"
        )
    terminal.say(f"the playground is at {listener.url} (Ctrl-C stops it)")
    if open_page:
        import webbrowser

        webbrowser.open(listener.url)
    serve(catalogue, listener, verbose=terminal.verbose)
    terminal.say("the playground has stopped")
    terminal.suggest("encode", "--compare", *(catalogue.path(name) for name in catalogue.names[:2]), "text")


def _catalogue(sources: tuple[str, ...], counts: Path | None) -> "Catalogue":
    from piecework.cli.tokenizer_names import named_sources
    from piecework.counting.store import Counts
    from piecework.playground.catalogue import Catalogue
    from piecework.results.folder import RUN_FILE, StudyFolder

    if not sources:
        raise click.UsageError("give the output folder of a study, or tokenizers: piecework playground out/nordic")
    if len(sources) == 1 and (Path(sources[0]) / RUN_FILE).exists():
        return Catalogue.from_study(StudyFolder.load(sources[0]))
    return Catalogue.from_models(named_sources(sources), counts=Counts.load(counts) if counts is not None else None)
