"""`piecework encode`: turn lines of text into tokens, or show one text in the tokens of several tokenizers."""

import codecs
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from piecework.cli.options import LocalPath, text_field_option
from piecework.cli.terminal import Terminal, verbosity_options
from piecework.errors import InputError

if TYPE_CHECKING:
    from piecework.tokenizer.byte_level import ByteLevelTokenizer
    from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["command"]


@click.command("encode", short_help="Turn text into tokens.")
@click.option(
    "-m",
    "--model",
    type=LocalPath(),
    help="A .model, .tiktoken or tokenizer.json file, the folder of a tokenizer, or a name such as gpt-4o.",
)
@click.option("--compare", is_flag=True, help="Show how each MODEL splits TEXT, one below the other.")
@click.option("--pieces", "output", flag_value="pieces", help="Write pieces [default].")
@click.option("--ids", "output", flag_value="ids", help="Write ids.")
@click.option("--json", "output", flag_value="json", help="Write one JSON object per line: ids, pieces, offsets.")
@text_field_option
@click.argument("arguments", nargs=-1, metavar="[FILE | TEXT] | --compare MODEL... TEXT")
@verbosity_options
@click.pass_obj
def command(
    terminal: Terminal,
    model: Path | None,
    compare: bool,
    output: str | None,
    text_field: str,
    arguments: tuple[str, ...],
) -> None:
    """Encode TEXT, each line of a text FILE (or of stdin), or each document of a JSONL or Parquet FILE.

    Each text gives one line of output.

    FILE may be compressed (.gz, .zst). An argument that names no file is TEXT. Offsets count characters; the
    end is exclusive.

    With --compare, show how each MODEL splits TEXT: tokens alternate between two colours, or are underlined if
    NO_COLOR is set. A TEXT of - is read from stdin. MODEL is anything that `piecework compare` takes.

    \b
    Examples:
      piecework encode --model out/nordic "Hej världen"
      echo "Hej världen" | piecework encode --model out/nordic
      piecework encode --model out/nordic/tokenizer.model --ids book.txt > book.ids
      piecework encode --model out/nordic --json book.txt.zst | jq .pieces
      piecework encode --model out/nordic --ids corpus.jsonl.zst > corpus.ids
      piecework encode --compare first.model second.model "Hej världen"
    """
    if compare:
        _compare(terminal, model, output, arguments)
        return
    if model is None:
        raise click.UsageError("missing option --model MODEL; or give --compare MODEL... TEXT")
    if len(arguments) > 1:
        raise click.UsageError(f"give one FILE or TEXT, not {len(arguments)}; put text in quotes")
    file = arguments[0] if arguments else "-"
    if file != "-" and not os.path.lexists(file):
        if _looks_like_a_path(file):
            raise InputError(f"{file}: no such file; to encode text that looks like a path, pipe it to stdin")
        _encode(terminal, model, output or "pieces", iter([file.encode(errors="surrogateescape").split(b"\n")]))
        return
    if Path(file).is_dir():
        raise click.UsageError(f"{file} is a folder; FILE must be a text file")
    from piecework.cli.lines import has_records, read_lines, read_records

    if file != "-" and has_records(file):
        _encode(terminal, model, output or "pieces", read_records(file, terminal, text_field=text_field))
        return
    _encode(terminal, model, output or "pieces", read_lines(file, terminal))


def _looks_like_a_path(text: str) -> bool:
    """Whether an argument looks like the path of a file that does not exist.

    >>> [_looks_like_a_path(text) for text in ("book.txt", "data/book", "Hej världen", "Hej!", "i.e. this", "3.5")]
    [True, True, False, False, False, False]
    """
    return not re.search(r"\s", text) and ("/" in text or re.search(r"\.[a-z]+\d*$", text) is not None)


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


def _encode(terminal: Terminal, model: Path, output: str, batches: Iterator[list[bytes]]) -> None:
    from piecework.cli.tokenizer_names import load_native

    tokenizer = load_native(model)
    write = {"pieces": _pieces, "ids": _ids, "json": _json}[output]
    stdout = sys.stdout.buffer
    for lines in batches:
        stdout.write(write(tokenizer, [line.decode(errors=REPLACE_EACH_BYTE) for line in lines]))
        stdout.flush()
    # In a pipe the next command is already there, so none is suggested.
    if sys.stdout.isatty() and terminal.is_interactive:
        terminal.suggest("decode", "--model", model)


def _pieces(tokenizer: "Tokenizer | ByteLevelTokenizer", texts: list[str]) -> bytes:
    return "".join(" ".join(tokenizer.encode_pieces(text)) + "\n" for text in texts).encode()


def _ids(tokenizer: "Tokenizer | ByteLevelTokenizer", texts: list[str]) -> bytes:
    return "".join(" ".join(map(str, ids)) + "\n" for ids in tokenizer.encode_batch(texts)).encode()


def _json(tokenizer: "Tokenizer | ByteLevelTokenizer", texts: list[str]) -> bytes:
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
