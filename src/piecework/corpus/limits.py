"""The longest document and the longest word that are read. Longer ones are skipped, so that memory stays bounded."""

__all__ = ["MAX_DOCUMENT_BYTES", "MAX_WORD_BYTES", "has_long_word"]

MAX_DOCUMENT_BYTES = 64 << 20
"""Of a document as it is stored: a line of JSONL or text, a file of text, a value of Parquet."""
MAX_WORD_BYTES = 1 << 20
"""Of text without a space or line feed. Training takes about 20 times as much memory for it."""


def has_long_word(text: bytes) -> bool:
    """Whether the text has a word of more than MAX_WORD_BYTES.

    >>> has_long_word(b"ab " * MAX_WORD_BYTES), has_long_word(b"ab " * 9 + b"x" * (MAX_WORD_BYTES + 1))
    (False, True)
    """
    # So long a word covers a multiple of the limit. Around each multiple a separator is near, in all usual text.
    for middle in range(MAX_WORD_BYTES, len(text), MAX_WORD_BYTES):
        start, stop = middle - MAX_WORD_BYTES, middle + MAX_WORD_BYTES
        before = max(text.rfind(b" ", start, middle), text.rfind(b"\n", start, middle))
        found = (text.find(b" ", middle, stop), text.find(b"\n", middle, stop))
        first = before + 1 if before >= 0 else start
        last = min((position for position in found if position >= 0), default=min(stop, len(text)))
        if last - first > MAX_WORD_BYTES:
            return True
    return False
