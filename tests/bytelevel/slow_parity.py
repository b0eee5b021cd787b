"""Parity-aware BPE, slow and obvious: a second oracle beside Hugging Face's ParityBpeTrainer."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

Words = Mapping[tuple[str, ...], int]


def slow_parity_merges(
    training: Sequence[Words], development: Sequence[Words], *, merges: int, min_frequency: int = 0
) -> list[tuple[str, str]]:
    """The merges: each is the most frequent pair of the language whose development text has most tokens.

    If lengths are equal, the first language counts. If frequencies are equal, the greater pair of strings wins.
    """
    train, dev = [dict(each) for each in training], [dict(each) for each in development]
    found: list[tuple[str, str]] = []
    exhausted: set[int] = set()
    while len(found) < merges and len(exhausted) < len(train):
        lengths = [sum(len(word) * count for word, count in each.items()) for each in dev]
        language = min(set(range(len(train))) - exhausted, key=lambda i: (-lengths[i], i))
        pairs: Counter[tuple[str, str]] = Counter()
        for word, count in train[language].items():
            for pair in pairwise(word):
                pairs[pair] += count
        best = max(pairs, key=lambda pair: (pairs[pair], pair), default=None)
        if best is None or pairs[best] < max(min_frequency, 1):
            exhausted.add(language)
            continue
        found.append(best)
        train, dev = ([_merged(each, best) for each in texts] for texts in (train, dev))
    return found


def _merged(words: Words, pair: tuple[str, str]) -> dict[tuple[str, ...], int]:
    result: dict[tuple[str, ...], int] = {}
    for word, count in words.items():
        symbols: list[str] = []
        position = 0
        while position < len(word):
            if word[position : position + 2] == pair:
                symbols.append(pair[0] + pair[1])
                position += 2
            else:
                symbols.append(word[position])
                position += 1
        result[tuple(symbols)] = result.get(tuple(symbols), 0) + count
    return result
