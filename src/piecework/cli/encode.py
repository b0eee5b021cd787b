"""`piecework encode`: turn lines of text into tokens, or show one text in the tokens of several tokenizers."""

import codecs
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from piecework.cli.terminal import Terminal, verbosity_options

if TYPE_CHECKING:
    from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["command"]


@click.command("encode")
@click.option("-m", "--model", type=click.Path(path_type=Path), help="A .model file, or the folder of a tokenizer.")
@click.option("--compare", is_flag=True, help="Show how each MODEL splits TEXT, one below the other.")
@click.option("--pieces", "output", flag_value="pieces", help="Write pieces [default].")
@click.option("--ids", "output", flag_value="ids", help="Write ids.")
@click.option("--json", "output", flag_value="json", help="Write one JSON object per line: ids, pieces, offsets.")
@click.argument("arguments", nargs=-1, metavar="[FILE] | --compare MODEL... TEXT")
@verbosity_options
@click.pass_obj
def command(
    terminal: Terminal, model: Path | None, compare: bool, output: str | None, arguments: tuple[str, ...]
) -> None:
    """Encode each line of FILE (or of stdin) into a line of tokens.

    FILE is text, plain or compressed (.gz, .zst). Offsets count characters; the end is exclusive.

    With --compare, show how each MODEL splits TEXT: tokens alternate between two colours, or are underlined if
    NO_COLOR is set. A TEXT of - is read from stdin. MODEL is anything that `piecework compare` takes.

    \b
    Examples:
      echo "Hej världen" | piecework encode --model out/nordic
      piecework encode --model out/nordic/tokenizer.model --ids book.txt > book.ids
      piecework encode --model out/nordic --json book.txt.zst | jq .pieces
      piecework encode --compare first.model second.model "Hej världen"
    """
    if compare:
        _compare(terminal, model, output, arguments)
        return
    if model is None:
        raise click.UsageError("missing option --model MODEL; or give --compare MODEL... TEXT")
    if len(arguments) > 1:
        raise click.UsageError(f"give one FILE, not {len(arguments)}")
    file = arguments[0] if arguments else "-"
    if Path(file).is_dir():
        raise click.UsageError(f"{file} is a folder; FILE must be a text file")
    _encode(terminal, model, output or "pieces", file)


def _compare(terminal: Terminal, model: Path | None, output: str | None, arguments: tuple[str, ...]) -> None:
    *models, text = (*([str(model)] if model is not None else []), *arguments) or ("",)
    if not models:
        raise click.UsageError('--compare needs models and a text: --compare first.model second.model "text"')
    from piecework.cli.output import write_json
    from piecework.cli.token_lanes import TokenLane, json_lanes, show_lanes
    from piecework.cli.tokenizer_names import named_sources
    from piecework.playground.catalogue import Catalogue

    catalogue = Catalogue.from_models(named_sources(models))
    if text == "-":
        text = sys.stdin.buffer.read().decode(errors=REPLACE_EACH_BYTE).removesuffix("\n")
    lanes = [TokenLane.from_text(name, catalogue[name], text) for name in catalogue.names]
    if output == "json":
        write_json({"text": text, "lanes": json_lanes(lanes)})
    else:
        sys.stdout.write(show_lanes(lanes, view=output or "text"))
    if sys.stdout.isatty() and terminal.is_interactive:
        terminal.suggest("playground", *models)


def _encode(terminal: Terminal, model: Path, output: str, file: str) -> None:
    from piecework.cli.lines import read_lines
    from piecework.tokenizer.tokenizer import Tokenizer

    tokenizer = Tokenizer.load(model)
    write = {"pieces": _pieces, "ids": _ids, "json": _json}[output]
    stdout = sys.stdout.buffer
    for lines in read_lines(file, terminal):
        stdout.write(write(tokenizer, [line.decode(errors=REPLACE_EACH_BYTE) for line in lines]))
        stdout.flush()
    # In a pipe, the next command is already there.
    if sys.stdout.isatty() and terminal.is_interactive:
        terminal.suggest("decode", "--model", model)


def _pieces(tokenizer: "Tokenizer", texts: list[str]) -> bytes:
    return "".join(" ".join(tokenizer.encode_pieces(text)) + "\n" for text in texts).encode()


def _ids(tokenizer: "Tokenizer", texts: list[str]) -> bytes:
    return "".join(" ".join(map(str, ids)) + "\n" for ids in tokenizer.encode_batch(texts)).encode()


def _json(tokenizer: "Tokenizer", texts: list[str]) -> bytes:
    import orjson

    def record(text: str) -> dict[str, object]:
        tokens = tokenizer.tokens(text)
        return {
            "ids": [token.id for token in tokens],
            "pieces": [token.piece for token in tokens],
            "offsets": [(token.start, token.end) for token in tokens],
        }

    return b"".join(orjson.dumps(record(text), option=orjson.OPT_APPEND_NEWLINE) for text in texts)


# SentencePiece turns each invalid byte into U+FFFD; Python's "replace" turns several into one.
REPLACE_EACH_BYTE = "piecework-replace-each-byte"


def _replace_each_byte(error: UnicodeError) -> tuple[str | bytes, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd", error.start + 1


codecs.register_error(REPLACE_EACH_BYTE, _replace_each_byte)
