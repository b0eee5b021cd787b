"""Parallel documents from translation catalogues (.mo), which are read as data."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

from piecework.errors import InputError

__all__ = ["parallel_documents", "read_catalogue"]

Message = tuple[str, int]
"""An English message, its context, and the index of its plural form."""

DOCUMENT_CHARACTERS = 300

_MAGIC = {0x950412DE: "<", 0xDE120495: ">"}


def read_catalogue(path: Path) -> dict[Message, str]:
    """The translations of a catalogue."""
    try:
        data = path.read_bytes()
        (magic,) = struct.unpack_from("<I", data)
        order = _MAGIC[magic]
        count, sources, targets = struct.unpack_from(f"{order}3I", data, 8)
        found = {}
        for number in range(count):
            source, target = (_text(data, table + 8 * number, order) for table in (sources, targets))
            for form, translated in enumerate(target.split("\0")):
                found[source, form] = translated
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror or error}") from error
    except (struct.error, KeyError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: no catalogue of translations, or a damaged one; install its package again"
        ) from error
    return found


def _text(data: bytes, offset: int, order: str) -> str:
    length, start = struct.unpack_from(f"{order}2I", data, offset)
    return data[start : start + length].decode()


def parallel_documents(catalogues: Mapping[str, Mapping[Message, str]], *, english: str) -> dict[str, list[str]]:
    """Parallel documents: document n says the same in every language.

    A message is used if all catalogues have it and a translation differs from the English text. Most messages are
    short, so neighbours in English order share a document. They are alike ("Add a family", "Add a person"); apart, they
    could be on both sides of the sample. `english` is the name for the language of the messages themselves.

    >>> catalogue = {("_Add a person", 0): "_Lägg till en person", ("%s", 0): "%s"}
    >>> parallel_documents({"sv": catalogue}, english="en")
    {'en': ['Add a person'], 'sv': ['Lägg till en person']}
    """
    common = set.intersection(*(set(catalogue) for catalogue in catalogues.values()))
    rows = []
    for message in sorted(common):
        original = _english(message)
        row = {english: original} | {name: catalogue[message] for name, catalogue in catalogues.items()}
        cleaned = {name: _clean(text) for name, text in row.items()}
        translated = {text for name, text in cleaned.items() if name != english}
        if message[0] and all(cleaned.values()) and translated != {cleaned[english]}:
            rows.append(cleaned)
    documents: dict[str, list[str]] = {name: [] for name in (english, *catalogues)}
    for group in _grouped(rows, english):
        for name, texts in documents.items():
            texts.append(" ".join(row[name] for row in group))
    return documents


def _english(message: Message) -> str:
    source, form = message
    forms = source.rpartition("\x04")[2].split("\0")  # a context may stand before, a plural after it
    return forms[min(form, len(forms) - 1)]


def _clean(text: str) -> str:
    """A message without its menu shortcut mark and without surrounding space.

    >>> _clean(" _Avbryt"), _clean("file_name"), _clean("Spara _som...")
    ('Avbryt', 'file_name', 'Spara som...')
    """
    return re.sub(r"(?<!\w)_(?=\w)", "", text).strip()


def _grouped(rows: Iterable[Mapping[str, str]], english: str) -> Iterable[list[Mapping[str, str]]]:
    group: list[Mapping[str, str]] = []
    size = 0
    seen = set()
    for row in rows:
        if row[english] in seen:
            continue
        seen.add(row[english])
        group.append(row)
        size += len(row[english])
        if size >= DOCUMENT_CHARACTERS:
            yield group
            group, size = [], 0
    if group:
        yield group
