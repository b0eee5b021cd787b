"""The plan of a dataset: its subsets, its shards in document order, and the settings that they depend on."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from piecework.common.exact import format_exact
from piecework.common.storage import RemotePath
from piecework.common.subset_name import SubsetName
from piecework.common.terms import CleanUp
from piecework.corpus.inputs import find_files
from piecework.counting.shards import Shard, plan_shards
from piecework.dataset.encoding import AnyNative, EncodingSettings, code_token_id
from piecework.dataset.formats import FORMATS, FormatName
from piecework.dataset.shard_store import ShardTarget
from piecework.dataset.sizes import nested_sizes
from piecework.errors import InputError
from piecework.study.subsets import Subset, distinct_files, find_subsets
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.byte_level_files import ranks_bytes, ranks_settings

if TYPE_CHECKING:
    from piecework.study.schema import DocumentUnit
    from piecework.study.study import Study

__all__ = ["DatasetPlan", "Source", "make_plan", "model_bytes"]

# A shard is what a killed run loses, and a file of the dataset. A corpus of terabytes has thousands, not millions.
SMALLEST_SHARD_BYTES = 256_000_000
LARGEST_SHARD_BYTES = 8_000_000_000
MOST_SHARDS = 1024
MOST_BUCKETS = 4096
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Source:
    """The documents to tokenize."""

    subsets: tuple[Subset, ...]
    folder: Path
    """Paths are described relative to it."""
    name: str
    clean_up: CleanUp | None = None
    seed: int = 1
    is_study: bool = False

    @classmethod
    def from_study(cls, study: Study) -> Source:
        """All documents of a study's subsets, with their weights."""
        # Weight 0 leaves a subset out; in a file of several languages its records are passed over.
        subsets = tuple(subset for subset in find_subsets(study) if subset.weight or subset.language_field)
        return cls(subsets, study.folder, study.name, study.recipe.count_settings().clean_up, study.seed, is_study=True)

    @classmethod
    def from_files(
        cls,
        paths: Sequence[str | os.PathLike[str] | RemotePath],
        *,
        text_field: str = "text",
        documents: DocumentUnit = "file",
        clean_up: CleanUp | None = None,
    ) -> Source:
        """All documents of files, folders and globs, as one subset."""
        name = SubsetName("documents", "all")
        files = tuple(find_files(paths))
        subset = Subset(name, files, text_field, documents, None, Fraction(1))
        # Relative paths are described as they are given, others relative to the folder that all of them are in.
        folders = [file.path.parent for file in files if isinstance(file.path, Path)]
        is_relative = not all(folder.is_absolute() for folder in folders)
        folder = Path() if is_relative or not folders else Path(os.path.commonpath(folders))
        return cls((subset,), folder, "documents", clean_up)


@dataclass(frozen=True, slots=True)
class DatasetPlan:
    """What to write: shards, their names, and everything that their bytes depend on."""

    source: Source
    shards: tuple[Shard, ...]
    """In the order of their documents."""
    names: tuple[tuple[str, ...], ...]
    """The names of the files of each shard of the dataset, without suffix; without a shuffle, one for each subset."""
    format: FormatName
    encoding: EncodingSettings
    folders: tuple[str, ...]
    """The folder of each vocabulary size; an empty name if there is one size."""
    settings: Mapping[str, Any]
    key: str
    """A hash of the settings and of all files."""
    shuffle: int | None = None
    """The seed that documents are shuffled with."""

    @property
    def size_bytes(self) -> int:
        """The stored size of all files to read."""
        return sum(shard.size_bytes for shard in self.shards)

    @property
    def targets(self) -> tuple[ShardTarget, ...]:
        """Where the shards of the dataset go."""
        if self.shuffle is None:
            keys = [shard.key for shard in self.shards]
        else:
            keys = [hashlib.blake2b(f"{self.key} {name}".encode(), digest_size=16).hexdigest() for [name] in self.names]
        return tuple(
            ShardTarget(key, tuple(f"{folder}/{name}".lstrip("/") for name in names for folder in self.folders))
            for key, names in zip(keys, self.names, strict=True)
        )

    @property
    def input_targets(self) -> tuple[ShardTarget, ...]:
        """Where the documents of each input shard go first."""
        if self.shuffle is None:
            return self.targets
        return tuple(
            ShardTarget(shard.key, (f"input-{number}",) * len(self.folders)) for number, shard in enumerate(self.shards)
        )

    @property
    def weights(self) -> dict[SubsetName, Fraction]:
        """The weight of each subset."""
        return {subset.name: subset.weight for subset in self.source.subsets}


def make_plan(
    source: Source,
    tokenizer: AnyNative,
    *,
    format_name: FormatName,
    sizes: Sequence[int] = (),
    before: Sequence[int] = (),
    after: Sequence[int] = (),
    shard_bytes: int | None = None,
    shuffle: int | None = None,
) -> DatasetPlan:
    """The plan for these documents, from the files as they are now."""
    own = tokenizer.vocab_size
    wanted = list(sizes) or [own]
    if len(set(wanted)) < len(wanted):
        raise InputError(f"sizes: {next(s for s, n in Counter(wanted).items() if n > 1):,} is given twice")
    resized = nested_sizes(tokenizer, wanted)
    _check_code_tokens(source, tokenizer)
    width = FORMATS[format_name].width
    encoding = EncodingSettings(
        pickle.dumps(tokenizer),
        tuple(wanted),
        tuple(b"" if small is tokenizer else pickle.dumps(small) for small in resized),
        tuple(map(width, wanted)),
        tuple(before),
        tuple(after),
    )
    settings: dict[str, Any] = {
        "format": FORMAT_VERSION,
        "to": format_name,
        "model": _digest(tokenizer),
        "sizes": wanted,
        "before": list(before),
        "after": list(after),
        "clean_up": source.clean_up,
        "seed": source.seed,
        "subsets": [
            [
                *(subset.category, subset.language, subset.text_field, subset.documents, subset.code_token),
                format_exact(subset.weight),
                *([] if subset.language_field is None else [subset.language_field]),
            ]
            for subset in source.subsets
        ],
    }
    if shard_bytes is None:
        size_bytes = sum(file.size_bytes for file in distinct_files(source.subsets))
        shard_bytes = min(max(SMALLEST_SHARD_BYTES, size_bytes // MOST_SHARDS), LARGEST_SHARD_BYTES)
    shards = plan_shards(
        source.subsets,
        json.dumps([settings, shuffle, shard_bytes] if shuffle is not None else settings),
        folder=source.folder,
        shard_bytes=shard_bytes,
        clean_up=source.clean_up,
        in_order=True,
    )
    names = _names(source, shards)
    if shuffle is not None:
        count = -(-sum(shard.size_bytes for shard in shards) // shard_bytes)
        names = tuple((f"shuffled-{number:05d}",) for number in range(min(max(1, count), MOST_BUCKETS)))
        settings["shuffle"] = shuffle
    key = hashlib.sha256("".join([json.dumps(settings), *(shard.key for shard in shards)]).encode()).hexdigest()
    folders = tuple(str(size) for size in wanted) if sizes else ("",)
    return DatasetPlan(source, tuple(shards), names, format_name, encoding, folders, settings, key, shuffle)


def _names(source: Source, shards: Sequence[Shard]) -> tuple[tuple[str, ...], ...]:
    numbers: Counter[str] = Counter()
    names = []
    for shard in shards:
        prefixes = [str(name) if source.is_study else source.name for name in shard.subsets]
        names.append(tuple(f"{prefix}-{numbers[prefix]:05d}" for prefix in prefixes))
        numbers.update(prefixes)
    return tuple(names)


def _check_code_tokens(source: Source, tokenizer: AnyNative) -> None:
    for subset in source.subsets:
        if subset.code_token is not None and code_token_id(tokenizer, subset.code_token) is None:
            raise InputError(
                f"{subset.name}: its documents start with {subset.code_token}, which is no symbol of this vocabulary; "
                "train with it among the user-defined symbols (byte-level: the special tokens), or leave code_token"
                " out of the study"
            )


def _digest(tokenizer: AnyNative) -> str:
    """A checksum of the tokenizer. That of ranks is of the ranks: finding their merges takes seconds."""
    if isinstance(tokenizer, ByteLevelTokenizer) and tokenizer.model.merges is None:
        data = ranks_bytes(tokenizer.model) + ranks_settings(tokenizer.model)
    else:
        data = model_bytes(tokenizer)
    return hashlib.sha256(data).hexdigest()


def model_bytes(tokenizer: AnyNative) -> bytes:
    """The file that the tokenizer is saved as."""
    return tokenizer.json_bytes if isinstance(tokenizer, ByteLevelTokenizer) else tokenizer.model_bytes
