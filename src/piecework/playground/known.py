"""Finds well-known tokenizers that are already on this machine, to compare with. Nothing is downloaded."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

from piecework.common.known_tokenizers import KNOWN, KNOWN_TOKENIZERS
from piecework.errors import InputError

__all__ = ["known_tokenizers"]

MOST_MODELS = 20


def known_tokenizers() -> dict[str, str]:
    """Sources by name: tokenizers in packages, and `tokenizer.json` files in the cache of Hugging Face."""
    return dict([*_packaged(), *_hugging_face()])


def _packaged() -> Iterator[tuple[str, str]]:
    for known in KNOWN_TOKENIZERS:
        try:
            is_here = any(carrier.find() is not None for carrier in known.carriers)
        except InputError:  # a damaged archive; a command that names the tokenizer says so
            continue
        if is_here:
            yield known.name, KNOWN + known.name


def _hugging_face() -> Iterator[tuple[str, str]]:
    if importlib.util.find_spec("tokenizers") is None:
        return
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    found: dict[str, Path] = {}
    for path in sorted(hub.glob("models--*/snapshots/*/tokenizer.json")):
        found["/".join(path.parents[2].name.split("--")[1:])] = path
    yield from ((name, str(path)) for name, path in list(found.items())[:MOST_MODELS])
