"""Every document of the shared corpus and of the standard library: the ids in the shards are SentencePiece's."""

import os
import sysconfig
from pathlib import Path

import pytest
import sentencepiece

import piecework as pw
from conftest import SHARED
from dataset.readers import read_dataset

ALL = os.environ.get("PIECEWORK_PARITY") == "all"


def test_the_shared_corpus_and_the_standard_library(tmp_path: Path) -> None:
    """`PIECEWORK_PARITY=all` takes all of it."""
    paths = sorted((SHARED / "corpus").glob("*.jsonl.zst" if ALL else "manual_sv.jsonl.zst"))
    if not paths:
        pytest.skip("needs the corpus beside the repository")
    library = sorted(Path(sysconfig.get_path("stdlib")).glob("**/*.py" if ALL else "c*.py"))
    code = [path for path in library if path.stat().st_size and _is_utf8(path)]
    texts = [text for path in paths for text in _documents(path)] + [path.read_bytes().decode() for path in code]
    tokenizer = pw.train(pw.count_words(texts[::7]), pw.Recipe.gpt_sw3(vocab_size=8000))
    pw.tokenize([*paths, *code], tokenizer, out=tmp_path / "ids", threads=2)
    oracle = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model_bytes)
    assert read_dataset(tmp_path / "ids", "megatron") == oracle.encode(texts)


def _documents(path: Path) -> list[str]:
    import orjson
    import zstandard

    with zstandard.open(path, "rb") as file:
        return [orjson.loads(line)["text"] for line in file.read().split(b"\n") if line]


def _is_utf8(path: Path) -> bool:
    try:
        return not path.read_bytes().decode().startswith("\ufeff")
    except UnicodeDecodeError:
        return False
