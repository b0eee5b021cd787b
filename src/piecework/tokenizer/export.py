"""Writes a tokenizer as the files that other software looks for, with the same ids there as in SentencePiece."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from piecework.common.files import prepare_output, write_together
from piecework.tokenizer.tokenizer import Tokenizer
from piecework.tokenizer.tokenizer_json import added_token, caveats, special_pieces, tokenizer_json

__all__ = ["FORMATS", "Export", "ExportFormat", "export", "export_hf", "export_llama", "export_sentencepiece"]

ExportFormat = Literal["hf", "sentencepiece", "llama"]
FORMATS: tuple[ExportFormat, ...] = ("hf", "sentencepiece", "llama")


@dataclass(frozen=True, slots=True)
class Export:
    """What an export wrote, and what of the model the format cannot express."""

    folder: Path
    files: tuple[Path, ...]
    caveats: tuple[str, ...] = ()


def export(tokenizer: Tokenizer, folder: str | Path, *, to: ExportFormat, force: bool = False) -> Export:
    """Write the files of a format; those that are there already with the same content are no obstacle.

    >>> import tempfile, piecework as pw
    >>> tokenizer = pw.train(pw.count_words(["a rose is a rose"]), pw.Recipe(vocab_size=15))
    >>> [path.name for path in export(tokenizer, tempfile.mkdtemp(), to="sentencepiece").files]
    ['tokenizer.model', 'tokenizer.vocab']
    """
    writers: dict[ExportFormat, Callable[..., Export]] = {
        "hf": export_hf,
        "sentencepiece": export_sentencepiece,
        "llama": export_llama,
    }
    return writers[to](tokenizer, folder, force=force)


def export_hf(tokenizer: Tokenizer, folder: str | Path, *, force: bool = False) -> Export:
    """For `tokenizers` and `transformers`: `AutoTokenizer.from_pretrained(folder)` gives SentencePiece's ids.

    Also `GPTSw3Tokenizer` and others that read the SentencePiece model find it under the names that they look for.
    """
    contents = {
        "tokenizer.json": orjson.dumps(tokenizer_json(tokenizer)),
        # Not the class of any model: `LlamaTokenizer` and its like build merges of their own, with other ids.
        "tokenizer_config.json": _json(_config(tokenizer, "PreTrainedTokenizerFast")),
        "special_tokens_map.json": _json(_special_tokens(tokenizer)),
        "tokenizer.model": tokenizer.model_bytes,
        "spiece.model": tokenizer.model_bytes,
    }
    return _write(contents, folder, force=force, caveats=tuple(caveats(tokenizer)))


def export_sentencepiece(tokenizer: Tokenizer, folder: str | Path, *, force: bool = False) -> Export:
    """For SentencePiece itself: `tokenizer.model` and `tokenizer.vocab`."""
    contents = {"tokenizer.model": tokenizer.model_bytes, "tokenizer.vocab": tokenizer._vocabulary.vocab_text()}
    return _write(contents, folder, force=force)


def export_llama(tokenizer: Tokenizer, folder: str | Path, *, force: bool = False) -> Export:
    """For llama.cpp: what its `convert_hf_to_gguf.py` reads beside the weights of a model.

    The script does not see in the `.model` which pieces are user-defined. It takes them from `added_tokens.json`; what
    it finds among the `added_tokens_decoder` instead it makes control tokens, if they look like `<|python|>`.
    """
    symbols = {piece.text: piece.id for piece in tokenizer._meta_pieces if piece.type == "user_defined"}
    config = _config(tokenizer, "LlamaTokenizer")
    normalizer = tokenizer._specs.normalizer_spec
    contents = {
        "tokenizer.model": tokenizer.model_bytes,
        "tokenizer_config.json": _json(
            {**config, "legacy": True, "add_prefix_space": normalizer.add_dummy_prefix, "add_bos_token": False}
        ),
        "special_tokens_map.json": _json(_special_tokens(tokenizer)),
        "added_tokens.json": _json(symbols),
    }
    return _write(contents, folder, force=force)


def _config(tokenizer: Tokenizer, tokenizer_class: str) -> dict[str, Any]:
    special = special_pieces(tokenizer)
    return {
        "tokenizer_class": tokenizer_class,
        **_special_tokens(tokenizer),
        "added_tokens_decoder": {str(piece.id): added_token(piece) for piece in special},
        "clean_up_tokenization_spaces": False,
    }


def _special_tokens(tokenizer: Tokenizer) -> dict[str, Any]:
    """The special pieces by their roles; control symbols of the user's own have none."""
    spec = tokenizer._specs.trainer_spec
    texts = [piece.text for piece in special_pieces(tokenizer)]
    roles = {"bos": spec.bos_piece, "eos": spec.eos_piece, "pad": spec.pad_piece}
    named = {f"{role}_token": text for role, text in roles.items() if text in texts}
    unknown = next(piece.text for piece in tokenizer._meta_pieces if piece.type == "unknown")
    named["unk_token"] = unknown
    rest = [text for text in texts if text not in named.values()]
    return {**named, **({"additional_special_tokens": rest} if rest else {})}


def _json(content: Mapping[str, Any]) -> bytes:
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _write(contents: Mapping[str, bytes], folder: str | Path, *, force: bool, caveats: tuple[str, ...] = ()) -> Export:
    folder = Path(folder)
    changed = {name: data for name, data in contents.items() if not _is_there(folder / name, data)}
    prepare_output(folder, list(changed), force=force)
    write_together({folder / name: data for name, data in changed.items()})
    return Export(folder, tuple(folder / name for name in contents), caveats)


def _is_there(path: Path, data: bytes) -> bool:
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False
