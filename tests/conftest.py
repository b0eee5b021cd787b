"""What the tests share: hypothesis settings, the corpus beside the repository, Python's own sources."""

import os
import signal
import sysconfig
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import orjson
import pytest
import zstandard

# Under nohup and in many CI systems SIGINT is ignored, and child processes inherit this, so the tests of Ctrl-C would
# fail. With a handler here, the processes that tests start have the default action.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile("ci", derandomize=True, deadline=None)
hypothesis.settings.load_profile("ci")

# Their tests share a cluster and a browser, which take long to start: each folder runs in one worker.
TOGETHER = ("tests/browser/", "tests/cluster/")

SHARED = Path(__file__).resolve().parents[2] / "shared"


class Corpus(Mapping[str, list[str]]):
    """The documents of `corpus/*.jsonl.zst`, read when they are needed: file stem ("law_sv") to a list of texts."""

    def __init__(self, folder: Path) -> None:
        paths = sorted(folder.glob("*.jsonl.zst"))
        self._paths = {path.name.removesuffix(".jsonl.zst"): path for path in paths}

    def __getitem__(self, stem: str) -> list[str]:
        return _documents(self._paths[stem])

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


class CorpusLines(Mapping[str, list[str]]):
    """The same documents as lines for SentencePiece: no line is empty, and no line ends with "\\r"."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def __getitem__(self, stem: str) -> list[str]:
        lines = [line.rstrip("\r") for text in self._corpus[stem] for line in text.split("\n")]
        return [line for line in lines if line]

    def __iter__(self) -> Iterator[str]:
        return iter(self._corpus)

    def __len__(self) -> int:
        return len(self._corpus)


@cache
def _documents(path: Path) -> list[str]:
    with path.open("rb") as compressed, zstandard.ZstdDecompressor().stream_reader(compressed) as stream:
        return [orjson.loads(line)["text"] for line in stream.read().splitlines()]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Like `--dist loadfile`, but folders whose tests share something stay together."""
    from xdist.scheduler import LoadFileScheduling

    class ByFileOrFolder(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next((folder for folder in TOGETHER if nodeid.startswith(folder)), super()._split_scope(nodeid))

    return ByFileOrFolder(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that take minutes run only with PIECEWORK_PARITY=all: in `make parity`, or in `make docs` for samples."""
    if os.environ.get("PIECEWORK_PARITY") == "all":
        return
    long = [item for item in items if item.get_closest_marker("minutes")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if not item.get_closest_marker("minutes")]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with an argument `stem` runs once for each file of the corpus, and is skipped without it."""
    if "stem" in metafunc.fixturenames:
        metafunc.parametrize("stem", list(Corpus(SHARED / "corpus")))


@pytest.fixture(scope="session")
def shared() -> Path:
    if not (SHARED / "corpus").is_dir():
        pytest.skip("needs the development corpus, a folder `shared` beside the repository")
    return SHARED


@pytest.fixture(scope="session")
def corpus(shared: Path) -> Corpus:
    return Corpus(shared / "corpus")


@pytest.fixture(scope="session")
def corpus_lines(corpus: Corpus) -> CorpusLines:
    return CorpusLines(corpus)


@pytest.fixture(scope="session")
def stdlib_sources() -> list[str]:
    """Every source file of Python's standard library that is valid UTF-8."""
    root = Path(sysconfig.get_path("stdlib"))
    sources = []
    for path in sorted(root.rglob("*.py")):
        if not {"site-packages", "dist-packages"} & set(path.relative_to(root).parts):
            try:
                sources.append(path.read_bytes().decode())
            except UnicodeDecodeError:
                continue
    return sources
