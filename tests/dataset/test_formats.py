"""Every format holds the ids that SentencePiece and tokenizers give, document by document."""

import json
import os
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import sentencepiece
import tokenizers
import zstandard

import piecework as pw
from counting.corpora import jsonl
from dataset.readers import READERS, read_dataset, read_megatron, read_with_library
from piecework._core import IdPacker
from piecework.corpus.limits import Limits
from piecework.dataset import worker
from piecework.dataset.formats import FORMAT_NAMES, FORMATS, SUFFIXES
from piecework.dataset.megatron import MegatronWriter

Processor = sentencepiece.SentencePieceProcessor


# A document of 300 MB, or of 70 MB. Counting takes no documents of this size.
LONG_WORDS = 18_750_000 if os.environ.get("PIECEWORK_PARITY") == "all" else 4_400_000


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


@pytest.mark.parametrize("to", ["megatron", "datatrove"])
def test_the_library_of_a_format_reads_it(
    tmp_path: Path, corpus_file: Path, texts: list[str], tokenizer: pw.Tokenizer, to: str
) -> None:
    pw.tokenize(corpus_file, tokenizer, out=tmp_path / "ids", to=to, append_eos=True, shard_size=20_000)
    assert read_with_library(tmp_path / "ids", to) == [[*tokenizer.encode(text), tokenizer.eos_id] for text in texts]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_file_that_is_given_twice(
    tmp_path: Path, corpus_file: Path, texts: list[str], tokenizer: pw.Tokenizer, threads: int
) -> None:
    """The documents of a file come as often as the file is given, each time in separate files."""
    out = tmp_path / "ids"
    dataset = pw.tokenize([corpus_file] * 3, tokenizer, out=out, threads=threads, shard_size=20_000)
    once = [tokenizer.encode(text) for text in texts]
    assert read_dataset(out, "megatron") == once * 3
    assert {path.name for path in out.iterdir()} == {
        "tokenized.json",
        *(file["path"] for shard in dataset.description["shards"] for file in shard["files"]),
    }
    shuffled = pw.tokenize([corpus_file] * 3, tokenizer, out=tmp_path / "mixed", threads=threads, shuffle=2)
    assert sorted(read_dataset(tmp_path / "mixed", "megatron")) == sorted(once * 3)
    assert shuffled.tokens == dataset.tokens


@pytest.mark.parametrize("to", ["megatron", "numpy"])
def test_ids_are_those_of_tokenizers(
    tmp_path: Path, corpus_file: Path, texts: list[str], byte_level: pw.ByteLevelTokenizer, to: str
) -> None:
    oracle = tokenizers.Tokenizer.from_str(byte_level.json_bytes.decode())
    pw.tokenize(corpus_file, byte_level, out=tmp_path / "ids", to=to, eos="<|endoftext|>", threads=1)
    end = oracle.token_to_id("<|endoftext|>")
    # Here a special token within a text is plain text. tokenizers has no setting for this that works for all tokens.
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


# More than 2³² tokens. Their 24 GB of ids are not written: they are left out, or are a hole in a sparse file.
HUGE = np.array([2_000_000_000, 2_000_000_000, 2_000_000_000, 5], "<u4")
HUGE_ENDS = [2_000_000_000, 4_000_000_000, 6_000_000_000, 6_000_000_005]


def test_megatron_past_four_billion_tokens(tmp_path: Path) -> None:
    writer = MegatronWriter(tmp_path / "a", 4, "")
    writer.add(b"", HUGE.tobytes())
    writer.close()
    offsets = np.frombuffer((tmp_path / "a.idx").read_bytes(), "<i8", 4, 34 + 16).tolist()
    assert offsets == [0, 8_000_000_000, 16_000_000_000, 24_000_000_000]


def test_datatrove_past_four_billion_tokens(tmp_path: Path) -> None:
    writer = FORMATS["datatrove"].open(tmp_path / "a", 2, "t")
    writer.add(b"", HUGE.tobytes())
    writer.close()
    assert np.fromfile(tmp_path / "a.ds.index", "<u8").tolist() == HUGE_ENDS
    assert (tmp_path / "a.ds.metadata").read_text().split("\n") == ["t|2", "6000000005", "6.00 GT"]


def test_numpy_past_four_billion_tokens(tmp_path: Path) -> None:
    writer = FORMATS["numpy"].open(tmp_path / "a", 2, "t")
    writer.add(b"", HUGE.tobytes())
    writer.close()
    with (tmp_path / "a.npy").open("r+b") as file:
        file.seek(128 + 2 * HUGE_ENDS[2])
        file.write(np.arange(5, dtype="<u2").tobytes())
    ids, bounds = np.load(tmp_path / "a.npy", mmap_mode="r"), np.load(tmp_path / "a.documents.npy")
    assert len(ids) == HUGE_ENDS[-1]
    assert ids[bounds[3] : bounds[4]].tolist() == [0, 1, 2, 3, 4]


def test_more_pieces_than_uint16_holds(tmp_path: Path, byte_level: pw.ByteLevelTokenizer) -> None:
    """A vocabulary of 70,000: every format holds the ids of its last pieces unchanged."""
    own = byte_level.model
    tokens = [*own.tokens, *[b""] * (70_000 - len(own.tokens))]
    tokenizer = pw.ByteLevelTokenizer(replace(own, tokens=tokens, special_tokens={"<|last|>": 69_999}))
    (tmp_path / "a.jsonl").write_bytes(jsonl(["tack så", "mycket"]))
    expected = [[*ids, 69_999] for ids in byte_level.encode_batch(["tack så", "mycket"])]
    for to in FORMAT_NAMES:
        dataset = pw.tokenize(tmp_path / "a.jsonl", tokenizer, out=tmp_path / to, to=to, eos="<|last|>", threads=1)
        assert dataset.description["datasets"][0]["dtype"] in ("int32", "uint32")
        assert read_dataset(tmp_path / to, to) == expected


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
    """Documents may be longer than in counting. The limit of datasets is lowered here, to test that it holds."""
    assert worker.LIMITS.document_bytes > 300_000_000
    path = tmp_path / "a.jsonl"
    long = "tack så mycket " * LONG_WORDS
    path.write_text(json.dumps({"text": long}) + "\n" + json.dumps({"text": "hej"}) + "\n")
    dataset = pw.tokenize(path, tokenizer, out=tmp_path / "ids", threads=1, shard_size="1GB")
    assert (dataset.documents, dataset.description["skipped"]) == (2, [])
    data = np.fromfile(tmp_path / "ids/documents-00000.bin", "<u2")
    oracle = tokenizer.encode("tack så mycket " * 1000)
    assert data[: len(oracle) - 1].tolist() == oracle[:-1]
    assert tokenizer.decode(data[-len(tokenizer.encode("hej")) :]) == "hej"
    monkeypatch.setattr(worker, "LIMITS", Limits(1000, 1000))
