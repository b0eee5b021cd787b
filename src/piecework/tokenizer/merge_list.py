"""The merges of a vocabulary as a ranked list of pairs, which is how runtimes other than SentencePiece store BPE.

SentencePiece has scores and no pairs: it merges any two neighbours whose text together is a piece, the highest score
first, of equal scores the leftmost. A list of pairs gives the same result if it holds every split of every piece into
two pieces, ordered by the score of the whole. With the pairs of one training alone, text that comes to a piece by
another split would stay in parts.

Pieces of one score are the delicate case, as a list has no ties. Whitespace runs in the order of the paper are such:
SentencePiece lets the leftmost run grow until it is full. With the longest left part first, a run that is begun is also
finished before the next begins.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from piecework.tokenizer.pieces import SPACE, Piece

__all__ = ["merge_list", "tied_pieces"]


def merge_list(pieces: Iterable[Piece]) -> list[tuple[str, str]]:
    """Every split of a normal piece into two, the highest score first; of one score, the longest left part.

    >>> texts = ["a", "b", "ab", "▁", "▁▁", "▁▁▁"]
    >>> scores = [-3.0, -4.0, -0.0, -5.0, -6.0, -6.0]
    >>> pieces = [Piece(n, text, score, "normal") for n, (text, score) in enumerate(zip(texts, scores))]
    >>> merge_list(pieces)
    [('a', 'b'), ('▁▁', '▁'), ('▁', '▁'), ('▁', '▁▁')]
    """
    by_score = sorted((piece for piece in pieces if piece.type == "normal"), key=_falling_score)
    texts = {piece.text for piece in by_score}
    merges: list[tuple[str, str]] = []
    start, score = 0, 0.0
    is_tied = False
    for piece in by_score:
        if piece.score != score:
            if is_tied:
                merges[start:] = sorted(merges[start:], key=_longest_left)
            start, score, is_tied = len(merges), piece.score, False
        is_tied = is_tied or len(merges) > start
        text = piece.text
        for at in range(len(text) - 1, 0, -1):
            left = text[:at]
            if left in texts:
                right = text[at:]
                if right in texts:
                    merges.append((left, right))
    if is_tied:
        merges[start:] = sorted(merges[start:], key=_longest_left)
    return merges


def tied_pieces(pieces: Iterable[Piece]) -> list[str]:
    """Pieces other than whitespace runs that are merged and share a score: a list of pairs has to put one first."""
    found = []
    merged = [piece for piece in pieces if piece.type == "normal" and len(piece.text) > 1 and piece.text.strip(SPACE)]
    for _, tied in groupby(sorted(merged, key=_falling_score), key=_falling_score):
        texts = [piece.text for piece in tied]
        found += texts if len(texts) > 1 else []
    return found


def _falling_score(piece: Piece) -> float:
    return -piece.score


def _longest_left(split: tuple[str, str]) -> int:
    return -len(split[0])
