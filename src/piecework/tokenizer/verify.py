"""Compares runtimes: do they all give the same ids, and the same text back?"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from piecework.common.extras import MissingPackageError, installed_version
from piecework.errors import PieceworkError
from piecework.tokenizer.behaviour import Cause, Prediction
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.byte_level_verify import verify_byte_level
from piecework.tokenizer.export import export_hf
from piecework.tokenizer.exported_files import file_differences
from piecework.tokenizer.hard_texts import vocabulary_texts
from piecework.tokenizer.runtimes import Runtime, choose_runtimes
from piecework.tokenizer.tokenizer import Tokenizer
from piecework.tokenizer.verification import (
    Expected,
    Progress,
    RuntimeResult,
    Verification,
    check_unicode,
    encode_all,
    judge,
)

__all__ = ["verify"]


def verify(
    tokenizer: Tokenizer | ByteLevelTokenizer,
    texts: Sequence[str] = (),
    *,
    folder: str | Path | None = None,
    runtimes: Sequence[str] = (),
    most_differences: int = 3,
    progress: Progress | None = None,
) -> Verification:
    """Compare runtimes on every piece of the vocabulary and on the texts.

    The reference is SentencePiece, or Piecework if that is not installed; for a byte-level tokenizer it is Piecework.
    `folder` has the files of an export; what it lacks is exported to a temporary folder, and what it has is compared
    with an export. Without `runtimes`, all installed ones take part; a named one that is not installed is an error. Up
    to `most_differences` differences without a known cause are listed for each runtime.

    >>> import piecework as pw
    >>> tokenizer = pw.train(pw.count_words(["en ros är en ros"]), pw.Recipe(vocab_size=20, hard_vocab_limit=False))
    >>> done = verify(tokenizer, ["en ros"], runtimes=["piecework"])
    >>> [(result.name, result.same == done.texts) for result in done.results]
    [('sentencepiece', False), ('piecework', True)]
    """
    if isinstance(tokenizer, ByteLevelTokenizer):
        return verify_byte_level(
            tokenizer,
            texts,
            folder=folder,
            runtimes=runtimes,
            most_differences=most_differences,
            progress=progress,
        )
    texts = [*vocabulary_texts(tokenizer), *texts]
    chosen = choose_runtimes(runtimes)
    if runtimes and (missing := [runtime for runtime in chosen if not runtime.is_installed]):
        raise MissingPackageError(f"{missing[0].name} is not installed: {missing[0].installation}")
    check_unicode(texts)
    reference = choose_runtimes(["sentencepiece"])[0]
    if not reference.is_installed:
        reference = choose_runtimes(["piecework"])[0]
    present = [runtime for runtime in chosen if runtime.is_installed and runtime is not reference]
    total = len(texts) * (1 + len(present))
    with _exported(tokenizer, folder) as find:
        model = reference.load(tokenizer, find(reference))
        expected = Expected(texts, encode_all(model, texts, 0, total, progress), model)
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
    expected: Expected,
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
        found = encode_all(model, expected.texts, done, total, progress)
        decoded = [model.decode(ids) for ids in expected.ids]
    except PieceworkError:
        raise
    except Exception as error:  # noqa: BLE001  # a runtime may raise anything, and the others are still compared
        reason = f"{type(error).__name__}: {error}".split("\n")[0]
        return RuntimeResult(runtime.name, version, "failed", reason[:300])
    prediction = Prediction(tokenizer, runtime.behaviour)
    unknown = next(piece.id for piece in tokenizer.pieces if piece.type == "unknown")
    judged = judge(
        expected,
        found,
        decoded,
        explain=lambda text, ids: _cause(prediction, text, ids),
        unknown=unknown,
        most_differences=most_differences,
    )
    return replace(judged, name=runtime.name, version=version, elapsed_s=time.monotonic() - started)


def _cause(prediction: Prediction, text: str, found: list[int]) -> Cause | None:
    cause = prediction.cause(text)
    return cause if cause is not None and prediction.encode(text) == found else None
