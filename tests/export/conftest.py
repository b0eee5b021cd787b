"""Tokenizers with real whitespace runs, exported; SentencePiece as the oracle; transformers kept from the network."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import pytest
import sentencepiece
import tokenizers
import transformers

import adversarial
import piecework as pw
from cli.conftest import model, run, text_file  # noqa: F401  # fixtures
from piecework.tokenizer.export import export_hf
from sentencepiece_oracle import load

CODE_TOKEN_TEXTS = [
    *("<|python|>", "<|python|>def f(x):", "x <|sql|>", "x<|sql|>", " <|python|>", "<|python|> ", "  <|sql|>  "),
    *("<|python|><|sql|>", "<|python|> <|sql|>", "<|python|><|python|>", "\n<|python|>\n", "<|python|>    return"),
    *("a<|python|>b", "a <|python|> b", "<|python|>▁x", "▁<|python|>", "<|python|", "<|<|python|>|>", "<|PYTHON|>"),
    *("<|python|><0x41>", "<|python|><0x41><|sql|>", "<0x41>", "<|python|><0x41> x", "<|python|>å字😀<|shell|>"),
    *("", " ", "  ", "\n", "▁", "\0", "\ufeff<|python|>", "<|python|>\r\n", "<|javascript|>" * 40),
]


@dataclass(frozen=True)
class Exported:
    """A tokenizer, and the folder of its export."""

    tokenizer: pw.Tokenizer
    folder: Path

    @cached_property
    def sentencepiece(self) -> sentencepiece.SentencePieceProcessor:
        return load(self.tokenizer.model_bytes)

    @cached_property
    def tokenizers(self) -> tokenizers.Tokenizer:
        return tokenizers.Tokenizer.from_file(str(self.folder / "tokenizer.json"))

    @cached_property
    def auto(self) -> Any:
        return transformers.AutoTokenizer.from_pretrained(str(self.folder))

    @property
    def special(self) -> list[str]:
        """Strings that `tokenizers` reads as special tokens within a text, and that SentencePiece reads as text."""
        return [piece.text for piece in self.tokenizer.pieces if piece.type in ("unknown", "control")]

    def without_special(self, texts: list[str]) -> list[str]:
        return [text for text in texts if not any(special in text for special in self.special)]


@pytest.fixture(scope="session")
def code_lines(stdlib_sources: list[str]) -> list[str]:
    """About 1 MB of code, and text in many scripts with all difficult cases."""
    code = [line.rstrip("\r") for source in stdlib_sources[::30] for line in source.split("\n")]
    return [line for line in (*code, *(line for seed in range(300) for line in adversarial.corpus(seed))) if line]


@pytest.fixture(scope="session", params=["paper", "portable"])
def exported(
    request: pytest.FixtureRequest, code_lines: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Exported:
    recipe = pw.Recipe.gpt_sw3(vocab_size=6_000, whitespace_runs=request.param)
    tokenizer = pw.train(pw.count_words(code_lines, threads=2), recipe)
    folder = tmp_path_factory.mktemp("hf")
    assert export_hf(tokenizer, folder).caveats == ()
    return Exported(tokenizer, folder)


@pytest.fixture(scope="session")
def nordic(corpus: Mapping[str, list[str]], tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """The paper's tokenizer on the whole corpus, 64,000 pieces."""
    counts = pw.count_words((text for stem in corpus for text in corpus[stem]), threads=2)
    tokenizer = pw.train(counts, pw.Recipe.gpt_sw3(vocab_size=64_000))
    folder = tmp_path_factory.mktemp("nordic")
    assert export_hf(tokenizer, folder).caveats == ()
    return Exported(tokenizer, folder)
