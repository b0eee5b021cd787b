"""`piecework decode`: lines of ids to text."""

import sys
from pathlib import Path

import click

from piecework.cli.terminal import Terminal, verbosity_options
from piecework.errors import InputError

__all__ = ["command"]


@click.command("decode")
@click.option("-m", "--model", required=True, type=click.Path(path_type=Path), help="A .model, or its folder.")
@click.argument("file", default="-", type=click.Path(dir_okay=False, allow_dash=True))
@verbosity_options
@click.pass_obj
def command(terminal: Terminal, model: Path, file: str) -> None:
    """Decode ids: for each line of ids in FILE (or stdin) the text.

    Ids are separated by spaces or commas; square brackets around them do no harm.

    \b
    Examples:
      piecework decode --model out/nordic book.ids
      echo "Hej" | piecework encode --model out/nordic --ids | piecework decode --model out/nordic
    """
    from piecework import Tokenizer
    from piecework.cli.lines import read_lines

    tokenizer = Tokenizer.load(model)
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
            shown = word.decode(errors="backslashreplace")
            raise ValueError(f'"{shown}" is no id; ids are whole numbers, as `piecework encode --ids` writes them')
        # Compared by length first: int() refuses thousands of digits.
        if len(word.lstrip(b"0")) > 10 or int(word) >= vocab_size:
            raise ValueError(
                f"id {word[:20].decode()} is not in the vocabulary, whose ids are 0 to {vocab_size - 1}; "
                f"was it written with another model?"
            )
        ids.append(int(word))
    return ids
