"""Text from files that a person sees: no character of it controls a terminal, or is invisible."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str) -> str:
    r"""The text with an escape for each character that is not visible.

    >>> print(printable("▁a\tb\x1b[31m"))
    ▁a\tb\x1b[31m
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
