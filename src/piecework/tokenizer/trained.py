"""A tokenizer that a study trains, of either kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from piecework.common.recorded_files import read_recorded
from piecework.errors import InputError
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["EXTENSION_FILE", "TrainedTokenizer", "load_trained", "new_piece_ids", "trained_file"]

TrainedTokenizer = Tokenizer | ByteLevelTokenizer
"""What training gives. Both have pieces, sizes and merge trees; `AnyTokenizer` is what all tokenizers have."""

EXTENSION_FILE = "extension.json"
"""What changed, in the folder of an extended tokenizer."""

_FILES = ("tokenizer.model", "tokenizer.json")


def trained_file(folder: Path) -> Path:
    """The file in the folder of a trained tokenizer that contains the whole tokenizer."""
    return next((folder / name for name in _FILES if (folder / name).is_file()), folder / _FILES[0])


def load_trained(folder: Path) -> TrainedTokenizer:
    """The tokenizer in a folder that `save` wrote: of SentencePiece if it has a model, else byte-level.

    >>> import tempfile, piecework as pw
    >>> counts = pw.count_pre_tokens(["a rose is a rose"], pre_tokenizer="gpt2")
    >>> folder = pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=260)).save(tempfile.mkdtemp())
    >>> load_trained(folder.parent)
    ByteLevelTokenizer(260 pieces, gpt2)
    """
    path = trained_file(folder)
    tokenizer = ByteLevelTokenizer.load(path) if path.suffix == ".json" else Tokenizer.load(path)
    tokenizer.extended_from = _old_size(folder / EXTENSION_FILE)
    return tokenizer


def new_piece_ids(folder: Path) -> frozenset[int]:
    """The ids of the new pieces of an extended tokenizer, in no order. With `replace` they are ids of old pieces."""
    record = _extension(folder / EXTENSION_FILE)
    return frozenset() if record is None else frozenset(piece["id"] for piece in record["new_pieces"])


def _old_size(path: Path) -> int | None:
    """The size before extending; None if the tokenizer was trained from nothing."""
    record = _extension(path)
    return None if record is None else record["old_size"]


def _extension(path: Path) -> dict[str, Any] | None:
    try:
        record: dict[str, Any] = orjson.loads(read_recorded(path))
        if all(isinstance(number, int) for number in (record["old_size"], *(p["id"] for p in record["new_pieces"]))):
            return record
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(f"{path}: cannot read what was extended: {error}") from error
    raise InputError(f"{path}: cannot read what was extended: an id or size is not a whole number")
