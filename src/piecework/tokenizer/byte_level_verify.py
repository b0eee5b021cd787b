"""Compares runtimes on a byte-level tokenizer, and its files with each other, entry by entry."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from piecework.common.extras import installed_version
from piecework.errors import ModelError, PieceworkError
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.byte_level_export import (
    BYTE_LEVEL_FORMATS,
    CONFIG_FILE,
    JSON_FILE,
    RANKS_FILE,
    SETTINGS_FILE,
    byte_level_files,
)
from piecework.tokenizer.byte_level_files import parse_ranks
from piecework.tokenizer.byte_level_ranks import irregularities
from piecework.tokenizer.byte_level_runtimes import ByteLevelRuntime, choose_byte_level_runtimes
from piecework.tokenizer.byte_level_texts import covering_texts
from piecework.tokenizer.exported_files import FileDifference, list_differences, mapping_differences
from piecework.tokenizer.runtimes import LoadedRuntime
from piecework.tokenizer.trained import new_piece_ids
from piecework.tokenizer.verification import (
    Expected,
    Progress,
    RuntimeResult,
    Turn,
    Verification,
    absent_results,
    check_installed,
    check_unicode,
    compare_runtime,
    encode_all,
    judge,
)

__all__ = ["verify_byte_level"]

_PARTS = ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
_MOST_WRONG = 0.1
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


def verify_byte_level(
    tokenizer: ByteLevelTokenizer,
    texts: Sequence[str] = (),
    *,
    folder: str | Path | None = None,
    runtimes: Sequence[str] = (),
    most_differences: int = 3,
    progress: Progress | None = None,
) -> Verification:
    """The same as `verify`, for a byte-level tokenizer. The reference is Piecework with the tokenizer as it is given.

    >>> import piecework as pw
    >>> counts = pw.count_pre_tokens(["en ros är en ros"], pre_tokenizer="gpt2")
    >>> tokenizer = pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=262))
    >>> [(result.name, result.unexplained) for result in verify_byte_level(tokenizer, runtimes=["tiktoken"]).results]
    [('piecework', 0), ('tiktoken', 0)]
    """
    own_texts, unseen = covering_texts(tokenizer)
    texts = [*own_texts, *texts]
    chosen = choose_byte_level_runtimes(runtimes)
    if runtimes:
        check_installed(chosen)
    check_unicode(texts)
    present = [runtime for runtime in chosen if runtime.is_installed]
    first, *turns = [Turn(len(texts) * n, len(texts) * (1 + len(present)), progress) for n in range(1 + len(present))]
    own = LoadedRuntime(lambda batch: tokenizer.encode_batch(batch, allowed_special="all"), tokenizer.decode)
    expected = Expected(texts, encode_all(own, texts, first), own)
    with _exported(tokenizer, folder) as find:
        results = [
            _compare(runtime, tokenizer, find, expected, turn, most_differences)
            for runtime, turn in zip(present, turns, strict=True)
        ]
    itself = RuntimeResult("piecework", installed_version("piecework"), "reference")
    files = () if folder is None else tuple(_file_differences(tokenizer, Path(folder)))
    return Verification("piecework", len(texts), (itself, *results, *absent_results(chosen)), files, unseen)


@contextmanager
def _exported(tokenizer: ByteLevelTokenizer, folder: str | Path | None) -> Iterator[Callable[[ByteLevelRuntime], Path]]:
    """Finds the folder with a runtime's files: the given one if it has all of them, else a temporary export."""
    with tempfile.TemporaryDirectory(prefix="piecework-") as temporary:

        def find(runtime: ByteLevelRuntime) -> Path:
            if folder is not None and all((Path(folder) / name).is_file() for name in runtime.files):
                return Path(folder)
            made = Path(temporary) / runtime.format
            if not made.exists():
                made.mkdir()
                for name, data in byte_level_files(tokenizer, runtime.format).items():
                    (made / name).write_bytes(data)
            return made

        yield find


def _compare(
    runtime: ByteLevelRuntime,
    tokenizer: ByteLevelTokenizer,
    find: Callable[[ByteLevelRuntime], Path],
    expected: Expected,
    turn: Turn,
    most_differences: int,
) -> RuntimeResult:
    return compare_runtime(
        runtime,
        runtime.lacks(tokenizer),
        lambda: runtime.load(find(runtime)),
        turn,
        expected,
        lambda found, decoded: judge(expected, found, decoded, most_differences=most_differences),
    )


def _file_differences(tokenizer: ByteLevelTokenizer, folder: Path) -> Iterator[FileDifference]:
    """Where files in the folder differ from the tokenizer's export, and entries that no training gives."""
    contents: dict[str, bytes] = {}
    # Parts that the tokenizer has from the file itself would hide a difference.
    tokenizer = ByteLevelTokenizer(replace(tokenizer.model, file_parts={}))
    for form in BYTE_LEVEL_FORMATS:
        try:
            contents |= byte_level_files(tokenizer, form)
        except ModelError:
            continue  # the runtime of that format says why
    checks: dict[str, Callable[[bytes, bytes], Iterator[str]]] = {
        JSON_FILE: _json_differences,
        CONFIG_FILE: _config_differences,
        RANKS_FILE: _ranks_differences,
        SETTINGS_FILE: _settings_differences,
    }
    for name, check in checks.items():
        path = folder / name
        if not path.is_file() or name not in contents or (data := path.read_bytes()) == contents[name]:
            continue
        try:
            found = list(check(data, contents[name]))
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError, PieceworkError) as error:
            found = [f"it cannot be read: {error}"]
        yield from (FileDifference(path, what) for what in found)
    source = folder / JSON_FILE
    if source.is_file() and tokenizer.model.merges is not None:
        new_ids = new_piece_ids(folder)
        yield from (FileDifference(source, what) for what in irregularities(tokenizer.model, new_ids=new_ids))


def _json_differences(data: bytes, exported: bytes) -> Iterator[str]:
    found, expected = orjson.loads(data), orjson.loads(exported)
    model, wanted = found["model"], expected["model"]
    pairs = [merge.split(" ", 1) if isinstance(merge, str) else merge for merge in model["merges"]]
    added = {token["content"] for token in expected["added_tokens"]}
    # Added tokens need not be in the vocabulary too.
    vocab = {text: number for text, number in wanted["vocab"].items() if text not in added or text in model["vocab"]}
    yield from mapping_differences(model["vocab"], vocab)
    yield from list_differences("merge", pairs, wanted["merges"])
    parts = [name for name in _PARTS if found.get(name) != expected[name]]
    # A file of other software has other parts, with which the runtimes' ids and texts are compared.
    is_other = len(parts) > 1
    flags = [name for name in _FLAGS if name != "normalized" or not is_other]
    yield from list_differences("added token", _entries(found, flags), _entries(expected, flags))
    for name in (
        "type",
        "dropout",
        "continuing_subword_prefix",
        "end_of_word_suffix",
        "byte_fallback",
        "ignore_merges",
    ):
        if (model.get(name) or None) != (wanted[name] or None):
            yield f"{name} is {model.get(name)!r}, and {wanted[name]!r} in an export of the tokenizer"
    if not is_other:
        for name in parts:
            yield f"{name} is not that of an export of the tokenizer"
        for name in ("unk_token", "fuse_unk"):
            if model.get(name) != wanted[name]:
                yield f"{name} is {model.get(name)!r}, and {wanted[name]!r} in an export of the tokenizer"


def _entries(content: Mapping[str, Any], flags: Sequence[str]) -> list[list[Any]]:
    tokens = [
        [token["id"], token["content"], *(token.get(flag, False) for flag in flags)]
        for token in content["added_tokens"]
    ]
    return sorted(tokens, key=lambda entry: (entry[0], entry[1]))


def _config_differences(data: bytes, exported: bytes) -> Iterator[str]:
    """Differences in the added tokens of a `tokenizer_config.json`. Roles and the chat template are the user's."""
    found, expected = (orjson.loads(each).get("added_tokens_decoder", {}) for each in (data, exported))
    wrong = [number for number in {**expected, **found} if found.get(number) != expected.get(number)]
    # Other software writes other flags for all of them.
    if found and len(wrong) <= max(1, _MOST_WRONG * len(expected)):
        yield from list_differences("added token", sorted(found.items()), sorted(expected.items()))


def _ranks_differences(data: bytes, exported: bytes) -> Iterator[str]:
    found, expected = (parse_ranks(each, RANKS_FILE) for each in (data, exported))
    yield from mapping_differences(
        {repr(token): rank for token, rank in found.items()}, {repr(token): rank for token, rank in expected.items()}
    )


def _settings_differences(data: bytes, exported: bytes) -> Iterator[str]:
    found, expected = orjson.loads(data), orjson.loads(exported)
    for name in {**expected, **found}:
        if found.get(name) != expected.get(name):
            yield f"{name} is {found.get(name)!r}, and {expected.get(name)!r} in an export of the tokenizer"
