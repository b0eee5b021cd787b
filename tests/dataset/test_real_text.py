"""Every document of the shared corpus and the standard library: the ids in the shards are those of the real library."""

import os
import sysconfig
from pathlib import Path

import pytest
import sentencepiece
import tokenizers

import piecework as pw
from conftest import SHARED
from dataset.readers import read_dataset
from piecework.dataset.formats import FORMAT_NAMES

ALL = os.environ.get("PIECEWORK_PARITY") == "all"


@pytest.fixture(scope="module")
def documents() -> tuple[list[Path], list[str]]:
    """Files and their documents; `PIECEWORK_PARITY=all` takes all of them."""
    paths = sorted((SHARED / "corpus").glob("*.jsonl.zst" if ALL else "manual_sv.jsonl.zst"))
    if not paths:
        pytest.skip("needs the corpus beside the repository")
    library = sorted(Path(sysconfig.get_path("stdlib")).glob("**/*.py" if ALL else "c*.py"))
    code = [path for path in library if path.stat().st_size and _is_utf8(path)]
    texts = [text for path in paths for text in _documents(path)] + [path.read_bytes().decode() for path in code]
    return [*paths, *code], texts


def test_sentencepiece(tmp_path: Path, documents: tuple[list[Path], list[str]]) -> None:
    files, texts = documents
    tokenizer = pw.train(pw.count_words(texts[::7]), pw.Recipe.gpt_sw3(vocab_size=8000))
    oracle = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model_bytes)
    expected = oracle.encode(texts)
    for to in FORMAT_NAMES if ALL else FORMAT_NAMES[:1]:
        pw.tokenize(files, tokenizer, out=tmp_path / to, threads=2, to=to)
        assert read_dataset(tmp_path / to, to) == expected


def test_tokenizers(tmp_path: Path, documents: tuple[list[Path], list[str]]) -> None:
    files, texts = documents
    recipe = pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=6000)
    tokenizer = pw.train(pw.count_pre_tokens(texts[::7], pre_tokenizer="gpt2"), recipe)
    oracle = tokenizers.Tokenizer.from_str(tokenizer.json_bytes.decode())
    expected = [found.ids for found in oracle.encode_batch(texts)]
    for to in FORMAT_NAMES if ALL else FORMAT_NAMES[2:3]:
        pw.tokenize(files, tokenizer, out=tmp_path / to, threads=2, to=to)
        assert read_dataset(tmp_path / to, to) == expected


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
