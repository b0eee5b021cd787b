"""`piecework encode`: lines of text to lines of tokens; or one text as several tokenizers see it."""

import codecs
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from piecework.cli.terminal import Terminal, verbosity_options

if TYPE_CHECKING:
    from piecework import Tokenizer

__all__ = ["command"]


@click.command("encode")
@click.option("-m", "--model", type=click.Path(path_type=Path), help="A .model, or its folder.")
@click.option("--compare", is_flag=True, help="Show TEXT in the tokens of each MODEL, under one another.")
@click.option("--pieces", "output", flag_value="pieces", help="Write pieces [default].")
@click.option("--ids", "output", flag_value="ids", help="Write ids.")
@click.option("--json", "output", flag_value="json", help="Write an object with ids, pieces and offsets.")
@click.argument("arguments", nargs=-1, metavar="[FILE] | --compare MODEL... TEXT")
@verbosity_options
@click.pass_obj
def command(
    terminal: Terminal, model: Path | None, compare: bool, output: str | None, arguments: tuple[str, ...]
) -> None:
    """Encode text: for each line of FILE (or of stdin) one line of tokens.

    FILE is text, plain or with .gz or .zst. Offsets are in characters, the end exclusive.

    With --compare, TEXT itself is shown as each MODEL cuts it, in two colours, or underlined in turns under NO_COLOR;
    a TEXT of - is read from stdin. A MODEL is whatever piecework compare takes.

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
        raise click.UsageError("missing option --model; or give --compare, models and a text")
    if len(arguments) > 1:
        raise click.UsageError(f"one FILE at a time, not {len(arguments)}")
    file = arguments[0] if arguments else "-"
    if Path(file).is_dir():
        raise click.UsageError(f"{file} is a folder, not a FILE of text")
    _encode(terminal, model, output or "pieces", file)


def _compare(terminal: Terminal, model: Path | None, output: str | None, arguments: tuple[str, ...]) -> None:
    *models, text = (*([str(model)] if model is not None else []), *arguments) or ("",)
    if not models:
        raise click.UsageError('--compare takes models and a text: --compare first.model second.model "text"')
    from piecework.cli.compare import named_sources
    from piecework.cli.token_lanes import TokenLane, json_lanes, show_lanes
    from piecework.playground.catalogue import Catalogue

    catalogue = Catalogue.of_models(named_sources(models))
    if text == "-":
        text = sys.stdin.buffer.read().decode(errors=ONE_MARK_A_BYTE).removesuffix("\n")
    lanes = [TokenLane.of(name, catalogue[name], text) for name in catalogue.names]
    if output == "json":
        import orjson

        options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        sys.stdout.buffer.write(orjson.dumps({"text": text, "lanes": json_lanes(lanes)}, option=options))
    else:
        sys.stdout.write(show_lanes(lanes, view=output or "text"))
    if sys.stdout.isatty() and terminal.is_interactive:
        terminal.suggest("playground", *models)


def _encode(terminal: Terminal, model: Path, output: str, file: str) -> None:
    from piecework import Tokenizer
    from piecework.cli.lines import read_lines

    tokenizer = Tokenizer.load(model)
    write = {"pieces": _pieces, "ids": _ids, "json": _json}[output]
    stdout = sys.stdout.buffer
    for lines in read_lines(file, terminal):
        stdout.write(write(tokenizer, [line.decode(errors=ONE_MARK_A_BYTE) for line in lines]))
        stdout.flush()
    # In a pipe the next command has been typed already.
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


# SentencePiece turns each bad byte into a U+FFFD; Python's own "replace" takes several bad bytes together.
ONE_MARK_A_BYTE = "piecework-one-mark-a-byte"


def _one_mark_a_byte(error: UnicodeError) -> tuple[str | bytes, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd", error.start + 1


codecs.register_error(ONE_MARK_A_BYTE, _one_mark_a_byte)
