"""Texts in which every token of a byte-level tokenizer occurs.

A token that is made of whole characters is mostly a text of its own. A token that starts or ends inside a character is
completed to characters in several ways, until an encoding contains it. If every token occurs, every merge is performed:
only its own merge makes a token.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from piecework.tokenizer.byte_level import ByteLevelTokenizer

__all__ = ["covering_texts"]

_AROUND = (("", ""), ("", "x"), ("x", ""), (" ", ""), ("x ", " x"), ("\n", "\n"), ("", " "), ("1", "1"), (".", "."))
_AROUND_SPECIAL = ("{0}", "x{0}y", " {0} ", "{0}{0}", "{0}\n", "å{0}字")
# What can come before continuation bytes, to make them a character.
_LEADS = (
    b"\xc3",
    b"\xd0",
    b"\xe0",
    b"\xe1",
    b"\xe2",
    b"\xe4",
    b"\xe6",
    b"\xea",
    b"\xed",
    b"\xf0",
    b"\xf3",
    b"\xe4\xb8",
    b"\xe1\x80",
    b"\xe2\x80",
    b"\xef\xbf",
    b"\xf0\x9f",
    b"\xf0\x90",
    b"\xf0\x9f\x98",
    b"\xf3\xa0\x81",
)
_ENDS = (b"", b"\x80", b"\x80\x80", b"\xbf", b"\xbf\xbf", b"\x98\x80", b"\xa0\x81\x81", b"\x80\x80\x80")


def covering_texts(tokenizer: ByteLevelTokenizer) -> tuple[list[str], int]:
    """The texts, and the number of tokens that are in none of them.

    >>> import piecework as pw
    >>> counts = pw.count_pre_tokens(["en ros är en ros"], pre_tokenizer="gpt2")
    >>> tokenizer = pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=262))
    >>> texts, unseen = covering_texts(tokenizer)
    >>> unseen  # UTF-8 does not use 13 bytes
    13
    """
    model = tokenizer.model
    added = [*model.special_tokens, *model.added_tokens]
    texts = ["", *(around.format(token) for token in added for around in _AROUND_SPECIAL)]
    taken = {*model.special_tokens.values(), *model.added_tokens.values()}
    unseen = {number: token for number, token in enumerate(model.tokens) if token and number not in taken}
    for candidates in (_whole, _completed, _every_end):
        for chunk in _chunks(sorted(unseen)):
            found = [(number, text) for number in chunk for text in candidates(model.tokens[number])]
            encoded = tokenizer.encode_batch([text for _, text in found])
            for (number, text), ids in zip(found, encoded, strict=True):
                if number in unseen and number in ids:
                    texts.append(text)
                    for seen in ids:
                        unseen.pop(seen, None)
    return texts, len(unseen)


def _chunks(numbers: Sequence[int], size: int = 2_000) -> Iterator[Sequence[int]]:
    return (numbers[start : start + size] for start in range(0, len(numbers), size))


def _whole(token: bytes) -> Iterator[str]:
    text = _decoded(token)
    if text is not None:
        yield from (before + text + after for before, after in _AROUND)


def _completed(token: bytes) -> Iterator[str]:
    yield from _combined(token, (b"", *_LEADS), _ENDS)


def _every_end(token: bytes) -> Iterator[str]:
    """The token with every possible last byte, for tokens that merge further with most of them."""
    last_bytes = [bytes([byte]) for byte in range(0x80, 0xC0)]
    yield from _combined(
        token,
        (b"", *_LEADS),
        [*last_bytes, *(byte + b"\x80" for byte in last_bytes), *(b"\x9f" + byte for byte in last_bytes)],
    )
    first_parts = [bytes([lead, byte]) for lead in range(0xE0, 0xF5) for byte in range(0x80, 0xC0, 3)]
    yield from _combined(token, [bytes([lead]) for lead in range(0xC2, 0xF5)] + first_parts, (b"",))


def _combined(token: bytes, starts: Sequence[bytes], ends: Sequence[bytes]) -> Iterator[str]:
    for start in starts:
        for end in ends:
            text = _decoded(start + token + end)
            if text is not None:
                yield text
                yield "x" + text
                yield " " + text


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
