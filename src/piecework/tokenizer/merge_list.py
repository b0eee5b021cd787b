"""The merges of a vocabulary as a ranked list of pairs, which is how runtimes other than SentencePiece store BPE.

SentencePiece has scores and no pairs: it merges any two neighbours whose text together is a piece, the highest score
first, of equal scores the leftmost. A list of pairs gives the same result if it has every split of every piece into two
pieces, ordered by the score of the whole. The pairs that training merged are not enough: encoding can make a piece from
another split.

Equal scores are the difficult case, because a list has no ties. Whitespace runs in the order of the paper have one
score: SentencePiece lets the leftmost run grow until it is full. With the longest left part first in the list, a run is
finished before the next one begins.
"""

from __future__ import annotations

import orjson

from piecework._core import Encoder, Vocabulary

__all__ = ["merge_list", "tied_pieces"]


def merge_list(encoder: Encoder) -> orjson.Fragment:
    """Every split of a normal piece into two, as JSON: the highest score first; of equal scores, the longest left part.

    >>> import piecework as pw
    >>> tokenizer = pw.train(pw.count_words(["aaa aaaa"]), pw.Recipe(vocab_size=8))
    >>> orjson.dumps(merge_list(tokenizer._encoder)).decode()
    '[["a","a"],["▁","aa"],["▁aa","a"]]'
    """
    return orjson.Fragment(encoder.merges_json())


def tied_pieces(vocabulary: Vocabulary) -> list[str]:
    """Merged pieces other than whitespace runs that share a score; a list of pairs must put one of them first."""
    tied = vocabulary.tied_pieces()
    texts = vocabulary.texts if tied else []
    return [texts[number] for number in tied]
