"""Counts of the pre-tokens of text files, line by line as Hugging Face `tokenizers` reads files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator

from piecework.common.pre_tokenizer import PreTokenizer
from piecework.corpus.inputs import find_files
from piecework.corpus.streams import line_blocks
from piecework.counting.pre_tokens import (
    PreTokenCounter,
    PreTokenCounts,
    as_pre_tokenizer,
    check_threads,
)
from piecework.errors import InputError

__all__ = ["count_pre_tokens_of_files"]

_BLOCK_BYTES = 1 << 20
_ANY_LENGTH = sys.maxsize


def count_pre_tokens_of_files(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    pre_tokenizer: str | PreTokenizer,
    threads: int = 1,
) -> PreTokenCounts:
    """Counts the pre-tokens of plain text files: each line, with its newline, is a text.

    So `train(count_pre_tokens_of_files(files, ...), recipe)` gives the tokenizer of Hugging Face's
    `Tokenizer.train(files, trainer)`. Files may be compressed (`.gz`, `.zst`) or remote (`s3://`); a folder stands for
    its files. One block of a file is in memory at a time.
    """
    cutter = as_pre_tokenizer(pre_tokenizer)
    check_threads(threads)
    blocks = _blocks([paths] if isinstance(paths, str | os.PathLike) else paths)
    counter = PreTokenCounter(cutter, threads=threads)
    for block in blocks:
        counter.add_lines(block)
    return counter.finish()


def _blocks(paths: Iterable[str | os.PathLike[str]]) -> Iterator[bytes]:
    for file in find_files(paths):
        if file.format != "text":
            raise InputError(
                f"{file.path}: {file.format} has records, not lines of text; give its texts to count_pre_tokens"
            )
        for block in line_blocks(file.path, file.compression, _BLOCK_BYTES, max_line_bytes=_ANY_LENGTH):
            yield block.data
