"""The runtimes that `verify` compares, each behind the same two functions: texts to ids, ids to text."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from piecework.common.extras import is_installed
from piecework.common.terms import PieceType
from piecework.errors import InputError
from piecework.tokenizer.behaviour import Behaviour
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = [
    "RUNTIMES",
    "LoadedRuntime",
    "NotSupportedError",
    "Runtime",
    "choose_runtimes",
    "load_tokenizers",
    "load_transformers",
]

Ids = list[int]
Need = Literal["byte fallback", "a prefix", "no normalisation"]


class NotSupportedError(Exception):
    """A runtime says that it does not support this kind of tokenizer."""


@dataclass(frozen=True, slots=True)
class LoadedRuntime:
    """A runtime that has loaded a tokenizer."""

    encode: Callable[[Sequence[str]], list[Ids]]
    decode: Callable[[Ids], str]


@dataclass(frozen=True, slots=True)
class Runtime:
    """A runtime: the package to install, the files that it reads, and its known differences from SentencePiece."""

    name: str
    package: str
    files: tuple[str, ...]
    load: Callable[[Tokenizer, Path], LoadedRuntime]
    behaviour: Behaviour = Behaviour()  # noqa: RUF009  # frozen
    needs: tuple[Need, ...] = ()
    """What it requires of a model, by its documentation or by its results."""

    @property
    def is_installed(self) -> bool:
        """Whether it can be imported."""
        return all(map(is_installed, self.package.split()))

    def lacks(self, tokenizer: Tokenizer) -> str:
        """What the model lacks for this runtime, as text; empty if the runtime can use it."""
        trainer, normalizer = tokenizer._specs.trainer_spec, tokenizer._specs.normalizer_spec
        has = {
            "byte fallback": trainer.byte_fallback,
            "a prefix": normalizer.add_dummy_prefix,
            "no normalisation": not normalizer.precompiled_charsmap and not normalizer.remove_extra_whitespaces,
        }
        missing = [need for need in self.needs if not has[need]]
        return f"it takes models with {' and '.join(missing)} only" if missing else ""

    @property
    def installation(self) -> str:
        """The command that installs it."""
        return f"pip install {self.package}"


def choose_runtimes(names: Sequence[str]) -> list[Runtime]:
    """The runtimes of these names, or all if none is given; `transformers` stands for its three classes.

    >>> [runtime.name for runtime in choose_runtimes(["tokenizers", "transformers"])]
    ['tokenizers', 'AutoTokenizer', 'GPTSw3Tokenizer', 'LlamaTokenizer']
    """
    if not names:
        return list(RUNTIMES)
    chosen = []
    for name in names:
        found = [
            runtime
            for runtime in RUNTIMES
            if name.lower() in (runtime.name.lower(), runtime.package.split()[0].lower())
        ]
        if not found:
            raise InputError(f'no runtime "{name}"; there are {", ".join(runtime.name for runtime in RUNTIMES)}')
        chosen += [runtime for runtime in found if runtime not in chosen]
    return chosen


def _piecework(tokenizer: Tokenizer, _folder: Path) -> LoadedRuntime:
    return LoadedRuntime(tokenizer.encode_batch, tokenizer.decode)


def _sentencepiece(_tokenizer: Tokenizer, folder: Path) -> LoadedRuntime:
    import sentencepiece

    processor: Any = sentencepiece.SentencePieceProcessor(model_proto=(folder / "tokenizer.model").read_bytes())
    return LoadedRuntime(lambda texts: processor.encode(list(texts)), processor.decode)


def load_tokenizers(folder: Path) -> LoadedRuntime:
    """The library `tokenizers` with the `tokenizer.json` in a folder."""
    import tokenizers

    rust: Any = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    return LoadedRuntime(
        lambda texts: [each.ids for each in rust.encode_batch(list(texts), add_special_tokens=False)],
        lambda ids: str(rust.decode(ids, skip_special_tokens=False)),
    )


def load_transformers(name: str, folder: Path) -> LoadedRuntime:
    """A class of `transformers` with the files in a folder."""
    # Nothing is downloaded, and its warning about missing PyTorch does not concern tokenizers.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    import transformers

    loaded: Any = getattr(transformers, name).from_pretrained(str(folder), local_files_only=True)
    return LoadedRuntime(
        lambda texts: [loaded.encode(text, add_special_tokens=False) for text in texts],
        lambda ids: str(loaded.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)),
    )


def _tokenizers(_tokenizer: Tokenizer, folder: Path) -> LoadedRuntime:
    return load_tokenizers(folder)


def _transformers(name: str) -> Callable[[Tokenizer, Path], LoadedRuntime]:
    return lambda _tokenizer, folder: load_transformers(name, folder)


def _gigatoken(_tokenizer: Tokenizer, folder: Path) -> LoadedRuntime:
    import gigatoken

    loaded: Any = gigatoken.Tokenizer.from_sentencepiece(str(folder / "tokenizer.model"))

    def decode(ids: Ids) -> str:
        data = loaded.decode(ids)
        return data if isinstance(data, str) else bytes(data).decode(errors="replace")

    return LoadedRuntime(lambda texts: [list(map(int, ids)) for ids in loaded.encode_batch_list(list(texts))], decode)


def _kitoken(_tokenizer: Tokenizer, folder: Path) -> LoadedRuntime:
    import kitoken

    loaded: Any = kitoken.Kitoken.from_file(str(folder / "tokenizer.model"))
    return LoadedRuntime(
        lambda texts: [list(loaded.encode(text, False)) for text in texts],
        lambda ids: bytes(loaded.decode(ids, True)).decode(errors="replace"),
    )


_SPECIAL: tuple[PieceType, ...] = ("unknown", "control")
_MODEL, _JSON = "tokenizer.model", "tokenizer.json"

RUNTIMES = (
    Runtime("sentencepiece", "sentencepiece", (_MODEL,), _sentencepiece),
    Runtime("piecework", "piecework", (), _piecework),
    Runtime("tokenizers", "tokenizers", (_JSON,), _tokenizers, Behaviour(special=_SPECIAL)),
    Runtime(
        "AutoTokenizer",
        "transformers",
        (_JSON, "tokenizer_config.json"),
        _transformers("AutoTokenizer"),
        Behaviour(special=_SPECIAL),
    ),
    Runtime(
        "GPTSw3Tokenizer",
        "transformers sentencepiece",
        ("spiece.model", "tokenizer_config.json"),
        _transformers("GPTSw3Tokenizer"),
        Behaviour(special=_SPECIAL, cleans_up=True),
    ),
    Runtime(
        "LlamaTokenizer",
        "transformers",
        (_JSON, _MODEL, "tokenizer_config.json"),
        _transformers("LlamaTokenizer"),
        Behaviour(special=_SPECIAL, symbols="text", keeps_leading_space=True, unknown="dropped"),
        needs=("a prefix", "no normalisation"),
    ),
    Runtime(
        "gigatoken",
        "gigatoken",
        (_MODEL,),
        _gigatoken,
        Behaviour(special=("control",), symbols="segments"),
        needs=("byte fallback",),
    ),
    Runtime("kitoken", "kitoken", (_MODEL,), _kitoken, Behaviour(by_id=True, unknown="each")),
)
