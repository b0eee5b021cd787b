"""Words that tokenizers do not cut alike, the most frequent first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from piecework.common.terms import CUT
from piecework.evaluation.tables import Table
from piecework.tokenizer.outside import OutsideTokenizer

__all__ = ["cut_words"]

MOST_TYPES = 5000
SHOWN_WORDS = 25
# Before the word, so that it stands in the middle of a sentence, where tokenizers with a prefix and those without one
# see the same.
_BEFORE = "a "


def cut_words(
    tokenizers: Mapping[str, OutsideTokenizer],
    words: Mapping[str, Counter[str]],
    *,
    shown: int = SHOWN_WORDS,
) -> Table:
    """A row for each word and tokenizer: how the word is cut, of words that are not cut alike by all.

    `words` tell how often each occurs in a language; the most frequent ones are looked at.

    >>> import piecework as pw
    >>> from piecework.tokenizer.outside_sentencepiece import SentencePieceBpe
    >>> large = pw.train(pw.count_words(["en ros är en ros"]), pw.Recipe(vocab_size=16))
    >>> both = {"small": SentencePieceBpe(large.resize(12)), "large": SentencePieceBpe(large)}
    >>> table = cut_words(both, {"sv": Counter({"ros": 2, "är": 1})})
    >>> [(row["word"], row["tokenizer"], row["cut"]) for row in table.rows()][:2]
    [('ros', 'small', 'r·os'), ('ros', 'large', 'ros')]
    """
    rows = []
    for language, counts in words.items():
        frequent = sorted(counts, key=lambda word: (-counts[word], word))[:MOST_TYPES]
        cuts = {name: _cuts(tokenizer, frequent) for name, tokenizer in tokenizers.items()}
        found = 0
        for place, word in enumerate(frequent):
            if len({parts[place] for parts in cuts.values()}) > 1:
                rows += [
                    (language, word, counts[word], name, CUT.join(parts[place]), len(parts[place]))
                    for name, parts in cuts.items()
                ]
                found += 1
                if found == shown:
                    break
    names = ["language", "word", "count", "tokenizer", "cut", "parts"]
    return Table.of(names, rows, title="Words that are not cut alike")


def _cuts(tokenizer: OutsideTokenizer, words: Sequence[str]) -> list[tuple[str, ...]]:
    """The parts of each word."""
    found = []
    for word, encoded in zip(words, tokenizer.encode_batch([_BEFORE + word for word in words]), strict=True):
        start = len(_BEFORE)
        inside = {place - start for place in encoded.ends if start < place < start + len(word)}
        ends = [0, *sorted(inside), len(word)]
        found.append(tuple(word[left:right] for left, right in pairwise(ends)))
    return found
