"""Exports a tokenizer to other runtimes with identical ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from piecework.common.recorded_files import write_recorded
from piecework.errors import InputError
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.byte_level_export import BYTE_LEVEL_FORMATS, byte_level_files
from piecework.tokenizer.hf_files import hf_files, json_bytes, special_token_roles, tokenizer_config
from piecework.tokenizer.token_bytes import token_bytes_file
from piecework.tokenizer.tokenizer import Tokenizer
from piecework.tokenizer.tokenizer_json import caveats

__all__ = ["FORMATS", "Export", "ExportFormat", "export", "export_both", "export_hf", "export_llama"]

ExportFormat = Literal["hf", "sentencepiece", "llama", "tiktoken", "token-bytes"]
FORMATS: tuple[ExportFormat, ...] = ("hf", "sentencepiece", "llama", "tiktoken", "token-bytes")


@dataclass(frozen=True, slots=True)
class Export:
    """The written files, and what the format cannot express."""

    folder: Path
    files: tuple[Path, ...]
    caveats: tuple[str, ...] = ()


def export(
    tokenizer: Tokenizer | ByteLevelTokenizer, folder: str | Path, *, to: ExportFormat, force: bool = False
) -> Export:
    """Write the files of a format. A file that exists with the same content is left as it is.

    Byte-level tokenizers have the formats "hf" and "tiktoken", SentencePiece models "hf", "sentencepiece" and "llama",
    both of them "token-bytes".

    >>> import tempfile, piecework as pw
    >>> tokenizer = pw.train(pw.count_words(["a rose is a rose"]), pw.Recipe(vocab_size=15))
    >>> [path.name for path in export(tokenizer, tempfile.mkdtemp(), to="sentencepiece").files]
    ['tokenizer.model', 'tokenizer.vocab']
    """
    if to == "token-bytes":
        return export_token_bytes(tokenizer, folder, force=force)
    if isinstance(tokenizer, ByteLevelTokenizer):
        if to not in BYTE_LEVEL_FORMATS:
            there_is = " and ".join(BYTE_LEVEL_FORMATS)
            raise InputError(f'a byte-level tokenizer has no format "{to}"; there is {there_is}')
        return _write(byte_level_files(tokenizer, to), folder, force=force)
    if to == "tiktoken":
        raise InputError('the format "tiktoken" is for byte-level tokenizers, and this is a SentencePiece model')
    writers: dict[ExportFormat, Callable[..., Export]] = {
        "hf": export_hf,
        "sentencepiece": export_sentencepiece,
        "llama": export_llama,
    }
    return writers[to](tokenizer, folder, force=force)


def export_hf(
    tokenizer: Tokenizer, folder: str | Path, *, force: bool = False, chat_template: str | None = None
) -> Export:
    """For `tokenizers` and `transformers`: `AutoTokenizer.from_pretrained(folder)` gives SentencePiece's ids.

    The SentencePiece model has two names, because `GPTSw3Tokenizer` and other classes look for one of them.
    """
    contents = _hf_contents(tokenizer, chat_template=chat_template)
    return _write(contents, folder, force=force, caveats=tuple(caveats(tokenizer)))


def export_sentencepiece(tokenizer: Tokenizer, folder: str | Path, *, force: bool = False) -> Export:
    """For SentencePiece itself: `tokenizer.model` and `tokenizer.vocab`."""
    return _write(_sentencepiece_contents(tokenizer), folder, force=force)


def export_both(tokenizer: Tokenizer, folder: str | Path, *, force: bool = False) -> tuple[Path, ...]:
    """The files for SentencePiece and for `transformers`, in one step; returns their paths."""
    contents = _sentencepiece_contents(tokenizer) | _hf_contents(tokenizer)
    return _write(contents, folder, force=force).files


def export_llama(tokenizer: Tokenizer, folder: str | Path, *, force: bool = False) -> Export:
    """For llama.cpp: the files that its `convert_hf_to_gguf.py` reads beside the weights of a model.

    The script does not read from the `.model` which pieces are user-defined. It takes them from `added_tokens.json`. A
    symbol in `added_tokens_decoder` would become a control token if it looks like `<|python|>`.
    """
    symbols = {piece.text: piece.id for piece in tokenizer._meta_pieces if piece.type == "user_defined"}
    config = tokenizer_config(tokenizer, "LlamaTokenizer")
    normalizer = tokenizer._specs.normalizer_spec
    contents = {
        "tokenizer.model": tokenizer.model_bytes,
        "tokenizer_config.json": json_bytes(
            {**config, "legacy": True, "add_prefix_space": normalizer.add_dummy_prefix, "add_bos_token": False}
        ),
        "special_tokens_map.json": json_bytes(special_token_roles(tokenizer)),
        "added_tokens.json": json_bytes(symbols),
    }
    return _write(contents, folder, force=force)


def export_token_bytes(tokenizer: Tokenizer | ByteLevelTokenizer, folder: str | Path, *, force: bool = False) -> Export:
    """For training code: `token_bytes.npy` has the number of bytes of each id, to compute bits per byte."""
    return _write({"token_bytes.npy": token_bytes_file(tokenizer)}, folder, force=force)


def _hf_contents(tokenizer: Tokenizer, *, chat_template: str | None = None) -> dict[str, bytes]:
    contents = hf_files(tokenizer, chat_template=chat_template)
    return contents | {"tokenizer.model": tokenizer.model_bytes, "spiece.model": tokenizer.model_bytes}


def _sentencepiece_contents(tokenizer: Tokenizer) -> dict[str, bytes]:
    return {"tokenizer.model": tokenizer.model_bytes, "tokenizer.vocab": tokenizer._vocabulary.vocab_text()}


def _write(contents: Mapping[str, bytes], folder: str | Path, *, force: bool, caveats: tuple[str, ...] = ()) -> Export:
    folder = Path(folder)
    write_recorded(folder, contents, force=force, keep_same=True)
    return Export(folder, tuple(folder / name for name in contents), caveats)
