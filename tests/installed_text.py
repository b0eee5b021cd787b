"""Real text in many scripts that every clone has: translation catalogues in packages of the extra `demo`.

The packages are read as files; none of their code is imported.
"""

from functools import cache
from importlib.metadata import distribution
from pathlib import Path

from piecework.corpus.catalogues import read_catalogue

PACKAGES = ("gramps", "Django")

SCRIPTS = {
    "am": "Ethiopic",
    "ar": "Arabic",
    "bn": "Bengali",
    "el": "Greek",
    "he": "Hebrew",
    "hi": "Devanagari",
    "hy": "Armenian",
    "ja": "Han, Hiragana and Katakana",
    "ka": "Georgian",
    "km": "Khmer",
    "kn": "Kannada",
    "ko": "Hangul",
    "ml": "Malayalam",
    "my": "Myanmar",
    "pa": "Gurmukhi",
    "ru": "Cyrillic",
    "sv": "Latin",
    "ta": "Tamil",
    "te": "Telugu",
    "th": "Thai",
    "vi": "Latin with many accents",
    "zh_CN": "Han",
}
"""Languages by the name of their catalogue, with their scripts."""

NORDIC = ("da", "is", "nb", "sv")


@cache
def translations(language: str) -> list[str]:
    """Every distinct translation into the language, in the order of the catalogues."""
    found: dict[str, None] = {}
    for path in _catalogues(language):
        # The translation of the empty message is the catalogue's header.
        found |= {text: None for (message, _), text in read_catalogue(path).items() if message and text}
    return list(found)


@cache
def lines(language: str) -> list[str]:
    """The translations as lines for SentencePiece: no line is empty, and no line ends with "\\r"."""
    split = [line.rstrip("\r") for text in translations(language) for line in text.split("\n")]
    return [line for line in split if line]


def _catalogues(language: str) -> list[Path]:
    found = []
    for name in PACKAGES:
        package = distribution(name)
        found += [
            Path(str(package.locate_file(file)))
            for file in package.files or ()
            if file.suffix == ".mo" and file.parts[-3:-1] == (language, "LC_MESSAGES")
        ]
    return sorted(found)
