"""Text to compare tokenizers on: distinct texts with their counts, and the totals of a tokenizer on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from piecework.corpus.sampling import BUCKETS, Sampler
from piecework.errors import InputError
from piecework.evaluation.characters import count_characters
from piecework.evaluation.metrics import Array
from piecework.evaluation.word_spacing import unspaced_share
from piecework.tokenizer.any_tokenizer import AnyTokenizer
from piecework.tokenizer.pieces import SPACE

__all__ = ["TOTALS", "TextSample", "bucket_sums", "document_sample", "unit_sample"]

TOTALS = ("tokens", "split_words", "unknown", "words", "characters", "bytes")
_BATCH_CHARACTERS = 1 << 18


@dataclass(frozen=True, slots=True)
class TextSample:
    """Distinct texts, and how often each occurs in each bucket.

    Row i says that `texts[text_index[i]]` occurs `counts[i]` times in bucket `buckets[i]`.
    """

    texts: list[str]
    skip: Array
    """For each text, the characters at its start that are context and are not counted."""
    text_index: Array
    buckets: Array
    counts: Array

    def text_counts(self) -> Array:
        """How often each text occurs."""
        return np.bincount(self.text_index, self.counts, len(self.texts)).astype(np.int64)

    def spaced(self) -> list[str]:
        """The texts with a space in place of ▁, to count their words and bytes."""
        return [text.replace(SPACE, " ") for text in self.texts]

    def words(self) -> Counter[str]:
        """How often each whitespace word occurs."""
        words: Counter[str] = Counter()
        for text, skip, count in zip(self.spaced(), self.skip.tolist(), self.text_counts().tolist(), strict=True):
            found = text[skip:].split()
            if count == 1:
                words.update(found)  # three times as fast as adding one by one
            else:
                for word in found:
                    words[word] += count
        return words

    def unspaced_share(self) -> float:
        """The share of characters, spaces aside, that are of scripts written without spaces."""
        texts = [text.encode("utf-8", "replace").decode() for text in self.texts]
        rows = pa.record_batch({"unit": pa.array(texts, pa.large_string()), "count": pa.array(self.text_counts())})
        return unspaced_share(count_characters([("", rows)])[""])


def document_sample(documents: Sequence[str]) -> TextSample:
    """The documents, each in the bucket of a study with seed 1."""
    sampler = Sampler(seed=1, train=Fraction(0), evaluation=Fraction(0), weights={})
    buckets = [sampler.bucket(text.encode("utf-8", "surrogatepass")) for text in documents]
    one = np.ones(len(documents), np.int64)
    return TextSample(list(documents), np.zeros_like(one), np.arange(len(documents)), np.array(buckets), one)


def unit_sample(table: pa.Table) -> TextSample:
    """Every unit of the counts. A unit that does not open its document is encoded after a one-letter word."""
    if "opens" not in table.column_names:
        raise InputError(
            "these are counts of pre-tokens, on which tokenizers of other kinds cannot be compared; use documents"
        )
    units = [str(unit) for unit in table["unit"].to_pylist()]
    opens = table["opens"].to_pylist()
    in_context = [unit if is_start else f"a{unit}" for unit, is_start in zip(units, opens, strict=True)]
    numbers: dict[str, int] = {}
    text_index = [numbers.setdefault(text, len(numbers)) for text in in_context]
    skip = np.zeros(len(numbers), np.int64)
    skip[text_index] = [not is_start for is_start in opens]
    buckets, counts = (table[name].to_numpy().astype(np.int64) for name in ("bucket", "count"))
    return TextSample(list(numbers), skip, np.array(text_index, np.int64), buckets, counts)


def bucket_sums(
    tokenizers: Mapping[str, AnyTokenizer], sample: TextSample, step: Callable[[int], None]
) -> dict[str, Array]:
    """`TOTALS` of each bucket, for each tokenizer."""
    totals = {name: np.zeros((len(sample.texts), len(TOTALS))) for name in tokenizers}
    spaced = sample.spaced()
    for start, batch in _batches(sample.texts):
        where = slice(start, start + len(batch))
        words = _Words(spaced[where], sample.skip[where])
        for name, tokenizer in tokenizers.items():
            totals[name][where] = _totals(tokenizer, batch, words)
            step(len(batch))
    sums = {name: np.zeros((BUCKETS, len(TOTALS))) for name in tokenizers}
    for name, each in totals.items():
        np.add.at(sums[name], sample.buckets, each[sample.text_index] * sample.counts[:, np.newaxis])
    return sums


def _batches(texts: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """The texts in batches, each with the index of its first text."""
    start = size = 0
    for number, text in enumerate(texts):
        size += len(text)
        if size >= _BATCH_CHARACTERS:
            yield start, texts[start : number + 1]
            start, size = number + 1, 0
    if start < len(texts):
        yield start, texts[start:]


# As many code points as it takes to hold all whitespace, and one more that stands for the rest.
_IS_SPACE = np.array([chr(code).isspace() for code in range(0x3002)])


def _word_spans(text: str) -> tuple[Array, Array]:
    """The starts and the ends of the whitespace words of a text, in characters.

    >>> starts, ends = _word_spans(" två ord\u3000där")
    >>> starts.tolist(), ends.tolist()
    ([1, 5, 9], [4, 8, 12])
    """
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    in_word = np.zeros(len(codes) + 2, np.int8)
    in_word[1:-1] = ~_IS_SPACE[np.minimum(codes, len(_IS_SPACE) - 1)]
    steps = np.diff(in_word)
    return np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)


class _Words:
    """The words of a batch of texts, from character `skip` of each on. Where `skip` is not 0, that is a space.

    All texts are joined with a line break between them, so that one search finds the tokens of every word.
    """

    def __init__(self, spaced: Sequence[str], skip: Array) -> None:
        self.skip = skip
        self.lengths = np.array([len(text) for text in spaced])
        self.bytes = np.array([len(text.encode("utf-8", "surrogatepass")) for text in spaced]) - skip
        self.offsets = np.concatenate(([0], np.cumsum(self.lengths + 1)[:-1]))
        """Where each text starts."""
        starts, ends = _word_spans("\n".join(spaced))
        text_index = np.searchsorted(self.offsets, starts, "right") - 1
        counts = starts >= (self.offsets + skip)[text_index]
        self.starts, self.ends, self.text_index = starts[counts], ends[counts], text_index[counts]


def _totals(tokenizer: AnyTokenizer, texts: Sequence[str], words: _Words) -> Array:
    """`TOTALS` of each text."""
    encoded = tokenizer.tokens_batch(texts)
    token_text = np.repeat(np.arange(len(texts)), [len(each.ids) for each in encoded])
    ids, starts, ends = (
        np.concatenate([getattr(each, name).astype(np.int64) for each in encoded]) for name in ("ids", "starts", "ends")
    )
    skip, offset = words.skip[token_text], words.offsets[token_text]
    counts = (skip == 0) | (ends > skip)
    starts, ends = starts + offset, ends + offset
    # The tokens of a word end after its start and start before its end. Offsets are in order, except where a runtime
    # decomposes characters and sorts their parts.
    first = np.searchsorted(np.maximum.accumulate(ends), words.starts, "right")
    last = np.searchsorted(np.maximum.accumulate(starts), words.ends, "left")

    def per_text(text_index: Array) -> Array:
        return np.bincount(text_index, minlength=len(texts))

    unknown = np.isin(ids, list(tokenizer.unknown_ids))
    totals = (
        per_text(token_text[counts]),
        per_text(words.text_index[last - first > 1]),
        per_text(token_text[counts & unknown]),
        per_text(words.text_index),
        words.lengths - words.skip,
        words.bytes,
    )
    return np.stack(totals, axis=1).astype(float)
