"""Finds the subsets of a study's corpus, with their files, settings and weights."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from piecework.common.exact import format_exact, format_percent
from piecework.common.known_tokenizers import is_name, known_names
from piecework.common.mistakes import did_you_mean, listed
from piecework.common.path_pattern import Match, PathPattern
from piecework.common.subset_name import SubsetName
from piecework.corpus.fields import found_languages
from piecework.corpus.inputs import InputFile, find_files, name_order
from piecework.errors import InputError, Mistake, StudyError
from piecework.study.schema import (
    DEFAULT_CATEGORY,
    DocumentUnit,
    StudySettings,
    SubsetEntry,
    check_language,
    check_name,
)
from piecework.study.toml_lines import KeyPath
from piecework.study.weights import SubsetText, resolve_weights

__all__ = ["Subset", "distinct_files", "find_subsets", "look_for_subsets"]

MOST_RESERVED = Fraction(1, 2)
NAMES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Subset:
    """The documents of one category in one language."""

    name: SubsetName
    """Unique in a study, also when written as text."""
    files: tuple[InputFile, ...]
    """Sorted by path, none twice."""
    text_field: str
    documents: DocumentUnit
    """What a document is in plain text."""
    code_token: str | None
    weight: Fraction
    language_field: str | None = None
    """The field with the language of a record. Then the files also hold the other languages of the study."""

    @property
    def category(self) -> str:
        """The category of its name."""
        return self.name.category

    @property
    def language(self) -> str:
        """The language of its name."""
        return self.name.language

    @property
    def size_bytes(self) -> int:
        """The size of its files as they are stored."""
        return sum(file.size_bytes for file in self.files)


def distinct_files(subsets: Iterable[Subset]) -> list[InputFile]:
    """The files of subsets; a file that several languages share is listed once."""
    return list(dict.fromkeys(file for subset in subsets for file in subset.files))


class _Settings(NamedTuple):
    """How the files of a subset are read."""

    text: str
    documents: DocumentUnit
    code_token: str | None
    language_field: str | None
    languages: tuple[str, ...]


@dataclass(slots=True)
class _Found:
    """A subset while its files are being collected."""

    key: KeyPath
    """The key of the first entry that has files for the subset."""
    settings: _Settings
    files: dict[object, InputFile] = field(default_factory=dict)
    """The files, each under the key that identifies it."""


def find_subsets(study: StudySettings) -> list[Subset]:
    """The subsets of a study, sorted by language and category, or a StudyError with all mistakes.

    >>> import tempfile, pathlib, piecework as pw
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("law_sv.txt", "law_is.txt", "books_sv.txt"):
    ...     _ = (folder / name).write_text("hej")
    >>> study = pw.Study(folder=folder, corpus={"path": "{category}_{language}.txt"}, weights={"language": {"is": 3}})
    >>> [(str(subset.name), subset.weight) for subset in find_subsets(study)]
    [('law_is', Fraction(3, 1)), ('books_sv', Fraction(1, 1)), ('law_sv', Fraction(1, 1))]
    """
    mistakes: list[Mistake] = []
    subsets = look_for_subsets(study, mistakes)
    if mistakes:
        raise StudyError(mistakes)
    return subsets


def look_for_subsets(study: StudySettings, mistakes: list[Mistake], *, check_samples: bool = True) -> list[Subset]:
    """The valid subsets of a study; mistakes are appended to the list."""
    found: dict[SubsetName, _Found] = {}
    has_gaps = False
    for key, entry in study.corpus.entries():
        for index, pattern in enumerate(entry.path):
            key_path = key if key[1] == "path" else (*key, "path", index)
            try:
                _add_files(study, found, entry, PathPattern(pattern), key_path)
            except StudyError as error:
                mistakes += error.mistakes
                has_gaps = True
    _check_names(study, found, mistakes)
    _check_files(study, found, mistakes)
    _check_tokenizers(study, mistakes)
    names = sorted(found)
    # If a pattern is wrong, the languages of the corpus are not known.
    if has_gaps:
        return []
    texts = {
        name: SubsetText(tuple(each.files.values()), each.settings.text, each.settings.language_field)
        for name in names
        if (each := found[name])
    }
    weights = resolve_weights(study, texts, mistakes)
    subsets = [
        Subset(
            name=name,
            files=tuple(sorted(found[name].files.values(), key=_sort_key)),
            text_field=found[name].settings.text,
            documents=found[name].settings.documents,
            code_token=found[name].settings.code_token,
            weight=weights.get(name, Fraction(1)),
            language_field=found[name].settings.language_field,
        )
        for name in names
    ]
    if check_samples:
        _check_samples(study, subsets, mistakes)
    return subsets


def _add_files(
    study: StudySettings, found: dict[SubsetName, _Found], entry: SubsetEntry, pattern: PathPattern, key_path: KeyPath
) -> None:
    """Finds the files of one pattern, and adds them to their subsets."""
    try:
        matches = pattern.find(study.folder)
    except OSError as error:
        message = f'path = "{pattern.text}": cannot list the files: {error.strerror or error}'
        raise StudyError([study.mistake(key_path, message)]) from error
    except InputError as error:
        raise StudyError([study.mistake(key_path, str(error))]) from error
    if not matches:
        raise StudyError([study.mistake(key_path, _nothing_matches(study, pattern))])
    settings = _Settings(
        entry.text or study.corpus.text,
        entry.documents or study.corpus.documents,
        entry.code_token,
        entry.language_field,
        tuple(sorted(entry.languages)),
    )
    if entry.language_field is not None and (message := _check_language_field(entry, matches)):
        raise StudyError([study.mistake(key_path, message)])
    mistakes = []
    for match, language in _by_language(entry, matches):
        category = entry.category or match.category or DEFAULT_CATEGORY
        name = SubsetName(category, language)
        subset = found.setdefault(name, _Found(key_path, settings))
        if settings != subset.settings:
            before = study.mistake(subset.key, "").line
            mistakes.append(
                study.mistake(
                    key_path,
                    f'path = "{pattern.text}" has files of {name} too, and another '
                    f"{_difference(settings, subset)} than {f'line {before}' if before else 'the path before'} "
                    f"has for them; give both the same, or another category",
                )
            )
            break
        mistakes += _add_match(study, subset, match, key_path)
    if mistakes:
        raise StudyError(mistakes)


def _by_language(entry: SubsetEntry, matches: Iterable[Match]) -> Iterator[tuple[Match, str]]:
    for match in matches:
        if entry.language_field is None:
            yield match, entry.language or match.language or ""
        else:
            yield from ((match, language) for language in entry.languages)


def _check_language_field(entry: SubsetEntry, matches: Sequence[Match]) -> str:
    """What is wrong with an entry whose languages are in a field; empty if nothing is."""
    files = find_files([match.path for match in matches])
    if plain := [file for file in files if file.format == "text"]:
        return f"{plain[0].path} is plain text and has no field {entry.language_field!r}; give JSONL or Parquet"
    if entry.languages:
        return ""
    found = ", ".join(f'"{name}"' for name in found_languages(files, str(entry.language_field)))
    there = f"; its first records have languages = [{found}]" if found else "; no record that was looked at has it"
    return f'language_field = "{entry.language_field}" needs the languages to read{there}'


def _add_match(study: StudySettings, subset: _Found, match: Match, key_path: KeyPath) -> list[Mistake]:
    try:
        for file in find_files([match.path]):
            # Links give a file several names; the shortest is used.
            known = subset.files.get(key := file.identity or str(file.path))
            if known is None or name_order(file) < name_order(known):
                subset.files[key] = file
    except InputError as error:
        return [study.mistake(key_path, str(error))]
    return []


def _sort_key(file: InputFile) -> str:
    return os.path.normpath(file.path) if isinstance(file.path, Path) else str(file.path)


def _difference(settings: _Settings, subset: _Found) -> str:
    pairs = zip(_Settings._fields, settings, subset.settings, strict=True)
    return " and ".join(name for name, ours, theirs in pairs if ours != theirs)


def _nothing_matches(study: StudySettings, pattern: PathPattern) -> str:
    """A message that no file matches, with the files that exist."""
    message = f'path = "{pattern.text}" matches no file'
    folder = pattern.literal_folder(study.folder)
    try:
        if not folder.is_dir():
            return f"{message}: there is no folder {folder}"
        if isinstance(folder, Path):
            names = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in os.scandir(folder))
        else:
            names = folder.names()
    except OSError as error:
        return f"{message}: cannot list {folder}: {error.strerror}"
    if not names:
        return f"{message}: the folder {folder} is empty"
    return f"{message}; the folder {folder} has {listed(names, NAMES_SHOWN)}"


def _check_names(study: StudySettings, found: Mapping[SubsetName, _Found], mistakes: list[Mistake]) -> None:
    """Checks names from paths: they become names of folders and keys of tables."""
    subsets: dict[str, SubsetName] = {}
    for name, subset in found.items():
        for kind, value, check in (
            ("category", name.category, check_name),
            ("language", name.language, check_language),
        ):
            try:
                check(value)
            except ValueError as error:
                mistakes.append(study.mistake(subset.key, f"{{{kind}}} is {value!r} in a path: {error}"))
        same = subsets.setdefault(str(name), name)
        if same != name:
            mistakes.append(
                study.mistake(
                    subset.key,
                    f'two subsets would have the name "{name}": category {same.category} in language {same.language}, '
                    f"and category {name.category} in language {name.language}; rename one",
                )
            )


def _check_files(study: StudySettings, found: Mapping[SubsetName, _Found], mistakes: list[Mistake]) -> None:
    """Checks that no text belongs to two subsets. Another field of the same file is another text."""
    owners: dict[tuple[object, str], SubsetName] = {}
    shared: dict[tuple[SubsetName, SubsetName], list[str]] = {}
    for name, subset in found.items():
        for key, file in subset.files.items():
            owner = owners.setdefault((key, subset.settings.text), name)
            # The languages of a field share their files.
            if owner != name and not (subset.settings.language_field and owner.category == name.category):
                shared.setdefault((owner, name), []).append(_sort_key(file))
    for (owner, name), paths in shared.items():
        mistakes.append(
            study.mistake(
                found[name].key,
                f"{listed(paths, NAMES_SHOWN)} would be counted twice, for {owner} and for {name}; "
                f"make one of the patterns narrower",
            )
        )


def _check_tokenizers(study: StudySettings, mistakes: list[Mistake]) -> None:
    for name, path in study.analysis.tokenizers.items():
        if not is_name(path, study.folder) and not (study.folder / path).exists():
            key = ("analysis", "tokenizers", name)
            what = f'{name} = "{path}" in [analysis.tokenizers]: no such file or folder'
            mistakes.append(study.mistake(key, what + did_you_mean(path, known_names())))


def _check_samples(study: StudySettings, subsets: Sequence[Subset], mistakes: list[Mistake]) -> None:
    """Checks that the evaluation sample of every subset leaves half of its documents for training."""
    used = [subset for subset in subsets if subset.weight]
    if not used:
        if subsets:
            mistakes.append(study.mistake(("weights",), "every subset has weight 0, so nothing is left of the corpus"))
        return
    heaviest = max(used, key=lambda subset: subset.weight)
    acting = heaviest.weight if study.sampling.weighting == "documents" else Fraction(1)
    fraction = study.sampling.eval
    if acting * fraction <= MOST_RESERVED:
        return
    message = f"eval = {format_percent(fraction)} in [sampling]"
    if acting != 1:
        product = format_percent(acting * fraction)
        message += f" times the largest weight, {format_exact(acting)} of {heaviest.name}, is {product}"
    message += f": more than half of the documents; lower eval to {_at_most(MOST_RESERVED / acting)} or less"
    if acting != 1 and fraction <= MOST_RESERVED:
        message += f", or the weight to {format_exact(MOST_RESERVED / fraction)} or less"
    key: KeyPath = ("sampling", "eval")
    mistakes.append(study.mistake(key if study.has_key(*key) else _heaviest_factor(study, heaviest), message))


def _heaviest_factor(study: StudySettings, subset: Subset) -> KeyPath:
    """The key of the largest factor in the subset's weight."""
    factors: dict[KeyPath, Fraction] = {("weights",): Fraction(0)}
    for kind, name in (("language", subset.language), ("category", subset.category), ("subset", str(subset.name))):
        if weight := getattr(study.weights, kind).get(name):
            factors["weights", kind, name] = weight
    return max(factors, key=lambda key: factors[key])


def _at_most(fraction: Fraction) -> str:
    """A percentage with three decimals, rounded down.

    >>> _at_most(Fraction(1, 600))
    '0.166%'
    """
    return f"{format_exact(Fraction(int(fraction * 100_000), 1000))}%"
