"""How often training saw each merge: a file beside the model, which has no room for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from piecework._core import count_lines
from piecework.common.files import replace_atomically
from piecework.common.recorded_files import read_recorded
from piecework.errors import InputError
from piecework.tokenizer.byte_characters import characters_of_bytes
from piecework.tokenizer.tokenizer import Tokenizer
from piecework.tokenizer.trained import TrainedTokenizer

__all__ = ["FREQUENCIES_FILE", "merge_frequencies", "read_frequencies", "write_frequencies"]

FREQUENCIES_FILE = "merges.tsv"


def write_frequencies(frequencies: Mapping[str, int], folder: Path) -> Path:
    """Write a line for each merge, in order: the piece that it makes, and how often training saw the pair.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> written = write_frequencies({"ha": 3, "▁\\t": 2, "h\\r": 1}, folder)
    >>> read_frequencies(folder)
    {'ha': 3, '▁\\t': 2, 'h\\r': 1}
    """
    path = folder / FREQUENCIES_FILE
    # A piece may have a tab, but no newline: nothing merges across lines.
    lines = count_lines(dict(frequencies))
    with replace_atomically(path) as temporary:
        temporary.write_bytes(lines)
    return path


def merge_frequencies(tokenizer: TrainedTokenizer) -> dict[str, int] | None:
    """What a tokenizer knows of its merges, by name; None for one that was loaded.

    A byte-level merge is written as in `merges.txt`: its two tokens with a space between them.
    """
    if tokenizer.frequencies is None:
        return None
    if isinstance(tokenizer, Tokenizer):
        return dict(tokenizer.frequencies or {})
    tokens = tokenizer.model.tokens
    names = (
        f"{characters_of_bytes(tokens[left])} {characters_of_bytes(tokens[right])}"
        for left, right, _ in tokenizer.model.merges or ()
    )
    return dict(zip(names, tokenizer.frequencies, strict=True))


def read_frequencies(folder: Path) -> dict[str, int] | None:
    """What `write_frequencies` wrote, or None where there is none."""
    path = folder / FREQUENCIES_FILE
    try:
        lines = read_recorded(path).decode().split("\n")  # not as text: a piece may have a "\r" in it
        pairs = [line.rsplit("\t", 1) for line in lines if line]
        return {piece: int(count) for piece, count in pairs}
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as pieces with their frequencies: {error}") from error
