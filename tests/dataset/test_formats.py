"""Every format holds the ids that SentencePiece and tokenizers give, document by document."""

import json
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import sentencepiece
import tokenizers
import zstandard

import piecework as pw
from dataset.readers import READERS, read_dataset, read_megatron, read_with_library
from piecework._core import IdPacker
from piecework.corpus.limits import Limits
from piecework.dataset import worker
from piecework.dataset.formats import FORMAT_NAMES, FORMATS, SUFFIXES
from piecework.dataset.megatron import MegatronWriter

Processor = sentencepiece.SentencePieceProcessor


@pytest.mark.parametrize("to", FORMAT_NAMES)
def test_ids_are_those_of_sentencepiece(
    tmp_path: Path, corpus_file: Path, texts: list[str], tokenizer: pw.Tokenizer, to: str
) -> None:
    oracle = Processor(model_proto=tokenizer.model_bytes)
    dataset = pw.tokenize(
        corpus_file,
        tokenizer,
        out=tmp_path / "ids",
        to=to,
        append_eos=True,
        prepend_bos=True,
        threads=1,
        shard_size=20_000,
    )
    expected = [[oracle.bos_id(), *oracle.encode(text), oracle.eos_id()] for text in texts]
    assert read_dataset(tmp_path / "ids", to) == expected
    assert len(list((tmp_path / "ids").glob(f"*{SUFFIXES[to][0]}"))) > 2
    assert dataset.tokens == sum(map(len, expected))
    names = {path.name for path in (tmp_path / "ids").iterdir()}
    assert names == {"tokenized.json", *(f["path"] for s in dataset.description["shards"] for f in s["files"])}
    if to in ("megatron", "datatrove"):
        assert read_with_library(tmp_path / "ids", to) == expected


@pytest.mark.parametrize("to", ["megatron", "numpy"])
def test_ids_are_those_of_tokenizers(
    tmp_path: Path, corpus_file: Path, texts: list[str], byte_level: pw.ByteLevelTokenizer, to: str
) -> None:
    oracle = tokenizers.Tokenizer.from_str(byte_level.json_bytes.decode())
    pw.tokenize(corpus_file, byte_level, out=tmp_path / "ids", to=to, eos="<|endoftext|>", threads=1)
    end = oracle.token_to_id("<|endoftext|>")
    # A special token that is written out in a text is plain text here; tokenizers cannot be told so for all of them.
    plain = [text for text in texts if "<|endoftext|>" not in text]
    found = [ids for ids, text in zip(read_dataset(tmp_path / "ids", to), texts, strict=True) if text in plain]
    assert found == [[*oracle.encode(text).ids, end] for text in plain]


def test_parquet_and_compressed_files_give_the_same(
    tmp_path: Path, corpus_file: Path, texts: list[str], tokenizer: pw.Tokenizer
) -> None:
    compressed, columns = tmp_path / "a.jsonl.zst", tmp_path / "a.parquet"
    compressed.write_bytes(zstandard.compress(corpus_file.read_bytes()))
    pyarrow.parquet.write_table(pa.table({"text": texts}), columns, row_group_size=50)
    for index, path in enumerate((corpus_file, compressed, columns)):
        pw.tokenize(path, tokenizer, out=tmp_path / str(index), threads=1, shard_size=10_000_000)
    first = read_dataset(tmp_path / "0", "megatron")
    assert first == read_dataset(tmp_path / "1", "megatron") == read_dataset(tmp_path / "2", "megatron")
    assert (tmp_path / "0/documents-00000.idx").read_bytes() == (tmp_path / "2/documents-00000.idx").read_bytes()


def test_worked_example_of_an_index(tmp_path: Path) -> None:
    writer = MegatronWriter(tmp_path / "a", 2, "")
    writer.add(np.array([7, 8, 1, 2, 3, 4, 5], "<u2").tobytes(), np.array([2, 0, 5], "<u4").tobytes())
    written = writer.close()
    assert [file.suffix for file in written] == [".bin", ".idx"]
    index = (tmp_path / "a.idx").read_bytes()
    assert len(index) == 102
    assert index[:34] == b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, 3, 4)
    assert struct.unpack("<3i3q4q", index[34:]) == (2, 0, 5, 0, 4, 4, 0, 1, 2, 3)
    assert read_megatron(tmp_path / "a") == [[7, 8], [], [1, 2, 3, 4, 5]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.bin", "a.idx"]


@pytest.mark.parametrize("to", FORMAT_NAMES)
def test_no_document_and_empty_documents(tmp_path: Path, to: str) -> None:
    for name, lengths in (("none", []), ("empty", [0, 0]), ("some", [0, 1, 0])):
        dtype = "<u2" if FORMATS[to].width(100) == 2 else "<u4"
        writer = FORMATS[to].open(tmp_path / name, FORMATS[to].width(100), "t")
        if lengths:
            writer.add(np.arange(sum(lengths), dtype=dtype).tobytes(), np.array(lengths, "<u4").tobytes())
        written = writer.close()
        assert {file.suffix for file in written} == set(SUFFIXES[to])
        assert [len(document) for document in READERS[to][0](tmp_path / name)] == lengths


def test_offsets_past_four_gigabytes(tmp_path: Path) -> None:
    """More than 2³² tokens: the index alone is checked, with lengths as if so much had been written."""
    writer = MegatronWriter(tmp_path / "a", 4, "")
    lengths = np.array([2_000_000_000, 2_000_000_000, 2_000_000_000, 5], "<u4")
    writer.add(b"", lengths.tobytes())
    writer.close()
    index = (tmp_path / "a.idx").read_bytes()
    offsets = np.frombuffer(index, "<i8", 4, 34 + 16).tolist()
    assert offsets == [0, 8_000_000_000, 16_000_000_000, 24_000_000_000]


def test_an_id_never_overflows(tokenizer: pw.Tokenizer) -> None:
    with pytest.raises(OverflowError, match="does not fit"):
        tokenizer._encoder.encode_packed(["a"], [IdPacker(2, before=[70_000], after=[], smaller=None)], 1)
    [(ids, lengths)], size = tokenizer._encoder.encode_packed(
        ["a", ""], [IdPacker(4, before=[70_000], after=[], smaller=None)], 1
    )
    assert np.frombuffer(ids, "<u4").tolist() == [70_000, *tokenizer.encode("a"), 70_000]
    assert (np.frombuffer(lengths, "<u4").tolist(), size) == ([1 + len(tokenizer.encode("a")), 1], 1)
    assert [FORMATS["megatron"].dtype(size) for size in (65_499, 65_500, 70_000)] == ["uint16", "int32", "int32"]
    assert [FORMATS["numpy"].dtype(size) for size in (65_536, 65_537)] == ["uint16", "uint32"]


def test_long_documents_are_taken(tmp_path: Path, tokenizer: pw.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer than counting takes; the limit of datasets is lowered here to see that it holds."""
    assert worker.LIMITS.document_bytes > 300_000_000
    path = tmp_path / "a.jsonl"
    long = "tack så mycket " * 5_000_000
    path.write_text(json.dumps({"text": long}) + "\n" + json.dumps({"text": "hej"}) + "\n")
    dataset = pw.tokenize(path, tokenizer, out=tmp_path / "ids", threads=1)
    assert (dataset.documents, dataset.description["skipped"]) == (2, [])
    data = np.fromfile(tmp_path / "ids/documents-00000.bin", "<u2")
    oracle = tokenizer.encode("tack så mycket " * 1000)
    assert data[: len(oracle) - 1].tolist() == oracle[:-1]
    assert tokenizer.decode(data[-len(tokenizer.encode("hej")) :]) == "hej"
    monkeypatch.setattr(worker, "LIMITS", Limits(1000, 1000))
