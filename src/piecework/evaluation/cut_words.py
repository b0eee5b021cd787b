"""Words that tokenizers split differently, the most frequent first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from piecework.common.terms import CUT
from piecework.evaluation.tables import Table
from piecework.tokenizer.any_tokenizer import AnyTokenizer

__all__ = ["cut_words"]

MOST_TYPES = 5000
LISTED_WORDS = 25
# Stands before the word, so that tokenizers with a dummy prefix and those without one see the same context.
_BEFORE = "a "


def cut_words(
    tokenizers: Mapping[str, AnyTokenizer],
    words: Mapping[str, Counter[str]],
    *,
    limit: int = LISTED_WORDS,
) -> Table:
    """A row for each word and tokenizer: how the tokenizer splits the word. Words that all split alike have no row.

    `words` gives the count of each word by language. The most frequent `MOST_TYPES` are compared; at most `limit` of
    each language are listed.

    >>> import piecework as pw
    >>> large = pw.train(pw.count_words(["en ros är en ros"]), pw.Recipe(vocab_size=16))
    >>> both = {"small": large.resize(12), "large": large}
    >>> table = cut_words(both, {"sv": Counter({"ros": 2, "är": 1})})
    >>> [(row["word"], row["tokenizer"], row["cut"]) for row in table.rows()][:2]
    [('ros', 'small', 'r·os'), ('ros', 'large', 'ros')]
    """
    rows = []
    for language, counts in words.items():
        frequent = _most_frequent(counts)
        cuts = {name: _cuts(tokenizer, frequent) for name, tokenizer in tokenizers.items()}
        found = 0
        for index, word in enumerate(frequent):
            if len({parts[index] for parts in cuts.values()}) > 1:
                rows += [
                    (language, word, counts[word], name, CUT.join(parts[index]), len(parts[index]))
                    for name, parts in cuts.items()
                ]
                found += 1
                if found == limit:
                    break
    names = ["language", "word", "count", "tokenizer", "cut", "parts"]
    return Table.of(names, rows, title="Words that are split differently")


def _most_frequent(counts: Mapping[str, int]) -> list[str]:
    """The most frequent words; equally frequent ones in the order of their characters."""
    least = sorted(counts.values(), reverse=True)[:MOST_TYPES][-1:]
    candidates = [word for word, count in counts.items() if count >= least[0]]
    return sorted(candidates, key=lambda word: (-counts[word], word))[:MOST_TYPES]


def _cuts(tokenizer: AnyTokenizer, words: Sequence[str]) -> list[tuple[str, ...]]:
    """The parts of each word."""
    found = []
    for word, encoded in zip(words, tokenizer.tokens_batch([_BEFORE + word for word in words]), strict=True):
        start = len(_BEFORE)
        inside = {end - start for end in encoded.ends.tolist() if start < end < start + len(word)}
        cuts = [0, *sorted(inside), len(word)]
        found.append(tuple(word[left:right] for left, right in pairwise(cuts)))
    return found
