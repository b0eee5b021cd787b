"""Reads and writes byte-level tokenizers as Hugging Face's `tokenizer.json`, in the bytes of `tokenizers`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from piecework.common.pre_tokenizer import PreTokenizer
from piecework.errors import InputError, ModelError, RecipeError
from piecework.tokenizer.byte_characters import byte_by_character, bytes_of_characters, characters_of_bytes
from piecework.tokenizer.byte_level_model import ByteLevelModel, Merge, unused_ids
from piecework.tokenizer.byte_level_ranks import merges_of

__all__ = ["UnsupportedPartsError", "config_bytes", "json_bytes", "read_json"]


_KEPT_PARTS = ("truncation", "padding", "post_processor", "decoder")
"""Parts that change no id of a text. `encode` gives the ids of the text, without those that a post-processor adds."""


class UnsupportedPartsError(ModelError):
    """A file has parts that Piecework does not run itself; the message names each."""


def json_bytes(model: ByteLevelModel) -> bytes:
    """The file that `Tokenizer.save` of `tokenizers` would write. Ranks become the merges that follow from them."""
    merges = merges_of(model)
    texts = _vocabulary_texts(model)
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added_tokens(model),
        "normalizer": None,
        "pre_tokenizer": _pre_tokenizer(model.pre_tokenizer),
        "post_processor": None,
        "decoder": _DECODER,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": model.whole_pre_tokens,
            "vocab": {text: number for number, text in enumerate(texts) if text},
            "merges": [[texts[left], texts[right]] for left, right, _ in merges],
        },
        **model.file_parts,  # replaces values above; the order of the keys stays
    }
    return orjson.dumps(content, option=orjson.OPT_INDENT_2)


def config_bytes(model: ByteLevelModel) -> bytes:
    """The `tokenizer_config.json` with which `transformers.AutoTokenizer` loads the folder."""
    content = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "added_tokens_decoder": {
            str(token["id"]): {name: value for name, value in token.items() if name != "id"}
            for token in _added_tokens(model)
        },
        "clean_up_tokenization_spaces": False,
    }
    if model.special_tokens:
        content["additional_special_tokens"] = list(model.special_tokens)
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def read_json(content: Mapping[str, Any], *, source: str) -> ByteLevelModel:
    """The tokenizer in the content of a `tokenizer.json`; `UnsupportedPartsError` names what is not supported."""
    try:
        return _read_json(content, source)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{source}: not a tokenizer.json: {type(error).__name__}: {error}") from error


def _read_json(content: Mapping[str, Any], source: str) -> ByteLevelModel:
    problems = list(_problems(content))
    pre_tokenizer = None
    try:
        pre_tokenizer = _read_pre_tokenizer(content.get("pre_tokenizer"))
    except InputError as error:
        problems.append(f"pre_tokenizer: {error}")
    except RecipeError as error:
        raise ModelError(f"{source}: pre_tokenizer: {error}") from error
    if problems or pre_tokenizer is None:
        raise UnsupportedPartsError(f"{source}: not supported: " + "; ".join(problems))
    vocabulary: dict[str, int] = content["model"].get("vocab")
    if not isinstance(vocabulary, dict) or not isinstance(content["model"].get("merges"), list):
        raise ModelError(f"{source}: the model has no vocab, or no merges")
    added = [token for token in content.get("added_tokens") or [] if token["content"]]  # tokenizers ignores empty ones
    if wrong := [token["content"] for token in added if not isinstance(token["content"], str)]:
        raise TypeError(f"the added token {wrong[0]!r} is no text")
    special = {token["content"]: token["id"] for token in added if token.get("special")}
    others = {token["content"]: token["id"] for token in added if not token.get("special")}
    for text, number in (*vocabulary.items(), *special.items(), *others.items()):
        if type(number) is not int or number < 0:
            raise ModelError(f"{source}: the id of {text!r} is {number!r}; ids are whole numbers from 0 on")
    ids = {*vocabulary.values(), *special.values(), *others.values()}
    tokens = unused_ids(1 + max(ids, default=-1), named=len(ids), source=source)
    merges = _read_merges(content["model"], vocabulary, source)
    made = {merged for _, _, merged in merges}
    table = byte_by_character()
    for text, number in vocabulary.items():
        if (text in special or text in others) and number not in made and text not in table:
            continue
        if tokens[number]:
            raise ModelError(
                f"{source}: {characters_of_bytes(tokens[number])!r} and {text!r} have the same id {number}"
            )
        try:
            tokens[number] = bytes_of_characters(text)
        except KeyError as error:
            raise ModelError(
                f"{source}: the token {text!r} has a character that stands for no byte: {error.args[0]!r}"
            ) from error
    whole = bool(content["model"].get("ignore_merges"))
    usual = {"decoder": _DECODER}
    parts = {name: content[name] for name in _KEPT_PARTS if content.get(name) not in (None, usual.get(name))}
    return ByteLevelModel(tokens, pre_tokenizer, special, others, merges, whole, file_parts=parts)


def _vocabulary_texts(model: ByteLevelModel) -> list[str]:
    texts = [characters_of_bytes(token) for token in model.tokens]
    for added in (model.special_tokens, model.added_tokens):
        for text, number in added.items():
            if not texts[number]:
                texts[number] = text
    return texts


def _added_tokens(model: ByteLevelModel) -> list[dict[str, Any]]:
    added = [(number, text, True) for text, number in model.special_tokens.items()]
    added += [(number, text, False) for text, number in model.added_tokens.items()]
    return [
        {
            "id": number,
            "content": text,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": not special,
            "special": special,
        }
        for number, text, special in sorted(added)
    ]


def _byte_level(*, use_regex: bool, add_prefix_space: bool = False) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": True, "use_regex": use_regex}


_DECODER = _byte_level(use_regex=True, add_prefix_space=True)


def _pre_tokenizer(pre_tokenizer: PreTokenizer) -> dict[str, Any]:
    if pre_tokenizer == PreTokenizer("gpt2"):
        return _byte_level(use_regex=True)
    splits = [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        for pattern in pre_tokenizer.patterns
    ]
    return {"type": "Sequence", "pretokenizers": [*splits, _byte_level(use_regex=False)]}


def _problems(content: Mapping[str, Any]) -> Iterator[str]:
    """The features of the tokenizer that Piecework does not have."""
    model = content["model"]
    if model.get("type", "BPE") != "BPE":
        yield f"model.type {model['type']}"
    for name in ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback"):
        if model.get(name):
            yield f"model.{name} = {model[name]!r}"
    normalizer = content.get("normalizer")
    if normalizer and not (normalizer.get("type") == "Sequence" and not normalizer.get("normalizers")):
        yield f"normalizer {', '.join(_types(normalizer, 'normalizers'))}"
    for token in content.get("added_tokens") or ():
        for name in ("single_word", "lstrip", "rstrip"):
            if token.get(name):
                yield f"added_tokens: {name} of {token['content']!r}"
    yield from _other_ids(content)
    decoder = content.get("decoder")
    if decoder and (types := _types(decoder, "decoders")) != ["ByteLevel"]:
        yield f"decoder {', '.join(types)}"


def _types(part: Mapping[str, Any], steps: str) -> list[str]:
    """The type of a part, or the types of its steps."""
    return [str(each.get("type")) for each in (part.get(steps, []) if part.get("type") == "Sequence" else [part])]


def _other_ids(content: Mapping[str, Any]) -> Iterator[str]:
    """Added tokens whose id in the file is not the one that `tokenizers` gives them when it reads the file.

    If the vocabulary has the token, `tokenizers` takes its id there. It numbers the other added tokens after the
    vocabulary, without gaps.
    """
    vocabulary = content["model"].get("vocab")
    if not isinstance(vocabulary, dict):
        return
    given: dict[str, int] = {}
    for token in content.get("added_tokens") or ():
        if not (text := token["content"]) or text in given:
            continue
        given[text] = vocabulary.get(text, max(len(vocabulary), 1 + max(given.values(), default=-1)))
        if given[text] != token["id"]:
            yield f"added_tokens: the id {token['id']} of {text!r}, to which tokenizers gives {given[text]}"


def _read_pre_tokenizer(part: Mapping[str, Any] | None) -> PreTokenizer:
    if not part:
        raise InputError("none, so it is not byte-level")
    steps = part.get("pretokenizers", []) if part.get("type") == "Sequence" else [part]
    if not steps or steps[-1].get("type") != "ByteLevel":
        names = ", ".join(str(step.get("type")) for step in steps)
        raise InputError(f"{names}; the last must be ByteLevel")
    *splits, byte_level = steps
    if byte_level.get("add_prefix_space"):
        raise InputError("ByteLevel with add_prefix_space = true")
    if byte_level.get("use_regex", True):
        if splits:
            raise InputError("ByteLevel with use_regex = true after other steps")
        return PreTokenizer("gpt2")
    if not splits:
        raise InputError("ByteLevel with use_regex = false alone, which cuts nothing")
    found = PreTokenizer.from_patterns(*map(_read_pattern, splits))
    if not found.is_native and splits[0].get("invert"):
        raise InputError("Split with behavior Removed, invert True, which loses what an unknown pattern leaves out")
    return found


def _read_pattern(step: Mapping[str, Any]) -> str:
    if step.get("type") == "Digits" and step.get("individual_digits"):
        return r"\p{N}"
    if step.get("type") != "Split":
        raise InputError(str(step.get("type")))
    pattern = step.get("pattern", {}).get("Regex")
    # If the pattern covers every text, as known ones do, keeping its matches is the same as removing what is between.
    how = (step.get("behavior"), bool(step.get("invert")))
    if pattern is None or how not in (("Isolated", False), ("Removed", True)):
        raise InputError(f"Split with behavior {how[0]}, invert {how[1]}, pattern {step.get('pattern')}")
    return str(pattern)


def _read_merges(model: Mapping[str, Any], vocabulary: Mapping[str, int], source: str) -> list[Merge]:
    merges: list[Merge] = []
    for rank, merge in enumerate(model["merges"]):
        try:
            left, right = merge.split(" ") if isinstance(merge, str) else merge
            merges.append((vocabulary[left], vocabulary[right], vocabulary[left + right]))
        except (TypeError, ValueError) as error:
            raise ModelError(f"{source}: merge {rank}: {merge!r} is not two tokens") from error
        except KeyError as error:
            raise ModelError(f"{source}: merge {rank}: {error.args[0]!r} is not in the vocabulary") from error
    return merges
