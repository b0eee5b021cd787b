"""Names for the tokenizers of a command: as given with NAME=TOKENIZER, else from their paths."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from piecework.common.known_tokenizers import KNOWN
from piecework.common.mistakes import listed
from piecework.common.terms import MULTILINGUAL, TIKTOKEN
from piecework.errors import InputError

if TYPE_CHECKING:
    from piecework.tokenizer.byte_level import ByteLevelTokenizer
    from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["load_model", "load_models", "load_native", "model_names", "named_sources", "tokenizer_names"]


NAMED = (TIKTOKEN, KNOWN)
"""Prefixes of names that are no paths."""


BYTE_LEVEL_FILES = ("tokenizer.json", "tekken*.json", "*.tiktoken", "encoder.json", "vocab.json")


def load_model(path: Path) -> Tokenizer:
    """Load a model; for the output folder of a study, say which tokenizers it has."""
    from piecework.tokenizer.tokenizer import Tokenizer

    if path.is_dir() and not (path / "tokenizer.model").exists() and (path / "tokenizers").is_dir():
        names = sorted(folder.name for folder in (path / "tokenizers").iterdir() if folder.is_dir())
        first = MULTILINGUAL if MULTILINGUAL in names else next(iter(names), "NAME")
        raise InputError(
            f"{path} is the output folder of a study; its tokenizers are {listed(names)}: "
            f"choose one, as {path / 'tokenizers' / first}"
        )
    return Tokenizer.load(path)


def load_native(path: Path) -> Tokenizer | ByteLevelTokenizer:
    """Load a tokenizer that runs in the core: a model, or a byte-level tokenizer in any of its files, or by name."""
    from piecework.tokenizer.byte_level import ByteLevelTokenizer
    from piecework.tokenizer.known import load_known
    from piecework.tokenizer.tokenizer import Tokenizer

    if not path.exists() and (known := load_known(os.fspath(path))) is not None:
        if not isinstance(known, Tokenizer | ByteLevelTokenizer):
            raise InputError(f"{path}: {known.kind}, which runs in another library; `piecework compare` takes it")
        return known
    is_file = path.is_file() and path.suffix in (".json", ".tiktoken")
    has_files = not (path / "tokenizer.model").exists() and any(any(path.glob(name)) for name in BYTE_LEVEL_FILES)
    return ByteLevelTokenizer.load(path) if is_file or has_files else load_model(path)


def load_models(paths: Sequence[Path]) -> dict[str, Tokenizer | ByteLevelTokenizer]:
    """Load the tokenizers and name each by the shortest end of its path that is unique."""
    return {name: load_native(path) for name, path in zip(model_names(paths), paths, strict=True)}


def model_names(paths: Sequence[Path]) -> list[str]:
    """Name each model by its folder or file, with as many parent folders as make the names unique.

    >>> model_names([Path("out/sv/tokenizer.model"), Path("out/da"), Path("old/da"), Path("big.model")])
    ['sv', 'out/da', 'old/da', 'big']
    """
    parts = []
    for path in paths:
        if path.name in ("tokenizer.model", "tokenizer.json"):
            named = path.parent
        else:
            named = path.with_suffix("") if path.is_file() else path
        if named.suffix == ".model":
            named = named.with_suffix("")
        parts.append([part for part in (named if named.name else named.resolve()).parts if part != "/"])
    names = []
    for own in parts:
        others = [other for other in parts if other is not own]
        for count in range(1, len(own) + 1):
            if all(other[-count:] != own[-count:] for other in others):
                break
        # Results are UTF-8, and a folder's name may not be.
        names.append("/".join(own[-count:]).encode(errors="backslashreplace").decode())
    if len(set(names)) < len(names):
        raise InputError(f"{next(name for name in names if names.count(name) > 1)}: given twice")
    return names


def named_sources(sources: Sequence[str]) -> dict[str, str]:
    """Return the path or encoding of each tokenizer by its name."""
    return dict(zip(tokenizer_names(sources), map(_without_name, sources), strict=True))


def tokenizer_names(sources: Sequence[str]) -> list[str]:
    """Name each tokenizer; no two names are the same.

    >>> tokenizer_names(["out/sv/tokenizer.model", "gpt=out/gpt2/tokenizer.json", "old/sv", "tiktoken:o200k_base"])
    ['out/sv', 'gpt', 'old/sv', 'o200k_base']
    """
    paths = [Path(source) for source in sources if _without_name(source) == source and not source.startswith(NAMED)]
    names_from_paths = iter(model_names(paths))
    names = []
    for source in sources:
        if _without_name(source) != source:
            names.append(source.partition("=")[0])
        else:
            names.append(source.partition(":")[2] if source.startswith(NAMED) else next(names_from_paths))
    if duplicate := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f'two tokenizers are called "{duplicate}"; name one of them: NAME=TOKENIZER')
    return names


def _without_name(source: str) -> str:
    """Remove NAME=, unless a file has this very name."""
    name, equals, path = source.partition("=")
    return path if equals and name and path and not os.path.exists(source) else source  # noqa: PTH110
