"""Parallel text: one file per language, in which line n says the same in every language."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from piecework.common.path_pattern import PathPattern
from piecework.common.storage import Location
from piecework.corpus.inputs import FORMATS, suffixes
from piecework.corpus.streams import ByteStream
from piecework.errors import InputError

__all__ = ["PIVOT", "ParallelText", "parallel_text", "read_parallel"]


PIVOT = "en"
"""The pivot if none is named and this language is among the files."""


@dataclass(frozen=True, slots=True)
class ParallelText:
    """The lines of each language. Every language has the same number of lines."""

    lines: dict[str, list[str]]
    pivot: str
    """The language that the others are compared with."""
    key: str
    """A hash of the text and the pivot."""


def read_parallel(pattern: str, folder: Path, *, pivot: str | None = None, text_field: str = "text") -> ParallelText:
    """Reads the files that the pattern finds, such as par/{language}.txt: text or JSONL, also compressed.

    A file that has more lines than another, or an empty line where others have text, is refused. Without `pivot`, the
    pivot is English, or else the first language.
    """
    files: dict[str, Location] = {}
    for match in PathPattern(pattern).find(folder):
        if match.language is None:
            raise InputError(f'{pattern}: no {{language}} in the path; write for example "par/{{language}}.txt"')
        if match.language in files:
            raise InputError(f"{match.path}: a second file of {match.language}, beside {files[match.language]}")
        files[match.language] = match.path
    if len(files) < 2:
        found = f"only {next(iter(files.values()))}" if files else "no file"
        raise InputError(f"{pattern}: finds {found}; parallel text needs a file for each of two or more languages")
    if pivot is not None and pivot not in files:
        raise InputError(f'{pattern}: no file of the pivot "{pivot}"; there is {", ".join(files)}')
    lines = {language: _lines(path, text_field) for language, path in files.items()}
    _check_aligned(lines, files)
    return parallel_text(lines, pivot=pivot)


def parallel_text(lines: Mapping[str, Sequence[str]], *, pivot: str | None = None) -> ParallelText:
    """Parallel text in memory, by language.

    >>> parallel_text({"en": ["the cat"], "de": ["die Katze"]}).pivot
    'en'
    """
    lengths = {language: len(each) for language, each in lines.items()}
    if not lengths or len(set(lengths.values())) > 1:
        listed = ", ".join(f"{language} has {length:,}" for language, length in lengths.items())
        raise InputError(f"texts are not parallel: {listed or 'no'} lines; line n must say the same in every language")
    chosen = pivot or (PIVOT if PIVOT in lines else next(iter(lines)))
    if chosen not in lines:
        raise InputError(f'the pivot "{chosen}" is not among the languages: {", ".join(lines)}')
    digest = hashlib.blake2b(digest_size=16)
    for part in (chosen, *(line for language in lines for line in (language, *lines[language]))):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\n")
    return ParallelText({language: list(each) for language, each in lines.items()}, chosen, digest.hexdigest())


def _lines(path: Location, text_field: str) -> list[str]:
    suffix, compression = suffixes(path)
    data = b"".join(ByteStream(path, compression))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}:{line}: not valid UTF-8; parallel text cannot skip a line") from None
    lines = text.replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return (
        [_field(line, text_field, f"{path}:{n}") for n, line in enumerate(lines, 1)]
        if FORMATS.get(suffix) == "jsonl"
        else lines
    )


def _field(line: str, name: str, where: str) -> str:
    try:
        text = json.loads(line)[name]
    except (ValueError, KeyError, TypeError):
        text = None
    if not isinstance(text, str):
        raise InputError(f'{where}: no JSON object with the text field "{name}"; parallel text cannot skip a line')
    return text


def _check_aligned(lines: dict[str, list[str]], files: dict[str, Location]) -> None:
    first, *others = lines
    for language in others:
        if len(lines[language]) != len(lines[first]):
            raise InputError(
                f"{files[language]}: {len(lines[language]):,} lines, but {files[first]} has {len(lines[first]):,}; "
                "line n must say the same in every language"
            )
    if not lines[first]:
        raise InputError(f"{files[first]}: the file is empty")
    for number, row in enumerate(zip(*lines.values(), strict=True), 1):
        has_text = [bool(line.strip()) for line in row]
        if any(has_text) and not all(has_text):
            empty, full = (list(lines)[has_text.index(value)] for value in (False, True))
            raise InputError(
                f"{files[empty]}:{number}: empty, but {files[full]} has text there; remove the line from every file"
            )
