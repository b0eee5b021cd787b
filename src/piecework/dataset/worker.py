"""Tokenizes one shard: reads its documents, encodes them, writes the files of the shard."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from piecework.common.storage import RemotePath
from piecework.common.subset_name import SubsetName
from piecework.corpus.inputs import Slice
from piecework.corpus.limits import Limits
from piecework.corpus.readers import Documents
from piecework.corpus.sampling import Sampler
from piecework.counting.shards import Shard
from piecework.counting.slice_reading import SliceReader
from piecework.counting.worker import encoded
from piecework.dataset.encoding import EncodingSettings, cached_encoder
from piecework.dataset.formats import FORMATS, FormatName
from piecework.dataset.raw_files import ShardWriter
from piecework.dataset.shard_result import SubsetOutput, TokenizedShard
from piecework.dataset.shard_store import LocalStore, RemoteStore, ShardTarget, remove_files, stem_in
from piecework.dataset.shuffle import SpillWriter
from piecework.errors import InputError

__all__ = ["LIMITS", "TokenizeJob", "tokenize_shard"]

# The ids of a shard depend on this in Arrow files, whose record batches hold whole batches of documents.
BATCH_BYTES = 2 << 20
# Long documents are not lost for training. The text of a document is in memory several times while it is encoded.
LIMITS = Limits(document_bytes=1 << 30, word_bytes=64 << 20)
HASH_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class TokenizeJob:
    """What all shards of a dataset share."""

    store: LocalStore | RemoteStore
    encoding: EncodingSettings
    format: FormatName
    tokenizer_name: str
    weights: Mapping[SubsetName, Fraction]
    seed: int
    targets: Mapping[str, ShardTarget]
    """By the key of the shard."""
    strict: bool = False
    threads: int = 1
    """Threads within the process; the ids are the same for any number."""
    shuffle: tuple[int, int] | None = None
    """The seed and the number of buckets of a shuffle."""

    def open_writers(self, folder: Path, shard: Shard) -> list[ShardWriter]:
        """The writers of a shard's files: one per subset and vocabulary size. A shuffle mixes the subsets."""
        widths = self.encoding.widths
        if self.shuffle is not None:
            seed, buckets = self.shuffle
            name = self.targets[shard.key].stems[0]  # the number of the shard: a corpus may move
            return [
                SpillWriter(stem_in(folder, index), width, seed=f"{seed} {name}", buckets=buckets)
                for index, width in enumerate(widths)
            ]
        widths *= len(shard.subsets)
        open_writer = FORMATS[self.format].open
        return [open_writer(stem_in(folder, index), width, self.tokenizer_name) for index, width in enumerate(widths)]


def tokenize_shard(job: TokenizeJob, shard: Shard, report: Callable[[int], None]) -> TokenizedShard:
    """Write the files of a shard; `report` gets the number of stored bytes read since the last call."""
    sizes = len(job.encoding.sizes)
    target = job.targets[shard.key]
    slices = []
    hashes = []
    with job.store.new(target) as folder:
        writers = job.open_writers(folder, shard)
        outputs = {
            name.language: _Output(job, shard, name, writers[index * sizes % len(writers) :][:sizes])
            for index, name in enumerate(shard.subsets)
        }
        for part in shard.slices:
            reader = SliceReader(shard, part, batch_bytes=BATCH_BYTES, strict=job.strict, limits=LIMITS)
            for batch in reader:
                for language, documents in batch.documents.items():
                    outputs[language].add(documents)
                report(batch.read_bytes)
            hashes.append(_hash(part))
            slices.append(reader.result())
            for language, records in reader.skipped.items():
                if language in outputs:
                    outputs[language].statistics["skipped_records"] += records.total
        files = [tuple(writer.close()) for writer in writers]
        if job.shuffle is None:
            for index, output in enumerate(outputs.values()):
                if not output.statistics["documents"]:
                    first = index * sizes
                    files[first : first + sizes] = remove_files(folder, files[first : first + sizes], first=first)
        results = tuple(output.result() for output in outputs.values())
        result = TokenizedShard(results, tuple(slices), tuple(hashes), tuple(files))
        job.store.finish(folder, target, result)
    return result


class _Output:
    """Encodes the documents of one subset and hands their ids to its writers."""

    def __init__(self, job: TokenizeJob, shard: Shard, name: SubsetName, writers: Sequence[ShardWriter]) -> None:
        self._job = job
        self._name = name
        self._code_token = shard.code_token
        self._copies = _Copies(job, name)
        self._encoder = cached_encoder(job.encoding)
        self._writers = writers
        self._tokens = [0] * len(job.encoding.sizes)
        self.statistics: Counter[str] = Counter()

    def add(self, documents: Documents) -> None:
        statistics, widths = self.statistics, self._job.encoding.widths
        statistics["read_documents"] += len(documents)
        documents = self._copies.apply(documents)
        if not len(documents):
            return
        found = self._encoder.encode(documents, code_token=self._code_token, threads=self._job.threads)
        statistics["documents"] += len(documents)
        statistics["text_bytes"] += found.text_bytes
        for index, (writer, (ids, lengths)) in enumerate(zip(self._writers, found.ids, strict=True)):
            writer.add(ids, lengths)
            self._tokens[index] += len(ids) // widths[index]
        statistics["empty_documents"] += array("I", found.ids[0][1]).count(0)

    def result(self) -> SubsetOutput:
        return SubsetOutput(self._name.language, self.statistics, tuple(self._tokens))


class _Copies:
    """Takes each document as often as its subset's weight says: once, several times, or not at all."""

    def __init__(self, job: TokenizeJob, subset: SubsetName) -> None:
        weight = job.weights[subset]
        self._whole = int(weight) if weight == int(weight) else None
        self._subset = subset
        self._sampler = Sampler(seed=job.seed, train=Fraction(1), evaluation=Fraction(0), weights={subset: weight})

    def apply(self, documents: Documents) -> Documents:
        if self._whole == 1 or not len(documents):
            return documents
        taken: list[str | bytes] = []
        for text, _ in encoded(documents):
            copies = self._whole
            if copies is None:
                copies = self._sampler.place(text, self._subset).copies
            taken += [text] * copies
        return taken


def _hash(part: Slice) -> str:
    """The SHA-256 of the stored bytes of a slice, which were read just now.

    Row groups are not a range of bytes, so the slice with the first row group has the hash of the whole file. Remote
    files are not fetched a second time.
    """
    file = part.file
    if isinstance(file.path, RemotePath) or (file.format == "parquet" and part.start):
        return ""
    stop = part.stop if part.stop is not None and file.format != "parquet" else file.size_bytes
    digest = hashlib.sha256()
    try:
        with file.path.open("rb") as opened:
            left = stop - part.start
            opened.seek(part.start)
            while left and (chunk := opened.read(min(left, HASH_CHUNK_BYTES))):
                digest.update(chunk)
                left -= len(chunk)
    except OSError as error:
        raise InputError(f"{file.path}: cannot read: {error.strerror or error}") from error
    return digest.hexdigest()
