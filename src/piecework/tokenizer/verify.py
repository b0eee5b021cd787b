"""Compares runtimes: do they all give the same ids, and the same text back?"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from piecework.common.extras import MissingPackageError, installed_version
from piecework.errors import InputError, PieceworkError
from piecework.tokenizer.behaviour import Cause, Prediction
from piecework.tokenizer.export import export_hf
from piecework.tokenizer.exported_files import FileDifference, file_differences
from piecework.tokenizer.hard_texts import vocabulary_texts
from piecework.tokenizer.runtimes import LoadedRuntime, Runtime, choose_runtimes
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["Difference", "RuntimeResult", "Verification", "verify"]

Progress = Callable[[int, int], None]

_BATCH = 64


@dataclass(frozen=True, slots=True)
class Difference:
    """A text that a runtime encodes or decodes differently from the reference."""

    text: str
    kind: Literal["ids", "text"]
    at: int
    """The index of the first token, or character, that differs."""
    found: list[int] | str
    expected: list[int] | str
    cause: Cause | None
    """The known cause, if it predicts exactly the ids that were found."""


@dataclass(frozen=True, slots=True)
class RuntimeResult:
    """The result of one runtime."""

    name: str
    version: str
    status: Literal["compared", "reference", "not installed", "not supported", "failed"]
    note: str = ""
    """What to install, or why it failed."""
    texts: int = 0
    same: int = 0
    explained: dict[Cause, int] = field(default_factory=dict)
    differences: tuple[Difference, ...] = ()
    """The first difference of each known cause, and the first ones without a cause."""
    unexplained: int = 0
    elapsed_s: float = 0.0

    @property
    def is_fine(self) -> bool:
        """Whether the runtime works and every difference is explained."""
        return self.status != "failed" and not self.unexplained


@dataclass(frozen=True, slots=True)
class Verification:
    """What was compared with what, and the result of each runtime."""

    reference: str
    texts: int
    results: tuple[RuntimeResult, ...]
    files: tuple[FileDifference, ...] = ()
    """Exported files that do not belong to the model."""

    @property
    def is_fine(self) -> bool:
        """Whether every difference is explained, and every exported file belongs to the model."""
        return all(result.is_fine for result in self.results) and not self.files


def verify(
    tokenizer: Tokenizer,
    texts: Sequence[str] = (),
    *,
    folder: str | Path | None = None,
    runtimes: Sequence[str] = (),
    most_differences: int = 3,
    progress: Progress | None = None,
) -> Verification:
    """Compare runtimes on every piece of the vocabulary and on the texts.

    The reference is SentencePiece, or Piecework if that is not installed. `folder` has the files of an export; what it
    lacks is exported to a temporary folder, and what it has is compared with an export. Without `runtimes`, all
    installed ones take part; a named one that is not installed is an error. Up to `most_differences` differences
    without a known cause are listed for each runtime.

    >>> import piecework as pw
    >>> tokenizer = pw.train(pw.count_words(["en ros är en ros"]), pw.Recipe(vocab_size=20, hard_vocab_limit=False))
    >>> done = verify(tokenizer, ["en ros"], runtimes=["piecework"])
    >>> [(result.name, result.same == done.texts) for result in done.results]
    [('sentencepiece', False), ('piecework', True)]
    """
    texts = [*vocabulary_texts(tokenizer), *texts]
    chosen = choose_runtimes(runtimes)
    if runtimes and (missing := [runtime for runtime in chosen if not runtime.is_installed]):
        raise MissingPackageError(f"{missing[0].name} is not installed: {missing[0].installation}")
    for text in texts:
        if not _is_unicode(text):
            raise InputError(f"a text has half of a surrogate pair, which UTF-8 cannot hold: {text[:60]!r}")
    reference = choose_runtimes(["sentencepiece"])[0]
    if not reference.is_installed:
        reference = choose_runtimes(["piecework"])[0]
    present = [runtime for runtime in chosen if runtime.is_installed and runtime is not reference]
    total = len(texts) * (1 + len(present))
    with _exported(tokenizer, folder) as find:
        model = reference.load(tokenizer, find(reference))
        expected = _Expected(texts, _encode_all(model, texts, 0, total, progress), model)
        results = [
            _compare(runtime, tokenizer, find, expected, (1 + number) * len(texts), total, most_differences, progress)
            for number, runtime in enumerate(present)
        ]
    itself = RuntimeResult(reference.name, installed_version(reference.package), "reference")
    absent = [
        RuntimeResult(runtime.name, "", "not installed", runtime.installation)
        for runtime in chosen
        if not runtime.is_installed
    ]
    files = () if folder is None else tuple(file_differences(tokenizer, Path(folder)))
    return Verification(reference.name, len(texts), (itself, *results, *absent), files)


class _Expected:
    """The texts with the ids of the reference, and the text that it decodes them to."""

    def __init__(self, texts: Sequence[str], ids: list[list[int]], model: LoadedRuntime) -> None:
        self.texts = texts
        self.ids = ids
        self.decoded = [model.decode(each) for each in ids]


@contextmanager
def _exported(tokenizer: Tokenizer, folder: str | Path | None) -> Iterator[Callable[[Runtime], Path]]:
    """Finds the folder with a runtime's files: the given one if it has all of them, else a temporary export."""
    with tempfile.TemporaryDirectory(prefix="piecework-") as temporary:
        whole = Path(temporary)

        def find(runtime: Runtime) -> Path:
            if folder is not None and all((Path(folder) / name).is_file() for name in runtime.files):
                return Path(folder)
            if not any(whole.iterdir()):
                export_hf(tokenizer, whole)
            return whole

        yield find


def _compare(
    runtime: Runtime,
    tokenizer: Tokenizer,
    find: Callable[[Runtime], Path],
    expected: _Expected,
    done: int,
    total: int,
    most_differences: int,
    progress: Progress | None,
) -> RuntimeResult:
    started = time.monotonic()
    version = installed_version(runtime.package.split()[0])
    if lacking := runtime.lacks(tokenizer):
        return RuntimeResult(runtime.name, version, "not supported", lacking)
    try:
        model = runtime.load(tokenizer, find(runtime))
        found = _encode_all(model, expected.texts, done, total, progress)
        decoded = [model.decode(ids) for ids in expected.ids]
    except PieceworkError:
        raise
    except Exception as error:  # noqa: BLE001  # a runtime may raise anything, and the others are still compared
        reason = f"{type(error).__name__}: {error}".split("\n")[0]
        return RuntimeResult(runtime.name, version, "failed", reason[:300])
    prediction = Prediction(tokenizer, runtime.behaviour)
    kept: list[Difference] = []
    by_cause: Counter[Cause | None] = Counter()
    same = 0
    unknown = next(piece.id for piece in tokenizer.pieces if piece.type == "unknown")
    for number, text in enumerate(expected.texts):
        difference = _difference(prediction, text, found[number], expected.ids[number])
        # Every runtime has its own text for unknown characters.
        if difference is None and decoded[number] != expected.decoded[number] and unknown not in found[number]:
            was, should = decoded[number], expected.decoded[number]
            difference = Difference(text, "text", _first(was, should), was, should, None)
        if difference is None:
            same += 1
            continue
        by_cause[difference.cause] += 1
        if by_cause[difference.cause] <= (most_differences if difference.cause is None else 1):
            kept.append(difference)
    return RuntimeResult(
        runtime.name,
        version,
        "compared",
        texts=len(expected.texts),
        same=same,
        explained={cause: count for cause, count in by_cause.items() if cause is not None},
        differences=tuple(sorted(kept, key=lambda difference: difference.cause is not None)),
        unexplained=by_cause[None],
        elapsed_s=time.monotonic() - started,
    )


def _difference(prediction: Prediction, text: str, found: list[int], expected: list[int]) -> Difference | None:
    if found == expected:
        return None
    cause = prediction.cause(text)
    if cause is not None and prediction.encode(text) != found:
        cause = None
    return Difference(text, "ids", _first(found, expected), found, expected, cause)


def _encode_all(
    model: LoadedRuntime, texts: Sequence[str], done: int, total: int, progress: Progress | None
) -> list[list[int]]:
    ids: list[list[int]] = []
    for start in range(0, len(texts), _BATCH):
        ids += model.encode(texts[start : start + _BATCH])
        if progress is not None:
            progress(done + len(ids), total)
    return ids


def _first(found: Sequence[object], expected: Sequence[object]) -> int:
    pairs = enumerate(zip(found, expected, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(found), len(expected)))


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
