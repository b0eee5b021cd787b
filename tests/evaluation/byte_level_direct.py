"""The metrics' definitions for byte-level tokenizers applied directly: whole documents encoded by `tokenizers`."""

import json
import re
from collections.abc import Iterable

from tokenizers import Tokenizer

import piecework as pw
from evaluation.direct import SIZE_TOTALS, Direct

SPACE = "Ġ"


def count_byte_level_directly(tokenizer: pw.ByteLevelTokenizer, texts: Iterable[str]) -> Direct:
    """Token by token, in plain Python. A token is written with a character for each byte, and a space as Ġ."""
    content = json.loads(tokenizer.json_bytes)
    # Here a special token within a text is plain text.
    hf = Tokenizer.from_str(json.dumps({**content, "added_tokens": []}))
    found = Direct()
    totals = found.totals
    totals.update(dict.fromkeys((*SIZE_TOTALS, "unknown", "byte_tokens", "partial", "words", "characters", "bytes"), 0))
    for text in texts:
        encoded = hf.encode(text, add_special_tokens=False)
        tokens = encoded.tokens
        data = text.encode()
        found.frequencies.update(encoded.ids)
        totals["tokens"] += len(tokens)
        totals["characters"] += len(text)
        totals["bytes"] += len(data)
        owners: list[int] = []
        for number, token in enumerate(tokens):
            part = data[len(owners) : len(owners) + len(token)]
            owners += [number] * len(token)
            totals["partial"] += not is_whole(part)
            if token.startswith(SPACE):
                totals["starts"] += 1
                totals["continued"] += number + 1 < len(tokens) and not tokens[number + 1].startswith(SPACE)
        assert len(owners) == len(data)
        for word in re.finditer(r"\S+", text):
            start, end = (len(text[:at].encode()) for at in word.span())
            totals["words"] += 1
            totals["split_words"] += len(set(owners[start:end])) > 1
        for _, (start, end) in hf.pre_tokenizer.pre_tokenize_str(text):
            unit = text[start:end]
            if unit.startswith(" ") and unit.split() == [unit[1:]] and text[end : end + 1] in ("", " "):
                found.types.add(unit)
    totals["byte_tokens"] = totals["partial"]
    found.single_types = {unit for unit in found.types if len(hf.encode(unit).ids) == 1}
    return found


def is_whole(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True
