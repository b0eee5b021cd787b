"""Loads the tokenizers of well-known models by name, from the packages that carry them. Nothing is downloaded."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping

import orjson

from piecework.common.known_tokenizers import FoundTokenizer, find_known, known_tokenizer
from piecework.common.pre_tokenizer import PreTokenizer
from piecework.errors import InputError, ModelError
from piecework.tokenizer.any_tokenizer import AnyTokenizer
from piecework.tokenizer.byte_characters import bytes_of_characters
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.byte_level_files import parse_json, parse_ranks, read_pair, read_tekken
from piecework.tokenizer.byte_level_json import UnsupportedPartsError, read_json
from piecework.tokenizer.byte_level_model import ByteLevelModel

__all__ = ["load_known"]


def load_known(name: str) -> AnyTokenizer | None:
    """The well-known tokenizer of that name; None if it is not one of them.

    >>> load_known("no such tokenizer") is None
    True
    """
    known = known_tokenizer(name)
    return None if known is None else _load(find_known(known))


def _load(found: FoundTokenizer) -> AnyTokenizer:
    first, form = found.files[0], found.carrier.format
    data = first.read()
    if form == "sentencepiece":
        from piecework.tokenizer.outside_sentencepiece import load_model

        return load_model(data, source=first.source)
    if form == "tokenizer.json":
        try:
            model = read_json(parse_json(data, first.source), source=first.source)
        except UnsupportedPartsError:
            from piecework.tokenizer.outside_huggingface import load_json

            return load_json(data, source=first.source)
    elif form == "tekken.json":
        model = read_tekken(parse_json(data, first.source), source=first.source)
    elif form == "gpt2":
        model = read_pair((data, first.source), (found.files[1].read(), found.files[1].source))
    else:
        model = _ranks_model(found, _ranks(found, data))
    return ByteLevelTokenizer(model, source=first.source)


def _ranks_model(found: FoundTokenizer, ranks: Mapping[bytes, int]) -> ByteLevelModel:
    """Ranks with the pattern and the special tokens of the model. Ids between the special tokens may be unused."""
    special = found.known.special_tokens
    tokens = [b""] * (1 + max([*ranks.values(), *special.values()]))
    for token, rank in ranks.items():
        tokens[rank] = token
    return ByteLevelModel(tokens, PreTokenizer(found.known.pre_tokenizer), special, whole_pre_tokens=True)


def _ranks(found: FoundTokenizer, data: bytes) -> Mapping[bytes, int]:
    readers = {"js-tiktoken": js_tiktoken_ranks, "llama3-js": llama3_ranks}
    reader = readers.get(found.carrier.format)
    if reader is None:
        return parse_ranks(data, found.source)
    try:
        return reader(data.decode())
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise ModelError(f"{found.source}: not a file of {found.carrier.package} in the known form: {error}") from error


def js_tiktoken_ranks(source: str) -> dict[bytes, int]:
    """The ranks in a module of js-tiktoken: lines of `! FIRST_RANK TOKEN...`, with tokens in base64."""
    content = orjson.loads(source[source.index("{") : source.rindex("}") + 1])
    ranks: dict[bytes, int] = {}
    for line in content["bpe_ranks"].split("\n"):
        _, first, *tokens = line.split(" ")
        ranks |= {base64.b64decode(token): int(first) + number for number, token in enumerate(tokens)}
    return ranks


def llama3_ranks(source: str) -> dict[bytes, int]:
    """The ranks in the module of llama3-tokenizer-js: lines of tokens, written with characters for bytes."""
    match = re.search(r'llama_vocab_base64 = "([^"]*)"', source)
    if match is None:
        raise InputError("it has no llama_vocab_base64")
    tokens = base64.b64decode(match[1]).decode().split("\n")
    return {bytes_of_characters(token): number for number, token in enumerate(tokens)}
