"""Checks on the evaluation text: characters in bytes, line breaks, pieces without use, pieces of one source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from piecework.common.percent import format_percent
from piecework.common.subset_name import SubsetName
from piecework.evaluation.characters import TextCharacters, add_characters
from piecework.evaluation.metrics import Array
from piecework.evaluation.passes import TOKEN_TOTALS, Evaluator
from piecework.evaluation.units import EvaluationUnits, UnitSource
from piecework.health.finding import Finding, Status
from piecework.health.use import PieceUse
from piecework.health.vocabulary_checks import Native, is_regular, listed_pieces, split_characters
from piecework.tokenizer.byte_level_reachable import reachable_tokens
from piecework.tokenizer.edit import edit
from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.reachable import reachable_pieces
from piecework.tokenizer.steps import piece_halves, steps
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["text_findings"]

COSTLY_CHARACTERS = 0.001
COSTLY_BREAKS = 0.01
MANY_UNUSED = 0.1
ENOUGH_TOKENS = 20
"""Tokens of text for each piece. With less, a piece can be missing by chance."""
ONE_SOURCE_TOKENS = 20
ONE_SOURCE_SHARE = 0.9
FEWEST_BLOCKS = 8
MANY_OF_ONE_SOURCE = 0.01
# Characters that are not listed as missing: newlines and tabs have a check of their own.
_SPACES = frozenset({*"\n\t\r ", SPACE})


def text_findings(tokenizer: Native, counts: UnitSource, use: PieceUse, *, threads: int = 1) -> Iterator[Finding]:
    """The findings on this text; `use` is how often each piece is a token of it."""
    units = use.units or EvaluationUnits(counts, ["eval"], list(counts.languages))
    text = _Text(tokenizer, units.characters)
    yield _characters(tokenizer, text, use)
    yield _breaks(tokenizer, counts, text, use, threads=threads)
    yield from _unused(tokenizer, use)
    yield _one_source(tokenizer, use)


class _Text:
    """The characters of a text by language, and what those without a piece cost."""

    def __init__(self, tokenizer: Native, characters: Mapping[SubsetName, TextCharacters]) -> None:
        self.languages = {str(subset): subset.language for subset in characters}
        """The language of each subset."""
        by_language: dict[str, list[TextCharacters]] = {}
        for subset, text in characters.items():
            by_language.setdefault(subset.language, []).append(text)
        texts = {language: add_characters(parts) for language, parts in by_language.items()}
        every = sorted({each for text in texts.values() for each in text.counts})
        before = len(tokenizer.encode("a"))
        split = set(split_characters(tokenizer, every))
        lengths = [len(ids) for ids in tokenizer.encode_batch([f"a{each}" for each in every])]
        self.costs = {
            each: max(length - before, 1) if each in split else 0 for each, length in zip(every, lengths, strict=True)
        }
        """The tokens that each character takes: 0 if it has a piece."""
        missing = {
            language: {each: count for each, count in text.counts.items() if self.costs[each] and each not in _SPACES}
            for language, text in texts.items()
        }
        self.missing = {language: found for language, found in missing.items() if found}
        """By language: how often each character without a piece occurs, spaces aside."""
        self._runs = add_characters(texts.values()).runs

    def run_lengths(self, character: str) -> dict[int, int]:
        """How many runs of a newline or of a tab have each length."""
        return {length: count for (each, length), count in self._runs.items() if each == character}


def _characters(tokenizer: Native, text: _Text, use: PieceUse) -> Finding:
    """Characters that become bytes or unknown, by language."""
    costs, known = text.missing, text.costs
    language_tokens = _tokens_by_language(use, text.languages)
    total = sum(language_tokens.values())
    saved = {
        language: sum(count * (known[each] - 1) for each, count in found.items()) for language, found in costs.items()
    }
    spent = {
        language: sum(count * known[each] for each, count in found.items()) / max(language_tokens.get(language, 0), 1)
        for language, found in costs.items()
    }
    together: Counter[str] = Counter()
    for found in costs.values():
        together.update({each: count * known[each] for each, count in found.items()})
    if not together:
        return Finding("characters", "pass", "every character of the text has a piece")
    names = tuple(each for each, _ in together.most_common())
    worst = max(spent, key=lambda language: spent[language])
    summary = (
        f"characters of the text without a piece: {len(names):,} ({listed_pieces(names, 12)}); in {worst} they take"
        f" {format_percent(spent[worst], digits=2)} of the tokens"
    )
    saving = sum(saved.values()) / max(total, 1)
    if spent[worst] < COSTLY_CHARACTERS:
        return Finding("characters", "pass", summary, "", names, saving)
    how = "train with a higher character_coverage, or name them in required_chars"
    if not isinstance(tokenizer, Tokenizer):
        how = "give the text that has them a higher weight in training"
    return Finding(
        "characters",
        "warn",
        summary,
        f"{how}: as pieces they save {format_percent(saving, digits=2)} of all tokens",
        names,
        saving,
    )


def _tokens_by_language(use: PieceUse, languages: Mapping[str, str]) -> dict[str, int]:
    """The tokens of each language, with the language of each subset; a group that is no subset is a language."""
    found: dict[str, int] = {}
    for group, tokens in zip(use.groups, use.block_tokens.sum(axis=1).tolist(), strict=True):
        language = languages.get(group, group)  # a language can have "_" in its name, as pt_BR
        found[language] = found.get(language, 0) + tokens
    return found


def _breaks(tokenizer: Native, counts: UnitSource, text: _Text, use: PieceUse, *, threads: int) -> Finding:
    """Newlines and tabs that become bytes, and what symbols for them save."""
    totals = use.totals
    shares, symbols = {}, []
    for name, character in (("newlines", "\n"), ("tabs", "\t")):
        ids = set(tokenizer.encode(f"a{character}a")) & tokenizer.byte_ids
        share = float(sum(totals[i] for i in ids)) / max(float(totals.sum()), 1.0)
        if ids and share:
            shares[name] = share
            if share >= COSTLY_BREAKS / 10:
                symbols += [character, character * 2, character * 4]
    if not shares:
        return Finding("line-breaks", "pass", "newlines and tabs of the text have pieces, or do not occur")
    written = ", ".join(f"{name} take {format_percent(share, digits=2)}" for name, share in shares.items())
    summary = f"{written} of the tokens, as bytes"
    if sum(shares.values()) < COSTLY_BREAKS or not isinstance(tokenizer, Tokenizer):
        return Finding("line-breaks", "pass", summary)
    missing = [symbol for symbol in symbols if tokenizer.piece_to_id(symbol) is None]
    now = int(totals.sum())
    saving = _saved_by_symbols(tokenizer, counts, text, missing, now, threads=threads) / max(now, 1)
    written_symbols = ", ".join(f'"{each.encode("unicode_escape").decode()}"' for each in missing)
    options = " ".join(f"--add-symbol $'{each.encode('unicode_escape').decode()}'" for each in missing)
    return Finding(
        "line-breaks",
        "warn",
        summary,
        f"user_defined_symbols = [{written_symbols}] saves {format_percent(saving, digits=2)} of the tokens (measured);"
        f" without training: piecework edit {options}",
        tuple(symbols),
        saving,
    )


def _saved_by_symbols(
    tokenizer: Tokenizer, counts: UnitSource, text: _Text, symbols: Sequence[str], now: int, *, threads: int
) -> int:
    """The tokens that symbols for runs of newlines and of tabs save; the text has `now` tokens without them.

    If no piece has these characters, each is one byte token now, and a run becomes symbols, the longest first. Nothing
    merges across them, so all other tokens stay. This is the case for all models that are trained without symbols for
    them. The text of others is encoded again.
    """
    characters = sorted({symbol[0] for symbol in symbols})
    vocabulary = "".join(tokenizer._texts)
    normalizer = tokenizer._specs.normalizer_spec
    changes_text = normalizer.precompiled_charsmap or normalizer.remove_extra_whitespaces
    # An unused piece can be a step to others, and a symbol would take its slot.
    has_unused = any(piece.type == "unused" for piece in tokenizer._meta_pieces)
    if changes_text or has_unused or any(each in vocabulary for each in characters):
        edited = edit(tokenizer, add_symbols=symbols, unreachable="keep").tokenizer
        units = EvaluationUnits(counts, ["eval"], list(counts.languages))
        found = Evaluator(edited, name="the edited tokenizer", sizes=None, threads=threads).run(units, in_blocks=False)
        return now - int(found.totals["eval"][..., TOKEN_TOTALS.index("tokens")].sum())
    saved = 0
    for character in characters:
        lengths = sorted((len(symbol) for symbol in symbols if symbol[0] == character), reverse=True)
        for run, count in text.run_lengths(character).items():
            tokens, left = 0, run
            for length in lengths:
                tokens, left = tokens + left // length, left % length
            saved += (run - tokens - left) * count
    return saved


def _unused(tokenizer: Native, use: PieceUse) -> Iterator[Finding]:
    """Pieces that never occur: those that are steps to pieces that do, and the others."""
    is_ours = isinstance(tokenizer, Tokenizer)
    reachable = reachable_pieces(tokenizer) if is_ours else reachable_tokens(tokenizer)  # type: ignore[arg-type]
    learned = is_regular(tokenizer) & reachable
    totals = use.totals
    unused = learned & (totals == 0)
    halves = piece_halves(tokenizer)
    on_the_way = unused & _leads_to_used(halves, totals)
    never = unused & ~on_the_way
    tokens = int(totals.sum())
    is_enough = tokens >= ENOUGH_TOKENS * tokenizer.vocab_size
    how_much = f"in {tokens:,} tokens of text"
    texts = tokenizer.piece_texts
    names = tuple(texts[i] for i in np.flatnonzero(never).tolist())
    share = len(names) / max(int(learned.sum()), 1)
    summary = f"{len(names):,} pieces ({format_percent(share, decimals=1)}) never occur {how_much}"
    summary += f": {listed_pieces(names)}" if names else ""
    status: Status = "warn" if share > MANY_UNUSED and is_enough else "pass"
    advice = "train at a smaller size, or on text that is more like this text" if status == "warn" else ""
    if not is_enough:
        summary += f"; there is too little text to judge (at least {ENOUGH_TOKENS} tokens for each piece)"
    yield Finding("never-used", status, summary, advice, names)
    named_steps = tuple(texts[i] for i in np.flatnonzero(on_the_way).tolist())
    summary = f"{len(named_steps):,} further pieces occur only as steps on the way to longer pieces"
    summary += f": {listed_pieces(named_steps)}" if named_steps else ""
    # The files of a byte-level tokenizer need every step, so there is nothing to do.
    few = len(named_steps) <= MANY_OF_ONE_SOURCE * tokenizer.vocab_size or not is_enough or not is_ours
    advice = "" if few else "piecework edit --prune --larger MODEL gives their ids to the next merges"
    yield Finding("steps", "pass" if few else "warn", summary, advice, named_steps)


def _leads_to_used(halves: Array, totals: Array) -> Array:
    """For each piece, whether a piece that occurs is merged from it, directly or by further merges."""
    leads = np.zeros(len(totals), bool)
    wanted = np.flatnonzero(totals > 0)
    while len(wanted):
        below = halves[wanted].ravel()
        below = np.unique(below[below >= 0])
        wanted = below[~leads[below]]
        leads[wanted] = True
    return leads & steps(halves)


def _one_source(tokenizer: Native, use: PieceUse) -> Finding:
    """Pieces of which nearly all tokens are in one block of documents of one subset."""
    block_tokens = use.block_tokens
    # A block that holds half of a subset says nothing about where a piece comes from.
    usual = block_tokens <= block_tokens.sum(axis=1, keepdims=True) / 2
    usual &= (block_tokens > 0).sum(axis=1, keepdims=True) >= FEWEST_BLOCKS
    if not usual.any():
        return Finding(
            "one-source", "pass", f"too few documents to judge: no subset has {FEWEST_BLOCKS} blocks of them"
        )
    totals = use.totals
    learned = is_regular(tokenizer)
    most = np.zeros(tokenizer.vocab_size, use.tokens.dtype)
    for blocks, chosen in zip(use.tokens, usual, strict=True):
        np.maximum(most, blocks[chosen].max(axis=0, initial=0), out=most)
    found = learned & (totals >= ONE_SOURCE_TOKENS) & (most >= ONE_SOURCE_SHARE * totals)
    order = sorted(np.flatnonzero(found).tolist(), key=lambda i: (-int(totals[i]), i))
    names = tuple(tokenizer.piece_texts[i] for i in order)
    if not names:
        return Finding("one-source", "pass", "no piece comes from one source only")
    frequent = int((learned & (totals >= ONE_SOURCE_TOKENS)).sum())
    summary = (
        f"{len(names):,} of {frequent:,} pieces that occur {ONE_SOURCE_TOKENS} times or more come from one source:"
        f" nearly all their tokens are in a sixteenth of the documents of one subset: {listed_pieces(names)}"
    )
    if len(names) <= MANY_OF_ONE_SOURCE * frequent:
        return Finding("one-source", "pass", summary, "", names)
    return Finding(
        "one-source",
        "warn",
        summary,
        "look for repeated text (a licence, a table, a name) in that subset and count it once (clean_up, weights), or"
        " drop these pieces with piecework edit --drop",
        names,
    )
