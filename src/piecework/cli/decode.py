"""`piecework decode`: turn lines of ids into text."""

import sys
from pathlib import Path

import click

from piecework.cli.options import LocalPath
from piecework.cli.terminal import Terminal, verbosity_options
from piecework.errors import InputError

__all__ = ["command"]


@click.command("decode", short_help="Turn ids into text.")
@click.option(
    "-m",
    "--model",
    required=True,
    type=LocalPath(),
    help="A .model, .tiktoken or tokenizer.json file, the folder of a tokenizer, or a name such as gpt-4o.",
)
@click.argument("file", default="-", type=click.Path(dir_okay=False, allow_dash=True))
@verbosity_options
@click.pass_obj
def command(terminal: Terminal, model: Path, file: str) -> None:
    """Decode each line of ids in FILE (or stdin) into text.

    Ids are separated by spaces or commas; square brackets are ignored.

    \b
    Examples:
      piecework decode --model out/nordic book.ids
      echo "Hej" | piecework encode --model out/nordic --ids | piecework decode --model out/nordic
    """
    from piecework.cli.lines import read_lines
    from piecework.cli.tokenizer_names import load_native

    tokenizer = load_native(model)
    vocab_size = tokenizer.vocab_size
    stdout = sys.stdout.buffer
    line_number = 0
    for lines in read_lines(file, terminal):
        texts = []
        for line in lines:
            line_number += 1
            try:
                ids = _parse_ids(line, vocab_size)
            except ValueError as error:
                name = "stdin" if file == "-" else file
                raise InputError(f"{name}:{line_number}: {error}") from None
            texts.append(tokenizer.decode(ids) + "\n")
        stdout.write("".join(texts).encode())
        stdout.flush()
    if sys.stdout.isatty() and terminal.is_interactive:
        terminal.suggest("inspect", model)


_SEPARATORS = bytes.maketrans(b",[]", b"   ")


def _parse_ids(line: bytes, vocab_size: int) -> list[int]:
    ids = []
    for word in line.translate(_SEPARATORS).split():
        if not word.isdigit():
            written = word.decode(errors="backslashreplace")
            raise ValueError(
                f'"{written}" is not an id; ids are whole numbers, as `piecework encode --ids` writes them'
            )
        # Compared by length first: int() refuses thousands of digits.
        if len(word.lstrip(b"0")) > 10 or int(word) >= vocab_size:
            raise ValueError(
                f"id {word[:20].decode()} is not in the vocabulary, whose ids are 0 to {vocab_size - 1}; "
                f"was it encoded with another model?"
            )
        ids.append(int(word))
    return ids
