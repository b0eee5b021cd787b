"""The expected counts, computed in the obvious way: whole documents in memory, fractions, `collections.Counter`."""

import hashlib
import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet

WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass
class Reference:
    """Tables as counters. The last column of a row is its count; all other columns are its key."""

    train: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    eval: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    eval_plain: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    training_texts: set[str] = field(default_factory=set)
    evaluation_texts: set[str] = field(default_factory=set)
    copies: Counter[str] = field(default_factory=Counter)
    evaluated: Counter[str] = field(default_factory=Counter)


def reference_counts(
    documents: Mapping[str, Sequence[str]],
    *,
    seed: int = 1,
    train: Fraction,
    evaluation: Fraction,
    weights: Mapping[str, Fraction] | None = None,
    tokens: Mapping[str, str] | None = None,
) -> Reference:
    """The counts of documents by subset ("books_sv"), by the rules of design and documentation."""
    result = Reference()
    weight = {name: (weights or {}).get(name, Fraction(1)) for name in documents}
    reserved = max(weight[name] * evaluation for name in documents)
    for name, texts in documents.items():
        category, language = name.rsplit("_", 1)
        token = (tokens or {}).get(name, "")
        for text in texts:
            digest = hashlib.blake2b(text.encode(), digest_size=16, key=seed.to_bytes(8, "little")).digest()
            u = Fraction(int.from_bytes(digest[:8], "little"), 2**64)
            bucket = digest[15] % 32
            if u >= 1 - weight[name] * evaluation:
                result.evaluation_texts.add(text)
                result.evaluated[name] += 1
                for opens, unit in units(token + text):
                    result.eval[language, category, bucket, opens, unit] += 1
                for opens, unit in units(token + text.translate(WITHOUT_PUNCTUATION)):
                    result.eval_plain[language, category, bucket, opens, unit] += 1
                continue
            copies = 0
            while u < 1 - reserved and u + copies * (1 - reserved) < weight[name] * train:
                copies += 1
            if copies:
                result.training_texts.add(text)
                result.copies[name] += copies
                for word in words(token + text):
                    result.train[language, category, word] += copies
    return result


def words(text: str) -> list[str]:
    """The words of a text. A word that opens a line is unchanged; any other word has a ▁ for the space before it."""
    found = []
    for line in text.split("\n"):
        if line and "▅" not in line:
            first, *others = line.replace("▁", " ").split(" ")
            found += [first, *(f"▁{word}" for word in others)]
    return found


def units(text: str) -> list[tuple[bool, str]]:
    """Each run of spaces with the text up to the next space, and whether this unit opens the document.

    A unit with ▁ goes on until an ASCII letter or digit stands after its last ▁.
    """
    found: list[str] = []
    for part in re.findall(" +[^ ]*|[^ ]+", text):
        if found and re.search(r"▁[^0-9A-Za-z]*\Z", found[-1]):
            found[-1] += part
        else:
            found.append(part)
    return [(number == 0, unit) for number, unit in enumerate(found)]


def table_rows(path: Path) -> list[tuple[Any, ...]]:
    table = pyarrow.parquet.read_table(path)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def assert_same(folder: Path, expected: Reference) -> None:
    """Compare the tables in a folder `counts` with the reference, order included."""
    for name in ("train", "eval", "eval_plain"):
        rows = table_rows(folder / f"{name}.parquet")
        found = {row[:-1]: row[-1] for row in rows}
        assert len(found) == len(rows), "a key is there twice"
        wanted = dict(getattr(expected, name))
        # Not left to pytest, which would compare the tables as text for minutes.
        different = [key for key in found.keys() | wanted.keys() if found.get(key) != wanted.get(key)]
        assert not different, (name, [(key, found.get(key), wanted.get(key)) for key in different[:5]])
        assert found == wanted
        assert [row[:-1] for row in rows] == sorted(found, key=in_order), "not sorted"


def in_order(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(part.encode() if isinstance(part, str) else part for part in key)
