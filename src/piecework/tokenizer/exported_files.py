"""Whether the files of an export still belong to the model, entry by entry.

Texts show whether runtimes agree. They cannot show an entry that no text uses, such as one of the several merges that
make a piece, or the order of two merges that never compete. Software that reads the same file later may use it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import orjson

from piecework.tokenizer.tokenizer import Tokenizer
from piecework.tokenizer.tokenizer_json import tokenizer_json

__all__ = ["FileDifference", "file_differences", "list_differences", "mapping_differences"]

# A file that shares less with our export was made by other software, in its own way. Its ids show whether it is right.
_LEAST_SHARED = 0.9


@dataclass(frozen=True, slots=True)
class FileDifference:
    """An exported file that differs from what the export of the model writes."""

    path: Path
    what: str


def file_differences(tokenizer: Tokenizer, folder: Path) -> Iterator[FileDifference]:
    """The files in a folder that are an export of the model, except for some entries."""
    path = folder / "tokenizer.json"
    if path.is_file():
        for what in _json_differences(tokenizer, path):
            yield FileDifference(path, what)
    path = folder / "spiece.model"
    if path.is_file() and path.read_bytes() != tokenizer.model_bytes:
        yield FileDifference(path, "it is another model than tokenizer.model")


def _json_differences(tokenizer: Tokenizer, path: Path) -> Iterator[str]:
    try:
        content = orjson.loads(path.read_bytes())
        vocab, merges = content["model"]["vocab"], content["model"]["merges"]
        added = content["added_tokens"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return  # a runtime that cannot read it says so
    if not isinstance(vocab, dict) or not isinstance(merges, list):
        return  # another kind of model
    expected = orjson.loads(orjson.dumps(tokenizer_json(tokenizer)))
    model = expected["model"]
    pairs = [merge.split(" ", 1) if isinstance(merge, str) else merge for merge in merges]
    if not (_share(vocab, model["vocab"]) and _share(map(tuple, pairs), map(tuple, model["merges"]))):
        return
    yield from mapping_differences(vocab, model["vocab"])
    yield from list_differences("merge", pairs, model["merges"])
    yield from list_differences("added token", added, expected["added_tokens"])
    for name in model.keys() - {"vocab", "merges"}:
        if content["model"].get(name) != model[name]:
            yield f"{name} is {content['model'].get(name)!r}, and {model[name]!r} in an export of the model"


def _share(found: Any, expected: Any) -> bool:
    found, expected = set(found), set(expected)
    return len(found & expected) >= _LEAST_SHARED * max(len(found), len(expected))


def mapping_differences(found: Mapping[str, int], expected: Mapping[str, int]) -> Iterator[str]:
    """What differs between two vocabularies."""
    wrong = [text for text in {**expected, **found} if found.get(text) != expected.get(text)]
    if wrong:
        text = wrong[0]
        ids = [f"id {each[text]}" if text in each else "no id" for each in (found, expected)]
        yield f"{text!r} has {ids[0]}, and {ids[1]} in the model{_more(wrong)}"


def list_differences(name: str, found: Sequence[Any], expected: Sequence[Any]) -> Iterator[str]:
    """What differs between two lists of merges or added tokens."""
    wrong = [number for number, (a, b) in enumerate(zip_longest(found, expected)) if a != b]
    if wrong:
        number = wrong[0]
        items = [repr(each[number]) if number < len(each) else "nothing" for each in (found, expected)]
        yield f"{name} {number:,} is {items[0]}, and {items[1]} in an export of the model{_more(wrong)}"


def _more(wrong: Sequence[object]) -> str:
    return f"; {len(wrong) - 1:,} more differ" if len(wrong) > 1 else ""
