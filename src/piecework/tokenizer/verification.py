"""What `verify` finds: the differences of each runtime from the reference, and how they are found."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from piecework.common.extras import MissingPackageError, installed_version
from piecework.errors import InputError, PieceworkError
from piecework.tokenizer.behaviour import Cause
from piecework.tokenizer.exported_files import FileDifference
from piecework.tokenizer.runtimes import LoadedRuntime, NotSupportedError

__all__ = [
    "Difference",
    "Expected",
    "Progress",
    "RuntimeResult",
    "Turn",
    "Verification",
    "absent_results",
    "check_installed",
    "check_unicode",
    "compare_runtime",
    "encode_all",
    "judge",
]

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
    unseen: int = 0
    """Pieces of a byte-level tokenizer that are in none of the texts."""

    @property
    def is_fine(self) -> bool:
        """Whether every difference is explained, and every exported file belongs to the model."""
        return all(result.is_fine for result in self.results) and not self.files


class Expected:
    """The texts with the ids of the reference, and the text that it decodes them to."""

    def __init__(self, texts: Sequence[str], ids: list[list[int]], model: LoadedRuntime) -> None:
        self.texts = texts
        self.ids = ids
        self.decoded = [model.decode(each) for each in ids]


def judge(
    expected: Expected,
    found: Sequence[list[int]],
    decoded: Sequence[str],
    *,
    explain: Callable[[str, list[int]], Cause | None] = lambda _text, _ids: None,
    unknown: int | None = None,
    most_differences: int,
) -> RuntimeResult:
    """The result of a runtime that found these ids, and decoded the expected ids to these texts."""
    kept: list[Difference] = []
    by_cause: Counter[Cause | None] = Counter()
    same = 0
    for number, text in enumerate(expected.texts):
        difference = None
        if found[number] != expected.ids[number]:
            ids, wanted = found[number], expected.ids[number]
            difference = Difference(text, "ids", _first(ids, wanted), ids, wanted, explain(text, ids))
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
        "",
        "",
        "compared",
        texts=len(expected.texts),
        same=same,
        explained={cause: count for cause, count in by_cause.items() if cause is not None},
        differences=tuple(sorted(kept, key=lambda difference: difference.cause is not None)),
        unexplained=by_cause[None],
    )


@dataclass(frozen=True, slots=True)
class Turn:
    """One runtime's part of the progress: the texts encoded by runtimes before it, all texts, and the callback."""

    done: int
    total: int
    progress: Progress | None


def encode_all(model: LoadedRuntime, texts: Sequence[str], turn: Turn) -> list[list[int]]:
    """The ids of all texts, in batches, with progress."""
    ids: list[list[int]] = []
    for start in range(0, len(texts), _BATCH):
        ids += model.encode(texts[start : start + _BATCH])
        if turn.progress is not None:
            turn.progress(turn.done + len(ids), turn.total)
    return ids


class AnyRuntime(Protocol):
    """A runtime of either kind of tokenizer."""

    @property
    def name(self) -> str: ...
    @property
    def package(self) -> str: ...
    @property
    def is_installed(self) -> bool: ...
    @property
    def installation(self) -> str: ...


def check_installed(chosen: Sequence[AnyRuntime]) -> None:
    """Raise a MissingPackageError for the first runtime that is not installed."""
    for runtime in chosen:
        if not runtime.is_installed:
            raise MissingPackageError(f"{runtime.name} is not installed: {runtime.installation}")


def absent_results(chosen: Sequence[AnyRuntime]) -> list[RuntimeResult]:
    """The results of the runtimes that are not installed."""
    return [
        RuntimeResult(runtime.name, "", "not installed", runtime.installation)
        for runtime in chosen
        if not runtime.is_installed
    ]


def compare_runtime(
    runtime: AnyRuntime,
    lacking: str,
    load: Callable[[], LoadedRuntime],
    turn: Turn,
    expected: Expected,
    judge_results: Callable[[Sequence[list[int]], Sequence[str]], RuntimeResult],
) -> RuntimeResult:
    """The result of one runtime. `lacking` says what the tokenizer lacks for it; empty if the runtime can use it."""
    started = time.monotonic()
    version = installed_version(runtime.package.split()[0])
    if lacking:
        return RuntimeResult(runtime.name, version, "not supported", lacking)
    try:
        model = load()
        found = encode_all(model, expected.texts, turn)
        decoded = [model.decode(ids) for ids in expected.ids]
    except (PieceworkError, KeyboardInterrupt, SystemExit):
        raise
    except NotSupportedError as error:
        return RuntimeResult(runtime.name, version, "not supported", str(error))
    # A runtime may raise anything, also the panics of Rust, which are no Exception. The others are still compared.
    except BaseException as error:  # noqa: BLE001
        reason = f"{type(error).__name__}: {error}".split("\n")[0]
        return RuntimeResult(runtime.name, version, "failed", reason[:300])
    result = judge_results(found, decoded)
    return replace(result, name=runtime.name, version=version, elapsed_s=time.monotonic() - started)


def _first(found: Sequence[object], expected: Sequence[object]) -> int:
    pairs = enumerate(zip(found, expected, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(found), len(expected)))


def check_unicode(texts: Sequence[str]) -> None:
    """Refuse a text that UTF-8 cannot hold."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"a text has half of a surrogate pair, which UTF-8 cannot hold: {text[:60]!r}") from error
