"""Reads byte-level tokenizers from files of any kind, and writes `.tiktoken` files."""

from __future__ import annotations

import base64
import binascii
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from piecework.common.pre_tokenizer import PreTokenizer
from piecework.common.recorded_files import read_recorded
from piecework.errors import InputError, ModelError
from piecework.tokenizer.byte_level_json import read_json
from piecework.tokenizer.byte_level_model import ByteLevelModel, unused_ids
from piecework.tokenizer.byte_level_ranks import ranks_problem

__all__ = [
    "SETTINGS_SUFFIX",
    "load_model",
    "parse_json",
    "parse_ranks",
    "ranks_bytes",
    "ranks_settings",
    "read_pair",
    "read_ranks",
    "read_tekken",
]

# For files that have no pattern: parts of their names, and the pre-tokenizer to use.
_NAMED = {
    "r50k": "gpt2",
    "p50k": "gpt2",
    "gpt2": "gpt2",
    "cl100k": "cl100k",
    "o200k": "o200k",
    "qwen3_5": "qwen3.5",
    "qwen3_6": "qwen3.5",
    "qwen": "qwen2",
}
_DEFAULT = "cl100k"
SETTINGS_SUFFIX = ".json"
"""Added to the name of a `.tiktoken` file: the file with its pattern and special tokens."""
_PAIRS = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))
# Tekken's first files have no special tokens; these come first, and placeholders follow.
_TEKKEN_SPECIAL = (
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]"),
    *("[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]"),
    *("[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"),
)


def load_model(
    path: Path,
    *,
    pre_tokenizer: str | PreTokenizer | None = None,
    special_tokens: Mapping[str, int] | None = None,
) -> ByteLevelModel:
    """The tokenizer in a file or folder."""
    given = PreTokenizer(pre_tokenizer) if isinstance(pre_tokenizer, str) else pre_tokenizer
    path = _find(path) if path.is_dir() else path
    data = _read(path)
    for vocabulary, merges in _PAIRS:
        if path.name == vocabulary:
            merges_path = path.parent / merges
            return read_pair((data, str(path)), (_read(merges_path), str(merges_path)), pre_tokenizer=given)
    if data[:1] != b"{":
        if given is None and special_tokens is None and (settings := _find_settings(path)) is not None:
            return _with_settings(parse_ranks(data, str(path)), settings)
        return read_ranks(data, source=str(path), pre_tokenizer=given, special_tokens=special_tokens)
    if given or special_tokens:
        raise InputError(f"{path}: the file has its own pre-tokenizer and special tokens")
    content = parse_json(data, str(path))
    if isinstance(content.get("model"), dict):
        return read_json(content, source=str(path))
    if isinstance(content.get("config"), dict) and "vocab" in content:
        return read_tekken(content, source=str(path))
    raise InputError(f'{path}: neither a tokenizer.json (it has no "model") nor a tekken.json (no "config", "vocab")')


def read_ranks(
    data: bytes,
    *,
    source: str,
    pre_tokenizer: PreTokenizer | None = None,
    special_tokens: Mapping[str, int] | None = None,
) -> ByteLevelModel:
    """The tokenizer in a `.tiktoken` file. The file's name tells the pre-tokenizer; otherwise it is cl100k's."""
    ranks = parse_ranks(data, source)
    stem = Path(source).name.lower()
    note = ""
    if pre_tokenizer is None:
        name = next((known for part, known in _NAMED.items() if part in stem), None)
        pre_tokenizer = PreTokenizer(name or _DEFAULT)
        if name is None:
            note = f"the file has no pattern to split text; the pattern of {_DEFAULT} is used"
    special = dict(special_tokens or {})
    if not special and "p50k" in stem:
        special = {"<|endoftext|>": 50_256}
    taken = set(special.values())
    if negative := next((token for token, number in special.items() if number < 0), None):
        raise InputError(f"{source}: the special token {negative!r} has the id {special[negative]}; ids start at 0")
    if clash := sorted(taken.intersection(ranks.values())):
        raise InputError(f"{source}: rank {clash[0]} is that of a token and of a special token")
    last = max(ranks.values())
    known = taken.union(ranks.values())
    gap = next(number for number in itertools.count() if number not in known)
    if gap < last:
        raise InputError(
            f"{source}: no token has rank {gap}, but ranks go up to {last}; if it is that of a special token, give"
            f' special_tokens={{"<|name|>": {gap}}}'
        )
    # Ids between the last rank and special tokens are unused.
    tokens = unused_ids(1 + max(known), named=len(known), source=source)
    for token, rank in ranks.items():
        tokens[rank] = token
    return ByteLevelModel(tokens, pre_tokenizer, special, whole_pre_tokens=True, note=note)


def ranks_settings(model: ByteLevelModel) -> bytes:
    """The file beside a `.tiktoken` file, with what the latter cannot hold: the pattern and the special tokens."""
    if len(model.pre_tokenizer.patterns) > 1:
        raise ModelError(f"tiktoken takes one pattern, and {model.pre_tokenizer.name} has several, one after the other")
    content = {
        "pat_str": model.pre_tokenizer.patterns[0],
        "special_tokens": dict(model.special_tokens),
        "added_tokens": dict(model.added_tokens),
        "vocab_size": len(model.tokens),
        "ignore_merges": model.whole_pre_tokens,
    }
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _find_settings(path: Path) -> Path | None:
    beside = path.with_name(path.name + SETTINGS_SUFFIX)
    return beside if beside.is_file() else None


def _with_settings(ranks: Mapping[bytes, int], path: Path) -> ByteLevelModel:
    """Ranks with the settings beside them. Ids that neither has are unused."""
    content = parse_json(_read(path), str(path))
    try:
        special = {str(token): int(number) for token, number in content["special_tokens"].items()}
        added = {str(token): int(number) for token, number in content["added_tokens"].items()}
        size, pattern, whole = int(content["vocab_size"]), str(content["pat_str"]), bool(content["ignore_merges"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: not the settings of a .tiktoken file: {type(error).__name__} at {error}") from error
    taken = [*special.values(), *added.values(), *ranks.values()]
    if len(set(taken)) < len(taken) or min(taken) < 0 or max(taken) >= size:
        raise InputError(f"{path}: ids must be 0 to {size - 1:,}, none of them twice, also among the ranks")
    tokens = unused_ids(size, named=len(taken), source=str(path))
    for token, rank in ranks.items():
        tokens[rank] = token
    return ByteLevelModel(tokens, PreTokenizer.from_patterns(pattern), special, added, whole_pre_tokens=whole)


def parse_ranks(data: bytes, source: str) -> dict[bytes, int]:
    """The tokens of a `.tiktoken` file with their ranks."""
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            token, rank = line.split()
            decoded = base64.b64decode(token, validate=True)
            if decoded in ranks:
                raise InputError(f"{source}:{number}: the token {decoded!r} is there twice")
            ranks[decoded] = int(rank)
            if ranks[decoded] < 0:
                raise ValueError("ranks start at 0")
        except (ValueError, binascii.Error) as error:
            start = line[:40].decode("utf-8", "replace")
            raise InputError(f"{source}:{number}: {start!r} is not a token in base64 and its rank") from error
    missing = [byte for byte in range(256) if bytes([byte]) not in ranks]
    if missing:
        raise InputError(f"{source}: {len(missing)} of the 256 bytes have no rank (0x{missing[0]:02X} first)")
    if len(set(ranks.values())) < len(ranks):
        raise InputError(f"{source}: two tokens have the same rank")
    return ranks


def ranks_bytes(model: ByteLevelModel) -> bytes:
    """The `.tiktoken` file. tiktoken merges by rank alone; a model is refused if this gives other ids."""
    if problem := ranks_problem(model):
        raise ModelError(problem)
    lines = (b"%s %d\n" % (base64.b64encode(token), number) for number, token in enumerate(model.tokens) if token)
    return b"".join(lines)


def read_tekken(content: Mapping[str, Any], *, source: str) -> ByteLevelModel:
    """The tokenizer in a `tekken.json`: special tokens take the first ids, and ranks come after them."""
    try:
        config = content["config"]
        special_count = int(config["default_num_special_tokens"])
        size = int(config["default_vocab_size"]) - special_count
        entries = [(int(entry["rank"]), base64.b64decode(entry["token_bytes"])) for entry in content["vocab"][:size]]
        named = {int(token["rank"]): str(token["token_str"]) for token in content.get("special_tokens") or ()}
        pattern = str(config["pattern"])
        if special_count < 0:
            raise ValueError(f"default_num_special_tokens {special_count}")
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{source}: not a tekken.json: {type(error).__name__} at {error}") from error
    if len(entries) != size or [rank for rank, _ in entries] != list(range(size)):
        raise InputError(f"{source}: the ranks of a tekken.json must be 0 to {size - 1:,}, in order")
    named = named or dict(enumerate(_TEKKEN_SPECIAL[:special_count]))
    tokens = unused_ids(special_count, named=len(named), source=source) + [token for _, token in entries]
    special = {named.get(number, f"<SPECIAL_{number}>"): number for number in range(special_count)}
    return ByteLevelModel(tokens, PreTokenizer.from_patterns(pattern), special, whole_pre_tokens=True)


def read_pair(
    vocabulary_file: tuple[bytes, str], merges_file: tuple[bytes, str], *, pre_tokenizer: PreTokenizer | None = None
) -> ByteLevelModel:
    """GPT-2's two files, each as its content and its path. A token that no merge makes is a special one."""
    vocabulary = parse_json(*vocabulary_file)
    try:
        lines = merges_file[0].decode().split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{merges_file[1]}: not valid UTF-8") from error
    merges = [line.split(" ") for line in lines if line.strip() and not line.startswith("#version")]
    if broken := next((merge for merge in merges if len(merge) != 2), None):
        raise InputError(f"{merges_file[1]}: {' '.join(broken)!r} is not two tokens")
    made = {left + right for left, right in merges}
    special = [text for text in vocabulary if len(text) > 1 and text not in made]
    content = {
        "model": {"vocab": vocabulary, "merges": merges},
        "added_tokens": [{"content": text, "id": vocabulary[text], "special": True} for text in special],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
    }
    model = read_json(content, source=vocabulary_file[1])
    return model if pre_tokenizer is None else ByteLevelModel(**{**vars(model), "pre_tokenizer": pre_tokenizer})


def _find(folder: Path) -> Path:
    for pattern in ("tokenizer.json", "tekken*.json", "*.tiktoken", *(vocabulary for vocabulary, _ in _PAIRS)):
        if found := sorted(folder.glob(pattern)):
            return found[0]
    raise InputError(
        f"{folder}: no byte-level tokenizer in this folder; looked for tokenizer.json, tekken*.json, *.tiktoken,"
        " vocab.json with merges.txt, encoder.json with vocab.bpe"
    )


def _read(path: Path) -> bytes:
    try:
        data = read_recorded(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    if not data:
        raise InputError(f"{path}: the file is empty")
    return data


def parse_json(data: bytes, source: str) -> dict[str, Any]:
    """The content of a JSON file, which must be an object."""
    try:
        content = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{source}: not valid JSON: {error}") from error
    if not isinstance(content, dict):
        raise InputError(f"{source}: not a JSON object")
    return content
