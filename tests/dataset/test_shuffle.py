"""A seeded shuffle: every document once, in an order that looks random, the same however it is run."""

import os
import random
import subprocess
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import piecework as pw
from counting.corpora import jsonl, made_up_corpus, write_corpus
from dataset.readers import read_dataset
from dataset.test_faults import STUDY, dataset_bytes, run
from piecework.dataset import shuffle
from piecework.errors import InputError

KILLS = 20 if os.environ.get("PIECEWORK_PARITY") == "all" else 3


@pytest.fixture
def study(tmp_path: Path, tokenizer: pw.Tokenizer) -> Path:
    folder = tmp_path / "study"
    write_corpus(folder, made_up_corpus(150), suffix=".jsonl", files=2)
    tokenizer.save(folder / "model")
    (folder / "study.toml").write_text(STUDY)
    return folder / "study.toml"


def test_every_document_once_and_mixed(study: Path, tmp_path: Path) -> None:
    options = {"threads": 1, "shard_size": 20_000, "sizes": (500, 900)}
    loaded, model = pw.Study.load(study), study.parent / "model"
    plain = pw.tokenize(loaded, model, out=tmp_path / "plain", **options)
    mixed = pw.tokenize(loaded, model, out=tmp_path / "mixed", shuffle=7, **options)
    assert mixed.subset_rows == plain.subset_rows
    orders = []
    for size in ("500", "900"):
        before, after = (read_dataset(tmp_path / name / size, "megatron") for name in ("plain", "mixed"))
        assert sorted(after) == sorted(before)
        assert after != before
        orders.append(after)
    small, large = (pw.Tokenizer.load(tmp_path / f"mixed/{size}") for size in (500, 900))
    assert [small.decode(ids) for ids in orders[0]] == [large.decode(ids) for ids in orders[1]], "the same order"
    assert len(list((tmp_path / "mixed/900").glob("*.bin"))) > 3
    other = pw.tokenize(loaded, model, out=tmp_path / "other", shuffle=8, **options)
    assert other.tokens == mixed.tokens
    assert read_dataset(tmp_path / "other/900", "megatron") != orders[1]


def test_positions_look_random(tmp_path: Path) -> None:
    """The first and the last documents of the files are spread over the whole."""
    texts = [f"{number}" for number in range(2000)]
    (tmp_path / "a.jsonl").write_bytes(jsonl(texts))
    tokenizer = pw.train(["0 1 2 3 4 5 6 7 8 9"], vocab_size=14)
    pw.tokenize(tmp_path / "a.jsonl", tokenizer, out=tmp_path / "ids", shuffle=1, shard_size=9_000, threads=1)
    numbers = [int(tokenizer.decode(ids)) for ids in read_dataset(tmp_path / "ids", "megatron")]
    assert sorted(numbers) == list(range(2000))
    early = [position for position, number in enumerate(numbers) if number < 500]
    assert 900 < sum(early) / len(early) < 1100
    assert sum(abs(a - b) == 1 for a, b in pairwise(numbers)) < 20


def test_the_same_for_threads_and_kills(study: Path, tmp_path: Path) -> None:
    options = {"shuffle": 3, "shard_size": 20_000}
    started = time.monotonic()
    assert run(study, tmp_path / "whole", **options).wait() == 0
    took_s = time.monotonic() - started
    expected = dataset_bytes(tmp_path / "whole")
    chance = random.Random(1)
    for number in range(KILLS):
        out = tmp_path / f"killed-{number}"
        process: subprocess.Popen[bytes] = run(study, out, **options)
        time.sleep(took_s * chance.uniform(0.3, 1.0))
        process.kill()
        process.wait()
        assert run(study, out, threads=1, **options).wait() == 0
        assert dataset_bytes(out) == expected


@pytest.mark.parametrize("chunk_bytes", [1, 64, 1 << 20])
def test_chunks_hold_every_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk_bytes: int) -> None:
    """A worked example of the two files of the first pass, with one, several and many chunks."""
    monkeypatch.setattr(shuffle, "CHUNK_BYTES", chunk_bytes)
    writer = shuffle.SpillWriter(tmp_path / "a", 2, seed="s", buckets=3)
    for number in range(50):
        writer.add(bytes([number, 0, number, 1]), (2).to_bytes(4, "little"))
    writer.close()
    keys = random.Random("s")
    expected = [(key := keys.getrandbits(64), key * 3 >> 64, number) for number in range(50)]
    starts = np.fromfile(tmp_path / "a.segments", "<u8").reshape(-1, 4).tolist()
    data = (tmp_path / "a.spill").read_bytes()
    found = []
    for row in starts:
        for bucket, (start, end) in enumerate(pairwise(row)):
            if start < end:
                count = int.from_bytes(data[start : start + 8], "little")
                own = np.frombuffer(data, "<u8", count, start + 8).tolist()
                ids = np.frombuffer(data, "<u2", 2 * count, start + 8 + 12 * count).tolist()
                found += [(key, bucket, number) for key, number in zip(own, ids[::2], strict=True)]
    assert sorted(found) == sorted(expected)
    assert len(starts) == {1: 50, 64: 4, 1 << 20: 1}[chunk_bytes]


def test_a_remote_folder_is_refused(corpus_file: Path, tokenizer: pw.Tokenizer) -> None:
    with pytest.raises(InputError, match="gathered on a local disk"):
        pw.tokenize(corpus_file, tokenizer, out="s3://bucket/ids", shuffle=1)
