"""A text with its tokens, as a notebook shows it."""

from __future__ import annotations

import html
from dataclasses import dataclass

from piecework.tokenizer.tokens import Token

__all__ = ["TokenView"]

# Two alternating backgrounds. Text on them can be read on white and on black pages.
_BACKGROUNDS = ("rgba(70, 130, 220, 0.30)", "rgba(240, 150, 40, 0.30)")


@dataclass(frozen=True, slots=True)
class TokenView:
    """A text and its tokens. In a notebook each token has a background, and its id shows when it is pointed at."""

    text: str
    tokens: tuple[Token, ...]

    def __repr__(self) -> str:
        count = len(self.tokens)
        return f"{' '.join(token.piece for token in self.tokens)}  ({count:,} token{'' if count == 1 else 's'})"

    def _repr_html_(self) -> str:
        spans = []
        for number, token in enumerate(self.tokens):
            covered = self.text[token.start : token.end] or token.piece
            style = f"background: {_BACKGROUNDS[number % 2]}; white-space: pre-wrap; padding: 1px 0"
            title = html.escape(f"{token.piece}  id {token.id}", quote=True)
            spans.append(f'<span style="{style}" title="{title}" dir="auto">{html.escape(covered)}</span>')
        return f'<div style="line-height: 1.8">{"".join(spans)}</div><small>{len(self.tokens):,} tokens</small>'
