"""The longest document and the longest word that are read. Longer ones are skipped, so that memory stays bounded."""

from dataclasses import dataclass

__all__ = ["MAX_DOCUMENT_BYTES", "MAX_WORD_BYTES", "Limits", "has_long_word"]

MAX_DOCUMENT_BYTES = 64 << 20
"""Of a document as it is stored: a line of JSONL or text, a file of text, a value of Parquet."""
MAX_WORD_BYTES = 1 << 20
"""Of text without a space or line feed. Training takes about 20 times as much memory for it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The longest document and the longest word that a reader hands out, in bytes."""

    document_bytes: int
    word_bytes: int


def has_long_word(text: bytes, limit: int | None = None) -> bool:
    """Whether the text has a word of more than `limit` bytes, by default MAX_WORD_BYTES.

    >>> has_long_word(b"ab " * MAX_WORD_BYTES), has_long_word(b"ab " * 9 + b"x" * (MAX_WORD_BYTES + 1))
    (False, True)
    """
    # A word that is too long covers a multiple of the limit. In usual text there is a separator near each multiple.
    limit = MAX_WORD_BYTES if limit is None else limit
    for middle in range(limit, len(text), limit):
        start, stop = middle - limit, middle + limit
        before = max(text.rfind(b" ", start, middle), text.rfind(b"\n", start, middle))
        found = (text.find(b" ", middle, stop), text.find(b"\n", middle, stop))
        first = before + 1 if before >= 0 else start
        last = min((position for position in found if position >= 0), default=min(stop, len(text)))
        if last - first > limit:
            return True
    return False
