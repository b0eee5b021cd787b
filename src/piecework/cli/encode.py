"""`piecework encode`: lines of text to lines of tokens."""

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
@click.option("-m", "--model", required=True, type=click.Path(path_type=Path), help="A .model, or its folder.")
@click.option("--pieces", "output", flag_value="pieces", default=True, help="Write pieces [default].")
@click.option("--ids", "output", flag_value="ids", help="Write ids.")
@click.option("--json", "output", flag_value="json", help="Write an object with ids, pieces and offsets.")
@click.argument("file", default="-", type=click.Path(dir_okay=False, allow_dash=True))
@verbosity_options
@click.pass_obj
def command(terminal: Terminal, model: Path, output: str, file: str) -> None:
    """Encode text: for each line of FILE (or of stdin) one line of tokens.

    FILE is text, plain or with .gz or .zst. Offsets are in characters, the end exclusive.

    \b
    Examples:
      echo "Hej världen" | piecework encode --model out/nordic
      piecework encode --model out/nordic/tokenizer.model --ids book.txt > book.ids
      piecework encode --model out/nordic --json book.txt.zst | jq .pieces
    """
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
