"""`encode` of files with records, and flat arrays from `encode_batch`."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import zstandard
from click.testing import CliRunner

import piecework as pw
from counting.corpora import jsonl
from piecework.cli import group


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.zst", ".parquet"])
def test_the_documents_of_a_file(tmp_path: Path, tokenizer: pw.Tokenizer, suffix: str) -> None:
    texts = ["tack så", "en rad\noch en till", "  "]
    path = tmp_path / f"a{suffix}"
    if suffix == ".parquet":
        pyarrow.parquet.write_table(pa.table({"text": texts}), path)
    else:
        data = jsonl(texts) + b"nonsense\n"
        path.write_bytes(zstandard.compress(data) if suffix.endswith(".zst") else data)
    tokenizer.save(tmp_path / "model")
    done = CliRunner().invoke(group, ["encode", "--model", str(tmp_path / "model"), "--ids", str(path)])
    assert done.exit_code == 0, done.output
    assert [list(map(int, line.split())) for line in done.stdout.splitlines()] == tokenizer.encode_batch(texts)
    assert ("1 record skipped: 1 malformed JSON" in done.stderr) == (suffix != ".parquet")
    as_json = CliRunner().invoke(group, ["encode", "--model", str(tmp_path / "model"), "--json", str(path)])
    assert [json.loads(line)["ids"] for line in as_json.stdout.splitlines()] == tokenizer.encode_batch(texts)
    other = CliRunner().invoke(group, ["encode", "--model", str(tmp_path / "model"), "--text-field", "body", str(path)])
    assert other.exit_code == 1
    assert 'records need a string in the field "body"; here the text seems to be in "text"' in other.stderr
    assert other.stderr.endswith(": --text-field text\n")


def test_flat_arrays(texts: list[str], tokenizer: pw.Tokenizer, byte_level: pw.ByteLevelTokenizer) -> None:
    texts = [*texts, ""]
    for own in (tokenizer, byte_level):
        arrays = own.encode_batch(texts, as_arrays=True, threads=2)
        assert (arrays.ids.dtype, arrays.offsets.dtype, len(arrays)) == (np.int32, np.int64, len(texts))
        expected = own.encode_batch(texts)
        assert arrays.to_arrow().to_pylist() == expected
        lists = arrays.to_arrow()
        assert lists.values.buffers()[1].address == arrays.ids.ctypes.data, "no copy"
    around = tokenizer.encode_batch(texts, as_arrays=True, add_bos=True, add_eos=True)
    assert around.to_arrow().to_pylist() == tokenizer.encode_batch(texts, add_bos=True, add_eos=True)
    column = pa.array(texts)
    assert tokenizer.encode_batch(column, as_arrays=True).to_arrow().to_pylist() == tokenizer.encode_batch(texts)  # type: ignore[call-overload]
    assert tokenizer.encode_batch(texts, output="arrow").to_pylist() == tokenizer.encode_batch(texts)
    assert [ids.tolist() for ids in tokenizer.encode_batch(texts, output="numpy")] == tokenizer.encode_batch(texts)
    assert len(tokenizer.encode_batch([], as_arrays=True)) == 0


def test_a_dataset_of_ranks(tmp_path: Path, byte_level: pw.ByteLevelTokenizer) -> None:
    """A `.tiktoken` file has no merges; its pattern may be one of one's own."""
    byte_level.save_tiktoken(tmp_path / "own.tiktoken")
    special = byte_level.model.special_tokens
    (tmp_path / "a.jsonl").write_bytes(jsonl(["tack så", "en rad\noch en till"]))
    for cut in (byte_level.pre_tokenizer, pw.PreTokenizer("custom", pattern=r"\S+|\s+")):
        loaded = pw.ByteLevelTokenizer.load(tmp_path / "own.tiktoken", pre_tokenizer=cut, special_tokens=special)
        dataset = pw.tokenize(tmp_path / "a.jsonl", loaded, out=tmp_path / cut.name, to="numpy", threads=1)
        found = np.load(next(dataset.folder.glob("*-00000.npy"))).tolist()
        assert found == [*loaded.encode("tack så"), *loaded.encode("en rad\noch en till")]
