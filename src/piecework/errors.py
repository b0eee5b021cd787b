"""Everything Piecework raises on purpose: a message says what, where, the value, and the fix."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

__all__ = [
    "DamagedError",
    "EmptySubsetError",
    "InputError",
    "Mistake",
    "ModelError",
    "OtherFormatError",
    "PieceworkError",
    "RecipeError",
    "StudyError",
    "VocabularyTooLargeError",
    "explain_os_error",
]


class PieceworkError(Exception):
    """The base of every error that Piecework raises on purpose."""


class RecipeError(PieceworkError):
    """A recipe has a setting that is unknown, of the wrong type, out of range, or in conflict with another."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong in a file that a person wrote, and in which line; without a file where there is none.

    >>> str(Mistake('unknown key "sed"; did you mean "seed"?', file="study.toml", line=2))
    'study.toml:2: unknown key "sed"; did you mean "seed"?'
    """

    message: str
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        location = ":".join(filter(None, [self.file or "", str(self.line or "")]))
        return f"{location}: {self.message}" if location else self.message

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


class StudyError(PieceworkError):
    """A study file, or a table that it names, has mistakes: all of them, one a line.

    >>> str(StudyError([Mistake("the file is empty", file="study.toml")]))
    'study.toml: the file is empty'
    """

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__(self.mistakes)

    def __str__(self) -> str:
        return "\n".join(map(str, self.mistakes))


class ModelError(PieceworkError):
    """A file is not a SentencePiece BPE model that Piecework can use."""


class InputError(PieceworkError):
    """A file or folder cannot be found, read or written as asked."""


class DamagedError(InputError):
    """A file that Piecework wrote has changed since: its `path`, and what is wrong with it.

    >>> str(DamagedError("out/counts/counts.json", "its checksum is another"))
    'out/counts/counts.json: damaged since it was written (its checksum is another)'
    """

    def __init__(self, path: object, problem: str, fix: str = "") -> None:
        super().__init__(f"{path}: damaged since it was written ({problem}){f'; {fix}' if fix else ''}")
        self.path = path


class EmptySubsetError(InputError):
    """Subsets of a corpus have records, and none of them can be used; `subsets` are their names.

    With `fatal` no subset has a document, so that there is nothing to count.
    """

    def __init__(self, message: str, subsets: Iterable[str], *, fatal: bool = False) -> None:
        super().__init__(message)
        self.subsets = tuple(subsets)
        self.fatal = fatal


class OtherFormatError(InputError):
    """A file was written by another version of Piecework."""


class VocabularyTooLargeError(PieceworkError):
    """The text has too few distinct pieces for the vocabulary size; `largest` is the size that it allows.

    >>> VocabularyTooLargeError(42).largest
    42
    """

    def __init__(self, largest: int, message: str | None = None) -> None:
        super().__init__(message or f"the text allows a vocabulary of at most {largest} pieces")
        self.largest = largest


def explain_os_error(error: OSError) -> str:
    """Where it happened, the reason, and what helps if a limit of the system is the cause."""
    where = f"{error.filename}: " if error.filename else ""
    fix = {errno.EMFILE: "; raise the limit, for example with `ulimit -n 1024`"}.get(error.errno or 0, "")
    return f"{where}{error.strerror or error}{fix}"
