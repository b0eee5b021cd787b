"""`--data FILE`: documents by language, from files whose names tell the language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from piecework.cli.terminal import Terminal, format_bytes, format_count
from piecework.errors import InputError

if TYPE_CHECKING:
    from piecework.corpus import InputFile
    from piecework.corpus.readers import TextUnit

__all__ = ["language_from_name", "read_texts"]


def read_texts(
    terminal: Terminal, paths: Sequence[Path], *, language: str | None, unit: TextUnit, field: str
) -> dict[str, list[str]]:
    """Read the documents of these files and return them by language."""
    from piecework.corpus import Skipped, open_batches
    from piecework.corpus.fields import needed_field

    named = list(_named_files(paths))
    files = [file for file, _ in named]
    skipped = Skipped()
    texts: dict[str, list[str]] = {}
    for file, in_pattern in named:
        found = texts.setdefault(language or in_pattern or language_from_name(file), [])
        for batch in open_batches([file], text_field=field, text_unit=unit, skipped=skipped):
            found += _strings(batch.documents)
    if skipped.total:
        terminal.warn(str(skipped))
    count = sum(map(len, texts.values()))
    if not count:
        raise InputError(f"no document in {format_count(len(files), 'file')}; {needed_field(files, field)}")
    terminal.say(
        f"read {format_count(count, 'document')} in {', '.join(sorted(texts))} "
        f"({format_bytes(sum(file.size_bytes for file in files))})"
    )
    return texts


def _named_files(paths: Sequence[Path]) -> Iterator[tuple[InputFile, str | None]]:
    """The files, and the language that a {language} in their pattern stands for."""
    from piecework.common.path_pattern import PathPattern
    from piecework.corpus import find_files

    for path in paths:
        if "{" not in str(path) or path.exists():
            yield from ((file, None) for file in find_files([path]))
            continue
        pattern = PathPattern(str(path))
        if mistakes := list(pattern.mistakes()):
            raise InputError(f"{path}: {'; '.join(mistakes)}")
        matches = pattern.find(Path())
        if not matches:
            raise InputError(f"{path}: no file matches this pattern")
        for match in matches:
            yield from ((file, match.language) for file in find_files([match.path]))


def _strings(documents: Any) -> Iterator[str]:
    values = documents if isinstance(documents, list) else documents.to_pylist()
    return (value.decode() if isinstance(value, bytes) else value for value in values)


def language_from_name(file: InputFile) -> str:
    """Return the language that a file's path names, as in `books_sv.jsonl.zst` or `sv/books.txt`; else "text".

    >>> from piecework.corpus.inputs import InputFile
    >>> names = ("law_sv.jsonl.zst", "da/a.txt", "x.py", "x.txt")
    >>> [language_from_name(InputFile(Path(name), "text", None, 0)) for name in names]
    ['sv', 'da', 'code', 'text']
    """
    from piecework.corpus.languages import CODE, SOURCE_SUFFIXES, is_language

    if file.path.suffix.lower() in SOURCE_SUFFIXES:
        return CODE
    name_parts = re.split(r"[_.\-]", file.path.name)
    candidates = [*reversed(name_parts), *reversed(str(file.path.parent).split("/"))]
    return next((part for part in candidates if is_language(part)), "text")
