"""Compares runtimes: do they all give the same ids, and the same text back?"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from piecework.common.extras import installed_version
from piecework.tokenizer.behaviour import Cause, Prediction
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.byte_level_verify import verify_byte_level
from piecework.tokenizer.export import export_hf
from piecework.tokenizer.exported_files import file_differences
from piecework.tokenizer.hard_texts import vocabulary_texts
from piecework.tokenizer.runtimes import LoadedRuntime, Runtime, choose_runtimes
from piecework.tokenizer.tokenizer import Tokenizer
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
    if runtimes:
        check_installed(chosen)
    check_unicode(texts)
    reference = choose_runtimes(["sentencepiece"])[0]
    if not reference.is_installed:
        reference = choose_runtimes(["piecework"])[0]
    present = [runtime for runtime in chosen if runtime.is_installed and runtime is not reference]
    first, *turns = [Turn(len(texts) * n, len(texts) * (1 + len(present)), progress) for n in range(1 + len(present))]
    with _exported(tokenizer, folder) as find:
        model = reference.load(tokenizer, find(reference))
        expected = Expected(texts, encode_all(model, texts, first), model)
        results = [
            _compare(runtime, tokenizer, find, expected, turn, most_differences)
            for runtime, turn in zip(present, turns, strict=True)
        ]
    itself = RuntimeResult(reference.name, installed_version(reference.package), "reference")
    files = () if folder is None else tuple(file_differences(tokenizer, Path(folder)))
    return Verification(reference.name, len(texts), (itself, *results, *absent_results(chosen)), files)


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
    turn: Turn,
    most_differences: int,
) -> RuntimeResult:
    def judge_results(found: Sequence[list[int]], decoded: Sequence[str]) -> RuntimeResult:
        prediction = Prediction(tokenizer, runtime.behaviour)
        return judge(
            expected,
            found,
            decoded,
            explain=lambda text, ids: _cause(prediction, text, ids),
            unknown=next(piece.id for piece in tokenizer.pieces if piece.type == "unknown"),
            most_differences=most_differences,
        )

    def load() -> LoadedRuntime:
        return runtime.load(tokenizer, find(runtime))

    return compare_runtime(runtime, runtime.lacks(tokenizer), load, turn, expected, judge_results)


def _cause(prediction: Prediction, text: str, found: list[int]) -> Cause | None:
    cause = prediction.cause(text)
    return cause if cause is not None and prediction.encode(text) == found else None
