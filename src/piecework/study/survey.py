"""Guesses patterns, languages, categories and text fields from the files of a folder."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from glob import escape
from pathlib import Path
from typing import Literal

from piecework.common.path_pattern import PathPattern
from piecework.common.storage import relative_name
from piecework.common.subset_name import SubsetName
from piecework.corpus.fields import found_languages, guess_text_field, language_fields
from piecework.corpus.inputs import COMPRESSIONS, FORMATS, InputFile, find_files
from piecework.corpus.languages import CODE, SOURCE_SUFFIXES, UNDETERMINED, is_language
from piecework.errors import InputError
from piecework.study.recipe import CODE_TOKENS
from piecework.study.schema import DEFAULT_CATEGORY

__all__ = ["Group", "Survey", "survey_folder"]

_OUTPUT_FILES = frozenset({"run.json", "counts.json", "tokenizer.model"})
"""A folder with one of these files is output of Piecework."""
# They look like text of the corpus, but are not.
_LEFT_OUT_FOLDERS = frozenset({"out", "node_modules", "__pycache__", "venv", "site-packages"})
_LEFT_OUT_FILES = re.compile(r"(?i)(readme|licen[sc]e|copying|changelog|changes|notice|requirements)\b.*")
# part-00001, 3, 00001-of-00010; and books_part-00001
_SHARD = re.compile(r"(?i)(?:part|shard|chunk)?[-_.]?\d+(?:[-_.]?of[-_.]?\d+)?")
_NAMED_SHARD = re.compile(rf"(?P<base>.*?)(?P<separator>[-_.]){_SHARD.pattern.removeprefix('(?i)')}", re.IGNORECASE)
_SAYS_NOTHING = frozenset({"all", "chunk", "corpus", "data", "docs", "documents", "part", "shard", "text", "train"})

MOST_CATEGORIES = 30
MOST_NAMED_FILES = 20
FILES_WORTH_A_DOCUMENT = 50


@dataclass(frozen=True, slots=True)
class Group:
    """The files of one or more patterns, and what they contain."""

    patterns: tuple[str, ...]
    files: tuple[InputFile, ...]
    language: str | None = None
    """If the pattern has no {language}."""
    category: str | None = None
    code_token: str | None = None
    text: str | None = None
    """The field of the text; None for plain text."""
    documents: Literal["file", "line"] | None = None
    """The document unit of plain text; None for other formats."""
    language_field: str | None = None
    """The field with the language, if no path has it."""

    subsets: tuple[SubsetName, ...] = ()
    """The subsets that its files belong to, sorted by category."""

    @property
    def size_bytes(self) -> int:
        """The size of its files as they are stored."""
        return sum(file.size_bytes for file in self.files)

    @property
    def languages(self) -> list[str]:
        """The languages of its files."""
        return sorted({name.language for name in self.subsets})

    @property
    def categories(self) -> list[str]:
        """The categories of its files."""
        return sorted({name.category for name in self.subsets})


@dataclass(slots=True)
class Survey:
    """The groups of a folder, and notes for the user."""

    groups: list[Group] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """The number of unreadable files, by suffix."""
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Name:
    """The parts of a file's path."""

    path: str
    folders: tuple[str, ...]
    stem: str
    tail: str
    """The suffixes of format and compression, such as `.jsonl.zst`; without the format if the language stands there."""


def survey_folder(folder: Path) -> Survey:
    """Surveys the names of all files below the folder, and the content of some.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("books_sv.txt", "books_is.txt", "old_law_sv.txt"):
    ...     _ = (folder / name).write_text("hej")
    >>> [group.patterns for group in survey_folder(folder).groups]
    [('{category}_{language}.txt',)]
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; name the one that has the text")
    survey = Survey()
    names = list(_readable_names(folder, survey))
    sources = [name for name in names if _suffix(name.tail) in SOURCE_SUFFIXES]
    texts = [name for name in names if _suffix(name.tail) in FORMATS]
    # A script or a note beside the data is not part of the corpus.
    if data := [name for name in texts if _suffix(name.tail) != ".md" or name.folders]:
        texts = data
        sources = [name for name in sources if name.folders]
    shapes: dict[tuple[str, int], list[_Name]] = {}
    for name in texts:
        shapes.setdefault((name.tail, len(name.folders)), []).append(name)
    for alike in shapes.values():
        survey.groups += _group_by_language(folder, alike, names, survey)
    survey.groups += _group_sources(folder, sources)
    return survey


def _readable_names(folder: Path, survey: Survey) -> Iterator[_Name]:
    for root, folders, names in os.walk(folder):
        if _OUTPUT_FILES.intersection(names):
            # The output of a study is no corpus.
            folders.clear()
            survey.notes.append(f"{root} is left out: it is the output of a study")
            continue
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _LEFT_OUT_FOLDERS)
        above = Path(root).relative_to(folder).parts
        with_language = _suffixes_are_languages(names)
        for name in sorted(names):
            if name.startswith(".") or _LEFT_OUT_FILES.fullmatch(name):
                continue
            stem, tail = with_language.get(name) or _split_name(name)
            path = "/".join((*above, name))
            if not tail and name not in with_language:
                survey.left_out[Path(name).suffix or "no suffix"] += 1
            elif re.search(r"[{}\\]", path) or not path.isprintable():
                survey.notes.append(f"{path!r} is left out: no pattern can name it; rename the file")
            else:
                yield _Name(path, above, stem, tail)


def _split_name(name: str) -> tuple[str, str]:
    """Splits a name into its stem and its suffixes of format and compression; no suffixes if it is not text.

    >>> _split_name("books_sv.jsonl.zst"), _split_name("setup.py"), _split_name("cover.png")
    (('books_sv', '.jsonl.zst'), ('setup', '.py'), ('cover.png', ''))
    """
    compression = suffix if (suffix := Path(name).suffix).lower() in COMPRESSIONS else ""
    suffix = Path(name.removesuffix(compression)).suffix
    tail = suffix + compression
    known = suffix.lower() in FORMATS or suffix.lower() in SOURCE_SUFFIXES
    return (name.removesuffix(tail), tail) if known else (name, "")


def _suffixes_are_languages(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Splits names such as corpus.de and corpus.pl, where the language stands in place of the format.

    Several files must differ only in this suffix, and not all suffixes may be of source code: `main.pl` is Perl.

    >>> _suffixes_are_languages(["corpus.de", "corpus.pl.gz", "main.pl", "main.py", "main.txt"])
    {'corpus.de': ('corpus.de', ''), 'corpus.pl.gz': ('corpus.pl', '.gz')}
    """
    alike: dict[str, dict[str, str]] = {}
    for name in names:
        compression = suffix if (suffix := Path(name).suffix).lower() in COMPRESSIONS else ""
        base, _, language = name.removesuffix(compression).rpartition(".")
        if base and is_language(language) and language != CODE:
            alike.setdefault(base, {})[name] = compression
    return {
        name: (name.removesuffix(compression), compression)
        for found in alike.values()
        if len(languages := {_format_suffix(name, compression) for name, compression in found.items()}) > 1
        and not languages <= SOURCE_SUFFIXES.keys()
        for name, compression in found.items()
    }


def _format_suffix(name: str, compression: str) -> str:
    return Path(name.removesuffix(compression)).suffix


def _suffix(tail: str) -> str:
    """The suffix of the format, without the compression; that of text if the name has none.

    >>> _suffix(".jsonl.zst"), _suffix(".PY"), _suffix(".gz")
    ('.jsonl', '.py', '.txt')
    """
    first = f".{tail.lower().split('.')[1]}" if tail else ""
    return ".txt" if first in {"", *COMPRESSIONS} else first


def _group_by_language(folder: Path, names: Sequence[_Name], others: Sequence[_Name], survey: Survey) -> list[Group]:
    """Covers the files with few patterns: repeatedly takes the pattern that fits most of the rest."""
    stems_tell = _stems_are_categories(names)
    remaining = {name.path: list(dict.fromkeys(_templates(name, stems_tell))) for name in names}
    by_path = {name.path: name for name in names}
    readable = {name.path for name in others}
    groups: list[Group] = []
    while True:
        votes: Counter[str] = Counter()
        order: dict[str, int] = {}
        for templates in remaining.values():
            votes.update(templates)
            for index, template in enumerate(templates):
                order[template] = min(index, order.get(template, index))
        if not votes:
            break
        best = min(votes, key=lambda template: (-votes[template], order[template], template))
        covered = [path for path, templates in remaining.items() if best in templates]
        groups += _of_template(folder, best, covered, survey)
        for path in covered:
            del remaining[path]
    if remaining:
        groups += _of_no_language(folder, [by_path[path] for path in remaining], readable, survey)
    return groups


def _stems_are_categories(names: Sequence[_Name]) -> bool:
    """Whether the files of a folder are its categories (`sv/books.jsonl`), or just documents (`sv/1234.txt`)."""
    folders: dict[str, set[tuple[str, ...]]] = {}
    for name in names:
        folders.setdefault(_without_shard(name.stem)[0], set()).add(name.folders)
    if len(folders) > MOST_CATEGORIES:
        return False
    is_text = FORMATS[_suffix(names[0].tail)] == "text"
    return not is_text or all(len(having) > 1 for having in folders.values())


def _without_shard(stem: str) -> tuple[str, str]:
    """A stem without its part number, and the separator before the number.

    >>> _without_shard("books-00001-of-00010"), _without_shard("part-7"), _without_shard("books_sv")
    (('books', '-'), ('', ''), ('books_sv', ''))
    """
    if _SHARD.fullmatch(stem):
        return "", ""
    match = _NAMED_SHARD.fullmatch(stem)
    return (match["base"], match["separator"]) if match else (stem, "")


def _templates(name: _Name, stems_tell: bool) -> Iterator[str]:
    """Patterns that contain the language of this file, the most specific first."""
    base, separator = _without_shard(name.stem)
    end = (f"{separator}*" if separator else "") + escape(name.tail)
    literal = [escape(part) for part in name.folders]
    anything = ["*"] * len(literal)
    # The language is in a folder and in the name, as in sv/sv_part-1.txt.
    for index, language in enumerate(name.folders):
        if is_language(language):
            for folders in (literal, anything):
                path = "/".join([*folders[:index], "{language}", *folders[index + 1 :], ""])
                yield from (f"{path}{stem}{end}" for stem in _stems_with(language, base))
    for before, joint, after in _cuts(base):
        for folders in (literal, anything):
            if is_language(after):
                yield "/".join([*folders, f"{'*' if _says_nothing(before) else '{category}'}{joint}{{language}}{end}"])
            if is_language(before):
                yield "/".join([*folders, f"{{language}}{joint}{'*' if _says_nothing(after) else '{category}'}{end}"])
    language_folders = [index for index, part in enumerate(name.folders) if is_language(part)]
    if is_language(base):
        for folders in (literal, anything):
            yield "/".join([*folders, f"{{language}}{end}"])
            for index in range(len(folders)):
                yield "/".join([*folders[:index], "{category}", *folders[index + 1 :], f"{{language}}{end}"])
    for position in reversed(language_folders):
        for folders in (literal, anything):
            around = [*folders[:position], "{language}", *folders[position + 1 :]]
            if stems_tell and base and not _says_nothing(base):
                yield "/".join([*around, f"{{category}}{end}"])
            yield "/".join([*around, f"*{escape(name.tail)}"])
            for index in range(len(around)):
                if index != position:
                    yield "/".join([*around[:index], "{category}", *around[index + 1 :], f"*{escape(name.tail)}"])


def _stems_with(language: str, stem: str) -> Iterator[str]:
    """A stem that names this language, with braces.

    >>> list(_stems_with("sv", "sv_part")), list(_stems_with("sv", "books_sv"))
    (['{language}_*'], ['{category}_{language}'])
    """
    if stem == language:
        yield "{language}"
    for before, joint, after in dict.fromkeys(_cuts(stem)):
        if before == language:
            yield f"{{language}}{joint}{'*' if _says_nothing(after) else '{category}'}"
        elif after == language:
            yield f"{'*' if _says_nothing(before) else '{category}'}{joint}{{language}}"


def _cuts(stem: str) -> Iterator[tuple[str, str, str]]:
    """Splits a stem at its last separator, and at its first."""
    for match in (re.fullmatch(r"(.+)([_.-])(.+?)", stem), re.fullmatch(r"(.+?)([_.-])(.+)", stem)):
        if match:
            yield match[1], match[2], match[3]


def _says_nothing(name: str) -> bool:
    return name.lower() in _SAYS_NOTHING or not _without_shard(name)[0]


def _of_template(folder: Path, template: str, covered: Sequence[str], survey: Survey) -> Iterator[Group]:
    """The group of a pattern; or a group for each language, if the pattern matches other files too."""
    pattern = PathPattern(template)
    wanted = {folder / path for path in covered}
    matches = pattern.find(folder)
    if {match.path for match in matches} == wanted and all(is_language(match.language or "") for match in matches):
        yield from _look_into(folder, Group((template,), tuple(find_files(sorted(wanted)))), survey)
        return
    by_language: dict[str, list[Path]] = {}
    for match in matches:
        if match.path in wanted:
            by_language.setdefault(match.language or "", []).append(match.path)
    for language, paths in sorted(by_language.items()):
        narrow = template.replace("{language}", escape(language))
        if [match.path for match in PathPattern(narrow).find(folder)] == paths:
            patterns: tuple[str, ...] = (narrow,)
        else:
            patterns = tuple(escape(path.relative_to(folder).as_posix()) for path in paths)
        yield from _look_into(folder, Group(patterns, tuple(find_files(paths)), language=language), survey)


def _of_no_language(folder: Path, names: Sequence[_Name], readable: set[str], survey: Survey) -> Iterator[Group]:
    """Files without a language in their names: a pattern for each folder, or the single files."""
    by_folder: dict[tuple[str, ...], list[_Name]] = {}
    for name in names:
        by_folder.setdefault(name.folders, []).append(name)
    for folders, alike in by_folder.items():
        paths = {name.path for name in alike}
        tells = _stems_are_categories(alike) and not any(_without_shard(name.stem)[0] != name.stem for name in alike)
        wild = PathPattern(
            "/".join([*map(escape, folders), f"{'{category}' if tells else '*'}{escape(alike[0].tail)}"])
        )
        matched = {relative_name(match.path, folder) for match in wild.find(folder)}
        if matched & readable == paths:
            patterns: tuple[str, ...] = (wild.text,)
            category = folders[-1] if folders and not tells else None
        elif len(alike) <= MOST_NAMED_FILES:
            patterns = tuple(escape(name.path) for name in alike)
            category = folders[-1] if folders else None
        else:
            survey.notes.append(
                f"{len(alike):,} files such as {alike[0].path} are left out: no name tells the language"
            )
            continue
        files = tuple(find_files(folder / path for path in sorted(paths)))
        group = Group(patterns, files, language=UNDETERMINED, category=category)
        for each in _look_into(folder, group, survey):
            yield _with_language_field(each, survey)


def _with_language_field(group: Group, survey: Survey) -> Group:
    """The group with the field of its languages, if its records have one."""
    fields = [] if group.files[0].format == "text" else language_fields(group.files)
    if not fields:
        return group
    languages = found_languages(group.files, fields[0])
    survey.notes.append(
        f'{" ".join(group.patterns)}: "{fields[0]}" tells the language; `languages` has those of the first records'
    )
    names = tuple(SubsetName(category, language) for category in group.categories for language in languages)
    return replace(group, language=None, language_field=fields[0], subsets=names)


def _group_sources(folder: Path, names: Iterable[_Name]) -> Iterator[Group]:
    """Source code: a category for each programming language."""
    by_category: dict[str, dict[str, list[str]]] = {}
    for name in names:
        above = f"{escape(name.folders[0])}/**/" if name.folders else ""
        patterns = by_category.setdefault(SOURCE_SUFFIXES[_suffix(name.tail)], {})
        patterns.setdefault(f"{above}*{escape(name.tail)}", []).append(name.path)
    for category, found in sorted(by_category.items()):
        paths = sorted(path for paths in found.values() for path in paths)
        token = f"<|{category}|>"
        yield Group(
            tuple(sorted(found)),
            tuple(find_files(folder / path for path in paths)),
            language=CODE,
            category=category,
            code_token=token if token in CODE_TOKENS else None,
            documents="file",
            subsets=(SubsetName(category, CODE),),
        )


def _look_into(folder: Path, group: Group, survey: Survey) -> Iterator[Group]:
    """Adds to a group its subsets, and what only the content shows: the text field or the document unit.

    Subsets whose text is in another field become groups of their own.
    """
    files: dict[SubsetName, list[Path]] = {}
    for pattern in group.patterns:
        for match in PathPattern(pattern).find(folder):
            language = group.language or match.language or UNDETERMINED
            name = SubsetName(group.category or match.category or DEFAULT_CATEGORY, language)
            files.setdefault(name, []).append(Path(str(match.path)))
    names = sorted(files, key=lambda name: (name.category, name.language))
    group = replace(group, subsets=tuple(names))
    if group.files[0].format == "text":
        yield replace(group, documents="file" if len(group.files) >= FILES_WORTH_A_DOCUMENT else "line")
        return
    fields: dict[SubsetName, str] = {}
    for name in names:
        field, _ = guess_text_field(find_files(files[name]))
        if field is None:
            survey.notes.append(f"{name}: no field with text in {files[name][0]}; set `text` to the one that has it")
        fields[name] = field or "text"
    if len(set(fields.values())) == 1:
        yield replace(group, text=fields[names[0]])
        return
    for name in names:
        survey.notes.append(f'{name}: the text is in the field "{fields[name]}"')
        patterns = tuple(_narrowed(pattern, name) for pattern in group.patterns)
        matched = [match.path for pattern in patterns for match in PathPattern(pattern).find(folder)]
        if sorted(map(str, matched)) != sorted(map(str, files[name])):
            patterns = tuple(escape(relative_name(path, folder)) for path in files[name])
        yield replace(
            group,
            patterns=patterns,
            files=tuple(find_files(files[name])),
            language=name.language,
            category=name.category,
            text=fields[name],
            subsets=(name,),
        )


def _narrowed(pattern: str, name: SubsetName) -> str:
    """The pattern for one subset."""
    return pattern.replace("{language}", escape(name.language)).replace("{category}", escape(name.category))
