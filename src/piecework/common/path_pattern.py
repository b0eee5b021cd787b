"""Path patterns: globs with braces for category and language, such as `data/{category}_{language}.jsonl`."""

import glob
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from piecework.common.mistakes import did_you_mean
from piecework.common.storage import Location, RemotePath, credentials_problem, is_remote, locate
from piecework.errors import InputError

__all__ = ["BRACES", "Brace", "Match", "PathPattern"]

Brace = Literal["category", "language"]
BRACES: tuple[str, ...] = get_args(Brace)

LOCAL_SCHEME = "file://"

_BRACE = re.compile(r"\{([^{}]*)\}")
_ANY_NAME = r"[^/]"


@dataclass(frozen=True, slots=True)
class Match:
    """A path that matches a pattern, with the values of its braces."""

    path: Location
    category: str | None
    language: str | None


@dataclass(frozen=True)
class PathPattern:
    """A path with `*`, `?`, `[...]` and `**` as in a shell, and the braces {category} and {language}.

    A brace matches a part of the name of one file or folder. If a name can be split in several ways, {language} is as
    short as possible: `{category}_{language}.jsonl` splits `old_books_sv.jsonl` into old_books and sv.
    """

    text: str

    def mistakes(self) -> Iterator[str]:
        """Mistakes in the pattern itself.

        >>> list(PathPattern("data/{lang}.txt").mistakes())
        ['unknown brace {lang}; did you mean "language"?']
        """
        if not self.text.strip():
            yield "the path is empty"
        if problem := credentials_problem(self.text):
            yield problem
            return
        if self.text.startswith("file:"):
            yield "write the path of a local file without file://"
            return
        for name in _BRACE.findall(self.text):
            if name not in BRACES:
                hint = did_you_mean(name, BRACES) or "; a path can have {category} and {language}"
                yield f"unknown brace {{{name}}}{hint}"
        if re.search(r"[{}]", _BRACE.sub("", self.text)):
            yield "a brace without its partner"
        if beside := re.search(r"[*?\]]\{\w*\}|\{\w*\}[*?\[{]", self.text):
            yield f"{beside[0]} leaves open where the name ends; put a character between them"
        try:
            self._regex  # noqa: B018  # compiled now, so that a mistake in it is found here
        except re.error as error:
            yield f"not a valid pattern: {error}; check the part in square brackets"

    @cached_property
    def braces(self) -> frozenset[str]:
        """The braces that the pattern has."""
        return frozenset(_BRACE.findall(self.text))

    @cached_property
    def wildcards(self) -> str:
        """The pattern with `*` for each brace.

        >>> PathPattern("data/{language}/*.txt").wildcards
        'data/*/*.txt'
        """
        return _BRACE.sub("*", self.text)

    def find(self, folder: Path) -> list[Match]:
        """The matching paths, sorted. A relative pattern starts at the folder.

        Folders are matched too, unless the last part of the pattern has a wildcard of its own: `data/{language}` is a
        folder for each language, and `data/{language}/*` the files in them.
        """
        if self.text.startswith(LOCAL_SCHEME):
            return PathPattern(self.text.removeprefix(LOCAL_SCHEME)).find(folder)
        if is_remote(self.text):
            return list(self._find_remote())
        found = []
        for name in sorted(set(glob.glob(self.wildcards, root_dir=folder, recursive=True))):  # noqa: PTH207
            match = self._regex.fullmatch(name.rstrip("/"))
            path = folder / name
            if match and path.exists() and not (self._files_only and path.is_dir()):
                found.append(_match(path, match))
        return found

    @property
    def _files_only(self) -> bool:
        *_, last = self.text.rstrip("/").split("/")
        return glob.has_magic(_BRACE.sub("", last))

    def _find_remote(self) -> Iterator[Match]:
        """The same for an object store, whose folders are only parts of file names."""
        if not glob.has_magic(self.wildcards):
            if (path := locate(self.text)).exists():
                yield Match(path, None, None)
            return
        top = self.literal_folder(Path())
        if not isinstance(top, RemotePath):
            raise InputError(f'{self.text}: the bucket has no name; write for example "s3://bucket/{{language}}.txt"')
        files = {file.uri: file for file in top.files()}
        found = dict(files)
        for file in files.values():
            folder = file.parent
            while len(folder.uri) > len(top.uri) and folder.uri not in found:
                found[folder.uri] = folder
                folder = folder.parent
        for uri, path in sorted(found.items()):
            match = self._regex.fullmatch(uri)
            if match and (uri in files or not self._files_only):
                yield _match(path, match)

    def literal_folder(self, folder: Path) -> Location:
        """The folder in front of the first wildcard."""
        if self.text.startswith(LOCAL_SCHEME):
            return PathPattern(self.text.removeprefix(LOCAL_SCHEME)).literal_folder(folder)
        literal = []
        for part in self.wildcards.split("/")[:-1]:
            if glob.has_magic(part):
                break
            literal.append(part)
        if is_remote(self.text):
            return locate("/".join(literal))
        return folder / ("/".join(literal) or ("/" if self.wildcards.startswith("/") else ""))

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        parts = self.text.rstrip("/").split("/")
        seen: set[str] = set()
        regex = ""
        for index, part in enumerate(parts):
            is_last = index == len(parts) - 1
            if part == "**":
                regex += ".*" if is_last else f"(?:{_ANY_NAME}+/)*"
            else:
                regex += _part_regex(part, seen) + ("" if is_last else "/")
        return re.compile(regex, re.DOTALL)


def _match(path: Location, match: re.Match[str]) -> Match:
    groups = match.groupdict()
    return Match(path, groups.get("category"), groups.get("language"))


def _part_regex(part: str, seen: set[str]) -> str:
    """A regular expression for one part of the path. A repeated brace must have the same value."""
    regex = ""
    position = 0
    while position < len(part):
        if brace := _BRACE.match(part, position):
            name = brace[1]
            greed = "?" if name == "language" else ""
            regex += f"(?P={name})" if name in seen else f"(?P<{name}>{_ANY_NAME}+{greed})"
            seen.add(name)
            position = brace.end()
        elif choice := re.compile(r"\[(!?)(\]?[^\]]*)\]").match(part, position):
            members = re.sub(r"([\\\[^&~|])", r"\\\1", choice[2])
            regex += f"[{'^' if choice[1] else ''}{members}]"
            position = choice.end()
        else:
            regex += {"*": f"{_ANY_NAME}*", "?": _ANY_NAME}.get(part[position]) or re.escape(part[position])
            position += 1
    return regex
