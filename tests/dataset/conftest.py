"""Tokenizers and documents for the tests of datasets."""

from pathlib import Path

import pytest

import piecework as pw
from counting.corpora import jsonl, made_up_documents

ODD = [
    " ",
    "   a    b  ",
    "\n\n\tx\r\n",
    "▁ ▁▁",
    "日本語 テキスト 🎉",
    "<|endoftext|> <s> <0x41>",
    "\x00\x01",
    "å" * 3000,
]


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return [*ODD, *made_up_documents(250), " ".join(made_up_documents(40, seed=9))]


@pytest.fixture(scope="session")
def tokenizer() -> pw.Tokenizer:
    recipe = pw.Recipe.gpt_sw3(vocab_size=900)
    return pw.train(pw.count_words(made_up_documents(250)), recipe)


@pytest.fixture(scope="session")
def byte_level() -> pw.ByteLevelTokenizer:
    counts = pw.count_pre_tokens(made_up_documents(250), pre_tokenizer="gpt2")
    return pw.train(
        counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=700, special_tokens=("<|endoftext|>",))
    )


@pytest.fixture
def corpus_file(tmp_path: Path, texts: list[str]) -> Path:
    path = tmp_path / "data" / "texts.jsonl"
    path.parent.mkdir()
    path.write_bytes(jsonl(texts))
    return path
