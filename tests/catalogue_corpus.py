"""A corpus of eleven languages from the translation catalogues of installed packages, with parallel text."""

from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from counting.corpora import write
from piecework.corpus.catalogues import Message, read_catalogue

CATALOGUES = {
    "ar": ("ar",),
    "de": ("de",),
    "fi": ("fi",),
    "he": ("he",),
    "hi": ("hi",),
    "ja": ("ja",),
    "ko": ("ko",),
    "pl": ("pl",),
    "th": ("th",),
    "zh": ("zh_Hans", "zh_CN"),
}
"""Languages by the names of their catalogues. English is the language that they translate."""

LANGUAGES = sorted([*CATALOGUES, "en"])
WITHOUT_SPACES = ["ja", "th", "zh"]
DOCUMENT_CHARACTERS = 200


def write_eleven_languages(folder: Path) -> None:
    """Write data/{category}_{language}.jsonl and par/{language}.txt: every third message that all languages have."""
    web, genealogy = _catalogues("Django"), _catalogues("gramps")
    common = sorted(set.intersection(*map(set, web.values())))
    lines = [row for row in (_row(web, message) for message in common) if all(row.values())]
    parallel = lines[::3]
    held_out = {row["en"] for row in parallel}
    for language in LANGUAGES:
        path = folder / "par" / f"{language}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{row[language]}\n" for row in parallel), encoding="utf-8")
        for category, catalogues in {"web": web, "genealogy": genealogy}.items():
            # All catalogues translate the same English; the German ones are complete.
            messages = catalogues["de"] if language == "en" else catalogues.get(language, {})
            texts = [_one_line(message[0] if language == "en" else messages[message]) for message in messages]
            kept = [
                text
                for text, message in zip(texts, messages, strict=True)
                if text and _one_line(message[0]) not in held_out
            ]
            if kept:
                write(folder / "data" / f"{category}_{language}.jsonl", list(_documents(kept)))


def _catalogues(package: str) -> dict[str, dict[Message, str]]:
    try:
        files = distribution(package).files or []
    except PackageNotFoundError:
        pytest.skip(f"{package} is not installed, which has the text: pip install 'piecework[demo]'")
    found: dict[str, dict[Message, str]] = {}
    for file in sorted(map(str, files)):
        for language, names in CATALOGUES.items():
            if file.endswith(".mo") and any(f"/{name}/LC_MESSAGES/" in file for name in names):
                catalogue = read_catalogue(Path(str(distribution(package).locate_file(file))))
                found.setdefault(language, {}).update(catalogue)
    return found


def _row(catalogues: Mapping[str, Mapping[Message, str]], message: Message) -> dict[str, str]:
    texts = {"en": message[0]} | {language: catalogue[message] for language, catalogue in catalogues.items()}
    return {language: _one_line(text) for language, text in texts.items()}


def _one_line(text: str) -> str:
    """The first plural form of a message, without its context, on one line."""
    return " ".join(text.rpartition("\x04")[2].split("\0")[0].split())


def _documents(texts: list[str]) -> Iterator[str]:
    document = ""
    for text in dict.fromkeys(texts):
        document = f"{document} {text}".strip()
        if len(document) >= DOCUMENT_CHARACTERS:
            yield document
            document = ""
    if document:
        yield document
