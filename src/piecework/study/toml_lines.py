"""The line of each key of a TOML text, which `tomllib` does not report."""

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator

__all__ = ["KeyPath", "key_lines"]

KeyPath = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_KEY_PART = re.compile(r"""[A-Za-z0-9_-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*'""")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
# A multi-line string may end with one or two quotes of its own, before the three that close it.
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{1,2})?'
    r"|'''.*?'''(?:'{1,2})?"
    r"""|"(?:\\.|[^"\\\n])*"|'[^'\n]*'""",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\n]+")


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line, from 1, of every table, key and array element of a text that is valid TOML.

    >>> key_lines('seed = 1\\n[corpus]\\ntext = "t"\\n[[corpus.subset]]\\npath = ["a",\\n"b"]')[
    ...     "corpus", "subset", 0, "path", 1
    ... ]
    6
    """
    return _Scanner(text).lines


class _Scanner:
    """Scans the text once. The text must be valid TOML: call `tomllib` first."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.lines: dict[KeyPath, int] = {}
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._array_lengths: dict[KeyPath, int] = {}
        table: KeyPath = ()
        self._take(_BLANK)
        while self.position < len(text):
            table = self._header() if text[self.position] == "[" else self._pair(table)
            self._take(_BLANK)

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.position)
        assert match, f"no TOML at line {self._line()}"
        self.position = match.end()
        return match.group()

    def _line(self) -> int:
        return bisect_right(self._line_starts, self.position)

    def _note(self, path: KeyPath, line: int) -> None:
        self.lines.setdefault(path, line)

    def _key(self) -> Iterator[str]:
        """The parts of a dotted key."""
        while True:
            part = self._take(_KEY_PART)
            yield tomllib.loads(f"key = {part}")["key"] if part[0] in "\"'" else part
            if not _DOT.match(self.text, self.position):
                return
            self._take(_DOT)

    def _header(self) -> KeyPath:
        line = self._line()
        is_array = self.text.startswith("[[", self.position)
        self.position += 2 if is_array else 1
        self._take(_BLANK)
        *parents, last = self._key()
        self._take(_BLANK)
        self.position += 2 if is_array else 1
        path: KeyPath = ()
        for part in parents:
            path = self._current((*path, part), line)
        path = (*path, last)
        if is_array:
            self._note(path, line)
            index = self._array_lengths.setdefault(path, 0)
            self._array_lengths[path] += 1
            path = (*path, index)
        self._note(path, line)
        return path

    def _current(self, path: KeyPath, line: int) -> KeyPath:
        """The table that a header's parent names: in an array of tables, the last one."""
        self._note(path, line)
        return (*path, self._array_lengths[path] - 1) if path in self._array_lengths else path

    def _pair(self, table: KeyPath) -> KeyPath:
        """Scans a key and its value; returns the table, which stays current."""
        line = self._line()
        path = table
        for part in self._key():
            path = (*path, part)
            self._note(path, line)
        self._take(_BLANK)
        self.position += 1  # the equals sign
        self._take(_BLANK)
        self._value(path)
        return table

    def _value(self, path: KeyPath) -> None:
        opening = self.text[self.position]
        if opening == "[":
            for index in self._members("]"):
                self._note((*path, index), self._line())
                self._value((*path, index))
        elif opening == "{":
            for _ in self._members("}"):
                self._pair(path)
        else:
            self._take(_STRING if opening in "\"'" else _SCALAR)

    def _members(self, closing: str) -> Iterator[int]:
        """Stops at the start of each member of an array or inline table, and finally after its end."""
        self.position += 1
        index = 0
        while True:
            self._take(_BLANK)
            if self.text[self.position] == closing:
                self.position += 1
                return
            yield index
            index += 1
            self._take(_BLANK)
            self.position += self.text[self.position] == ","
