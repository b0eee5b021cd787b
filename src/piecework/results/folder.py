"""The folder of a study's results: the names of its files, and a reader of its tables, tokenizers and counts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from piecework.common.manifest import Each, Optional, Shape, checksum_of_file, inner_path, read_manifest
from piecework.common.terms import MULTILINGUAL, RUN_FILE, TOKENIZERS_FOLDER
from piecework.counting.store import Counts
from piecework.errors import DamagedError, InputError
from piecework.evaluation.tables import Table
from piecework.results.table_names import TITLES
from piecework.study.study import Study
from piecework.tokenizer.trained import TrainedTokenizer, load_trained, trained_file

__all__ = [
    "CARD_FILE",
    "FIGURES_FOLDER",
    "FORMAT",
    "LATEX_FOLDER",
    "REPORT_FILE",
    "RESULTS_FOLDER",
    "RUN_FILE",
    "STUDY_FILE",
    "TOKENIZERS_FOLDER",
    "StudyFolder",
    "read_run",
]

FORMAT = 2
STUDY_FILE = "study.toml"
REPORT_FILE = "report.html"
CARD_FILE = "README.md"
MODEL_FILE = "tokenizer.model"
MAKE_AGAIN = "piecework run makes it again"
RESULTS_FOLDER = "results"
RECIPES_FOLDER = "recipes"
"""The studies of further recipes, a folder each."""
WORDS_FOLDER = "words"
"""Of a byte-level study: the counts of words on which it is compared with other tokenizers."""
FIGURES_FOLDER = f"{RESULTS_FOLDER}/figures"
LATEX_FOLDER = f"{RESULTS_FOLDER}/latex"

_RUN_SHAPE: Mapping[str, Shape] = {
    "format": int,
    "study": Optional(str),
    "complete": Optional(bool),
    "seed": Optional(int),
    "languages": Optional([str]),
    "tokenizers": Optional([str]),
    "settings": Optional(dict),
    "versions": Optional(Each(str)),
    "skipped": Optional([{"category": str, "language": str, "reason": str, "records": int, "first": [str]}]),
    "inputs": Optional({"key": str, "files": int, "size_bytes": int}),
    "elapsed_s": Optional(int | float),
    "peak_memory_bytes": Optional(int),
    "stages": Each(
        {"key": str, "elapsed_s": int | float, "peak_memory_bytes": int, "outputs": Each(str)},
    ),
}
_OF_A_COMPLETE_RUN = ("study", "skipped", "languages", "tokenizers", "settings", "elapsed_s", "peak_memory_bytes")


class StudyFolder:
    """Reads the results of a study from its folder; nothing is read before it is asked for."""

    def __init__(self, folder: Path, run: Mapping[str, Any], *, tables: Mapping[str, Table] | None = None) -> None:
        """Use `load` instead. `tables` are already in memory, so they are not read."""
        self.folder = folder
        self.run = run
        """The content of run.json: versions, settings, inputs, timings, memory, skipped records."""
        self._checksums = _checksums(run)
        self.tables: Mapping[str, Table] = StoredTables(folder / RESULTS_FOLDER, tables or {}, self._verify)
        """The tables by name, each read on first use; docs/study.md lists their columns."""
        self._tokenizers: dict[str, TrainedTokenizer] = {}

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Loads a study's output folder, or raises an InputError that says what is missing."""
        folder = Path(folder)
        run = read_run(folder)
        if run is None:
            what = "no such folder" if not folder.exists() else "no results of a study in this folder"
            raise InputError(f"{folder}: {what}; first run piecework run STUDY.toml --out {folder}")
        if not run.get("complete"):
            raise InputError(
                f"{folder}: the study has not finished; piecework run STUDY.toml --out {folder} resumes it"
            )
        if missing := [key for key in _OF_A_COMPLETE_RUN if key not in run]:
            raise DamagedError(folder / RUN_FILE, f"it has no {missing[0]}", MAKE_AGAIN)
        return cls(folder, run)

    @cached_property
    def study(self) -> Study:
        """The study with all settings resolved. Its corpus may be gone."""
        return Study.load(self._verify(self.folder / STUDY_FILE), check_corpus=False)

    @property
    def name(self) -> str:
        """The name of the study."""
        return str(self.run["study"])

    @property
    def languages(self) -> list[str]:
        """The languages, sorted."""
        return list(self.run["languages"])

    @property
    def tokenizers(self) -> list[str]:
        """The names of the tokenizers: multilingual, its smaller sizes as multilingual-10000, then the languages."""
        return list(self.run["tokenizers"])

    @cached_property
    def recipes(self) -> dict[str, StudyFolder]:
        """The studies of the further recipes by name."""
        return {name: StudyFolder.load(self.folder / RECIPES_FOLDER / name) for name in self.study.recipes}

    @property
    def report(self) -> Path:
        """The path of the report."""
        return self.folder / REPORT_FILE

    def tokenizer(self, name: str = MULTILINGUAL) -> TrainedTokenizer:
        """A tokenizer of the study, loaded on first use."""
        if name not in self.tokenizers:
            raise InputError(f'{self.folder}: no tokenizer "{name}"; there is {", ".join(self.tokenizers)}')
        if name not in self._tokenizers:
            folder = self.folder / TOKENIZERS_FOLDER / name
            self._verify(trained_file(folder))
            self._tokenizers[name] = load_trained(folder)
        return self._tokenizers[name]

    def _verify(self, path: Path) -> Path:
        """The path, if the file is as its stage wrote it. A file that no stage recorded is not checked."""
        checksum = self._checksums.get(path.relative_to(self.folder).as_posix())
        try:
            if checksum is not None and path.exists() and checksum_of_file(path) != checksum:
                raise DamagedError(path, "its checksum is another", MAKE_AGAIN)
        except OSError as error:
            raise InputError(f"{path}: cannot read: {error.strerror or error}") from error
        return path

    @cached_property
    def counts(self) -> Counts | None:
        """The counts of the study; None if they were deleted, which breaks nothing else."""
        return Counts.load(self.folder) if (self.folder / "counts").is_dir() else None

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}({str(self.folder)!r}: {len(self.tokenizers)} tokenizers, {', '.join(self.languages)})"


class StoredTables(Mapping[str, Table]):
    """The tables in a folder by name, each read on first use."""

    def __init__(self, folder: Path, tables: Mapping[str, Table], verify: Callable[[Path], Path]) -> None:
        self._folder = folder
        self._verify = verify
        self._read = dict(tables)

    def __getitem__(self, name: str) -> Table:
        if name not in self._read:
            self._read[name] = self._load(name)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in TITLES if (self._folder / f"{name}.parquet").exists())

    def __len__(self) -> int:
        return len(list(iter(self)))

    def _load(self, name: str) -> Table:
        path = self._folder / f"{name}.parquet"
        if name not in TITLES or not path.exists():
            raise KeyError(name)
        try:
            # Not read_table: it imports pyarrow.dataset, which imports pandas. That takes most of a second.
            with pq.ParquetFile(self._verify(path)) as file:
                return Table(file.read(), title=TITLES[name])
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{path}: cannot read: {error}; {MAKE_AGAIN}") from error


def read_run(folder: Path) -> dict[str, Any] | None:
    """The content of run.json, None if there is no such file, or a DamagedError."""
    path = folder / RUN_FILE
    run = read_manifest(path, _RUN_SHAPE, format_version=FORMAT)
    for name in _checksums(run or {}):
        try:
            inner_path(folder, name)
        except ValueError as error:
            raise DamagedError(path, str(error)) from None
    return run


def _checksums(run: Mapping[str, Any]) -> dict[str, str]:
    """The checksum of every file that a stage wrote, by its path in the folder."""
    return {name: value for stage in run.get("stages", {}).values() for name, value in stage["outputs"].items()}
