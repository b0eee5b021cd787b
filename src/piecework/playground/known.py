"""Finds well-known tokenizers that are already on this machine, to compare with. Nothing is downloaded."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from piecework.common.terms import TIKTOKEN

__all__ = ["known_tokenizers"]

ENCODINGS = ("o200k_base", "cl100k_base", "p50k_base", "r50k_base")
ENCODINGS_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
"""tiktoken names a cached file after the hash of its address."""
MOST_MODELS = 20


def known_tokenizers() -> dict[str, str]:
    """Sources by name: encodings in tiktoken's cache, and `tokenizer.json` files in the cache of Hugging Face."""
    return dict([*_tiktoken(), *_hugging_face()])


def _tiktoken() -> Iterator[tuple[str, str]]:
    if importlib.util.find_spec("tiktoken") is None:
        return
    default = Path(tempfile.gettempdir()) / "data-gym-cache"
    folder = Path(os.environ.get("TIKTOKEN_CACHE_DIR") or os.environ.get("DATA_GYM_CACHE_DIR") or default)
    for name in ENCODINGS:
        address = ENCODINGS_ADDRESS.format(name=name)
        if (folder / hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()).is_file():
            yield name, TIKTOKEN + name


def _hugging_face() -> Iterator[tuple[str, str]]:
    if importlib.util.find_spec("tokenizers") is None:
        return
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    found: dict[str, Path] = {}
    for path in sorted(hub.glob("models--*/snapshots/*/tokenizer.json")):
        found["/".join(path.parents[2].name.split("--")[1:])] = path
    yield from ((name, str(path)) for name, path in list(found.items())[:MOST_MODELS])
