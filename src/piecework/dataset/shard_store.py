"""Where finished shards are kept until the dataset is whole, so that a killed run resumes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from piecework.common.files import replace_atomically
from piecework.common.storage import RemotePath, upload
from piecework.counting.partial import PartialResults
from piecework.dataset.raw_files import WrittenFile
from piecework.dataset.shard_result import TokenizedShard
from piecework.errors import InputError

__all__ = ["LocalStore", "RemoteStore", "ShardTarget"]

PARTIAL = ".partial"
MANIFEST = "shard.json"
PUBLISHING = "publishing"


@dataclass(frozen=True, slots=True)
class ShardTarget:
    """A shard's key and the paths of its files in the dataset, without suffixes: one for each subset and size."""

    key: str
    stems: tuple[str, ...]


def stem_in(folder: Path, index: int) -> Path:
    """The path of a shard's files in its own folder, without suffix; `index` is that of the target's stem."""
    return folder / str(index)


def remove_files(
    folder: Path, files: Sequence[tuple[WrittenFile, ...]], *, first: int = 0
) -> list[tuple[WrittenFile, ...]]:
    """Remove files without documents, which some readers refuse. Returns the files that are left of each: none."""
    for index, written in enumerate(files, first):
        for file in written:
            Path(f"{stem_in(folder, index)}{file.suffix}").unlink()
    return [()] * len(files)


@dataclass(frozen=True, slots=True)
class LocalStore:
    """Shards in the folder `.partial` of the dataset. At the end all are renamed."""

    folder: Path

    @property
    def _partial(self) -> PartialResults:
        return PartialResults(self.folder / PARTIAL)

    @contextmanager
    def new(self, target: ShardTarget) -> Iterator[Path]:
        """A folder to write a shard into. It is kept when all is on disk."""
        with self._partial.new(target.key) as folder:
            yield folder

    def finish(self, folder: Path, _target: ShardTarget, result: TokenizedShard) -> None:
        """Describe a shard, when its files are written."""
        (folder / MANIFEST).write_bytes(result.to_json())

    def load(self, target: ShardTarget) -> TokenizedShard | None:
        """The result of a shard whose files are whole, wherever a killed run left them."""
        folder = self.folder / PARTIAL / target.key
        try:
            result = TokenizedShard.from_json((folder / MANIFEST).read_bytes())
            for index, files in enumerate(result.files):
                for file in files:
                    if not file.is_whole(Path(f"{stem_in(folder, index)}{file.suffix}")):
                        published = self.folder / f"{target.stems[index]}{file.suffix}"
                        if not self._is_publishing() or not file.is_whole(published):
                            return None
        except (OSError, ValueError):
            return None
        return result

    def _is_publishing(self) -> bool:
        return (self.folder / PARTIAL / PUBLISHING).exists()

    def publish(self, targets: Iterable[ShardTarget], results: Iterable[TokenizedShard]) -> None:
        """Give the files their names in the dataset. A run that is killed meanwhile finds them under either name."""
        with replace_atomically(self.folder / PARTIAL / PUBLISHING) as marker:
            marker.write_bytes(b"")
        for target, result in zip(targets, results, strict=True):
            own = self.folder / PARTIAL / target.key
            for index, files in enumerate(result.files):
                stem = self.folder / target.stems[index]
                stem.parent.mkdir(parents=True, exist_ok=True)
                for file in files:
                    path = Path(f"{stem_in(own, index)}{file.suffix}")
                    published = Path(f"{stem}{file.suffix}")
                    if path.exists():
                        path.replace(published)
                    elif not published.exists():
                        raise InputError(f"{path}: the file was removed while the dataset was written; run it again")

    def remove_partial(self) -> None:
        """Remove what is not part of the finished dataset."""
        shutil.rmtree(self.folder / PARTIAL, ignore_errors=True)

    def remove_unfinished(self) -> None:
        """Remove what killed processes have left."""
        self._partial.remove_unfinished()

    def remove_others(self, targets: Iterable[ShardTarget]) -> None:
        """Remove shards of other settings or files."""
        wanted = {target.key for target in targets}
        for path in (self.folder / PARTIAL).glob("*"):
            if path.is_dir() and path.name not in wanted:
                shutil.rmtree(path, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class RemoteStore:
    """Shards in a remote folder: the files of a shard first, and then a manifest that makes them valid."""

    folder: RemotePath

    def _manifest(self, target: ShardTarget) -> RemotePath:
        return self.folder / f"{PARTIAL}/{target.key}.json"

    @contextmanager
    def new(self, target: ShardTarget) -> Iterator[Path]:  # noqa: ARG002
        """A folder on this machine to write a shard into; it is uploaded by `finish`."""
        with tempfile.TemporaryDirectory(prefix="piecework-") as folder:
            yield Path(folder)

    def finish(self, folder: Path, target: ShardTarget, result: TokenizedShard) -> None:
        """Upload the files of a shard, the manifest last."""
        try:
            for index, files in enumerate(result.files):
                for file in files:
                    path = Path(f"{stem_in(folder, index)}{file.suffix}")
                    upload(path, self.folder / f"{target.stems[index]}{file.suffix}")
            (folder / MANIFEST).write_bytes(result.to_json())
            upload(folder / MANIFEST, self._manifest(target))
        except OSError as error:
            raise InputError(f"{self.folder}: cannot write: {error.strerror or error}") from error

    def load(self, target: ShardTarget) -> TokenizedShard | None:
        """The result of a shard whose files are there with their sizes."""
        try:
            result = TokenizedShard.from_json(self._manifest(target).read_bytes())
            for index, files in enumerate(result.files):
                for file in files:
                    status = (self.folder / f"{target.stems[index]}{file.suffix}").stat_now()
                    if status.st_size != file.size_bytes:
                        return None
        except (OSError, ValueError):
            return None
        return result

    def publish(self, targets: Iterable[ShardTarget], results: Iterable[TokenizedShard]) -> None:
        """Does nothing: files are uploaded under their final names."""

    def remove_partial(self) -> None:
        """Remove the manifests of shards."""
        for name in (self.folder / PARTIAL).names():
            with suppress(OSError):
                (self.folder / f"{PARTIAL}/{name}").unlink(missing_ok=True)

    def remove_unfinished(self) -> None:
        """Does nothing: an upload that fails leaves no file."""

    def remove_others(self, targets: Iterable[ShardTarget]) -> None:
        """Does nothing: a manifest of other settings has another name."""
