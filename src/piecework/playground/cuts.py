"""The token boundaries of a text at every vocabulary size: one number per gap between two characters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from piecework.errors import InputError
from piecework.evaluation.curves import Sizes
from piecework.tokenizer.columns import MergeColumns, merge_columns
from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.tokenizer import Tokenizer
from piecework.tokenizer.tokens import Column

__all__ = ["NEVER", "Cuts", "SizedTokenizer"]

NEVER = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """The token boundaries of a text at any vocabulary size.

    `joins[p]` says at which sizes character p and the character before it are in one token. A positive value n: from
    size n on. A negative value -n: below size n. 0: always. Before the first character is the dummy prefix, or
    nothing, which always joins. Tokens also meet inside a character, between its bytes: boundary i is inside character
    `inner[i]`, and its sides join from size `inner_joins[i]` on. `inner` is in order.
    """

    joins: Column
    inner: Column
    inner_joins: Column

    def is_cut(self, vocab_size: int) -> Column:
        """For each character, whether a token boundary is before it."""
        joins = self.joins
        return np.where(joins < 0, vocab_size >= -joins, vocab_size < joins)

    def token_count(self, vocab_size: int) -> int:
        """The number of tokens of the text."""
        if not len(self.joins):
            return 0
        return int(self.is_cut(vocab_size).sum()) + 1 + int((vocab_size < self.inner_joins).sum())


class SizedTokenizer:
    """A tokenizer with all of its smaller sizes.

    >>> import piecework as pw
    >>> tokenizer = pw.train(pw.count_words(["ha hade hade"]), pw.Recipe(vocab_size=12))
    >>> cuts = SizedTokenizer(tokenizer).cuts("hade")
    >>> [(size, cuts.token_count(size)) for size in (8, 9, 10, 11, 12)]
    [(8, 5), (9, 4), (10, 3), (11, 2), (12, 1)]
    """

    def __init__(self, tokenizer: Tokenizer, *, name: str = "the tokenizer") -> None:
        """Raises an InputError if the tokenizer has no smaller sizes, or does more than merging."""
        self.tokenizer = tokenizer
        self.sizes = Sizes.of(tokenizer, name=name)
        _check(tokenizer, self.sizes, name)
        numbers = np.full(tokenizer.vocab_size, -1, np.int64)
        numbers[self.sizes.merges] = np.arange(len(self.sizes.merges))
        self._numbers = numbers
        self._characters = {piece.text for piece in tokenizer.pieces if len(piece.text) == 1}
        self._symbols = np.array([piece.type == "user_defined" for piece in tokenizer.pieces])
        settings = tokenizer.settings()
        self._has_prefix = bool(settings.get("add_dummy_prefix", True))
        self._falls_back = bool(settings.get("byte_fallback", False))
        self._space_runs: dict[int, Column] = {}

    def rank(self, piece_id: int) -> int | None:
        """The rank of the merge that makes a piece, from 1; None if no merge makes it."""
        number = int(self._numbers[piece_id])
        return number + 1 if number >= 0 else None

    def first_sizes(self, merges: MergeColumns) -> Column:
        """The smallest vocabulary size at which each merge happens; 0 for whitespace runs, which merge at every size.

        With only the first k merges, encoding performs exactly the merges before the first one of rank k or higher.
        So merge i happens if and only if the highest rank up to it, within its unit, is below k.
        """
        numbers = self._numbers[merges.pieces]
        # A large step per unit lets one running maximum serve all units: they are in order.
        step = np.int64(len(self.sizes.merges) + 2)
        base = merges.units.astype(np.int64) * step
        highest = np.maximum.accumulate(numbers + 1 + base) - base
        return np.where(numbers < 0, 0, self.sizes.smallest + highest)

    def cuts(self, text: str) -> Cuts:
        """The token boundaries at every size, from one encoding."""
        merges = merge_columns(self.tokenizer, text)
        first_sizes = self.first_sizes(merges)
        joins = np.full(len(text), NEVER, np.int64)
        is_merge = first_sizes > 0
        joins[merges.middles[is_merge]] = first_sizes[is_merge]
        if len(text) and not self._has_prefix:
            joins[0] = 0
        in_symbol = self._join_symbols(text, joins)
        tokens = self._join_unknown(text, joins, in_symbol)
        self._join_space_runs(text, joins)
        # A character that falls back to bytes never merges: its extra tokens exist at every size.
        inner = np.repeat(np.arange(len(text)), tokens - 1)
        return Cuts(joins, inner, np.full(len(inner), NEVER, np.int64))

    def _join_symbols(self, text: str, joins: Column) -> Column:
        """Joins the characters of user-defined symbols; returns which characters those are."""
        covered = np.zeros(len(text), bool)
        if self._symbols.any():
            found = self.tokenizer.token_columns(text)
            for i in np.flatnonzero(self._symbols[found.ids]):
                joins[found.starts[i] + 1 : found.ends[i]] = 0
                covered[found.starts[i] : found.ends[i]] = True
        return covered

    def _join_unknown(self, text: str, joins: Column, in_symbol: Column) -> Column:
        """Characters without a piece: several byte tokens each, or one unknown token for consecutive ones."""
        # Per distinct character: a text may repeat each thousands of times.
        distinct, indices = np.unique(_codes(text), return_inverse=True)
        costs = [self._cost(chr(code)) for code in distinct]
        tokens = np.where(in_symbol, 1, np.array(costs, np.int64)[indices])
        unknown = np.array([self._is_unknown(chr(code)) for code in distinct], bool)[indices]
        unknown &= ~in_symbol
        if not self._falls_back:
            joins[1:][unknown[1:] & unknown[:-1]] = 0
        return tokens

    def _is_unknown(self, character: str) -> bool:
        return character != " " and character not in self._characters

    def _cost(self, character: str) -> int:
        if not self._falls_back or not self._is_unknown(character):
            return 1
        return len(character.encode("utf-8", "replace"))

    def _join_space_runs(self, text: str, joins: Column) -> None:
        """Whitespace runs: n spaces if the last one is not joined to the next word, else n - 1."""
        is_space = np.zeros(len(text) + 2, bool)
        is_space[1:-1] = _is_space(text)
        edges = np.flatnonzero(np.diff(is_space.astype(np.int8)))
        for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            first = start - 1 if start == 0 and self._has_prefix else start
            count = end - first
            if count < 2:
                continue
            leaves = joins[end] if end < len(text) else NEVER
            whole = self._space_run(count)
            without_last = np.append(self._space_run(count - 1), False)
            inner = joins[first + 1 : end]
            inner[whole & without_last] = 0
            inner[whole & ~without_last] = -leaves if leaves < NEVER else 0
            inner[~whole & without_last] = leaves

    def _space_run(self, count: int) -> Column:
        """For each gap inside a whitespace run of `count` ▁ on its own, whether it is joined."""
        if count not in self._space_runs:
            found = self.tokenizer.token_columns(" " * (count - 1 if self._has_prefix else count))
            joined = np.ones(count - 1, bool)
            # The prefix has no width, so the first token is one ▁ longer than its offsets say.
            ends = found.ends[:-1].astype(np.int64) - (0 if self._has_prefix else 1)
            joined[ends] = False
            if len(self._space_runs) > 1000:
                self._space_runs.clear()
            self._space_runs[count] = joined
        return self._space_runs[count]


def _check(tokenizer: Tokenizer, sizes: Sizes, name: str) -> None:
    """Checks that merges alone determine an encoding."""
    settings = tokenizer.settings()
    pieces = tokenizer.pieces
    characters = {piece.text for piece in pieces if len(piece.text) == 1 and piece.type == "normal"}
    merges = [pieces[i].text for i in sizes.merges]
    reason = None
    if settings.get("remove_extra_whitespaces", True) or settings.get("precompiled_charsmap", "0 bytes") != "0 bytes":
        reason = "it normalises text before it merges"
    elif settings.get("treat_whitespace_as_suffix") or not settings.get("escape_whitespaces", True):
        reason = "it handles spaces in its own way"
    elif any(SPACE in merge[1:] for merge in merges):
        reason = "it has pieces that reach across a space"
    elif any(piece.type == "unused" for piece in pieces):
        reason = "it has unused pieces"
    elif any(SPACE in piece.text or " " in piece.text for piece in pieces if piece.type == "user_defined"):
        reason = "it has a user-defined symbol with a space"
    elif not set("".join(merges)) <= characters:
        reason = "some of its pieces have characters that are no pieces"
    if reason:
        raise InputError(f'"{name}" has no smaller sizes to show: {reason}')


def _is_space(text: str) -> Column:
    codes = _codes(text)
    is_space: Column = (codes == ord(" ")) | (codes == ord(SPACE))
    return is_space


def _codes(text: str) -> Column:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
