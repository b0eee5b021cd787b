"""Analysis of a vocabulary: groups, lengths, unreachable pieces, unused pieces, use by language."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat

import numpy as np

from piecework.evaluation.evaluation import Evaluation
from piecework.evaluation.metrics import Array, divide
from piecework.evaluation.piece_columns import piece_columns
from piecework.evaluation.tables import Table
from piecework.tokenizer.pieces import GROUP_ORDER, Group, Piece, vocabulary_groups
from piecework.tokenizer.reachable import reachable_pieces
from piecework.tokenizer.trained import TrainedTokenizer

__all__ = ["VocabularyAnalysis", "analyse_vocabulary", "groups_table", "lengths_table", "use_table"]

_TEXT_GROUPS: tuple[Group, ...] = ("regular", "character", "whitespace")


@dataclass(frozen=True, slots=True)
class VocabularyAnalysis:
    """Tables about one vocabulary."""

    groups: Table
    """The paper's table: group, pieces, id ranges, examples."""
    lengths: Table
    """Pieces by length in characters, with ▁ counted and without. Bytes such as <0x0A> and user symbols such as
    <|python|> are kinds of their own, since they are not text of that length."""
    unreachable: Table
    """Unreachable pieces: no text encodes to them. Each has a reason. Control pieces are left out."""
    unused: Table | None
    """Reachable pieces that never occur in the evaluation text; None without an evaluation."""
    use: Table | None
    """The use of the vocabulary by language; None without an evaluation."""


def analyse_vocabulary(
    tokenizer: TrainedTokenizer, evaluation: Evaluation | None = None, *, name: str | None = None
) -> VocabularyAnalysis:
    """Analyses a vocabulary, and its use if there is an evaluation.

    `name` is the tokenizer's name in the evaluation; without it, the first tokenizer is taken.

    >>> import piecework as pw
    >>> tokenizer = pw.train(pw.count_words(["ett ett tre"]), pw.Recipe(vocab_size=11))
    >>> [(row["group"], row["pieces"], row["ids"]) for row in analyse_vocabulary(tokenizer).groups.rows()]
    [('special', 3, '0-2'), ('regular', 4, '3-6'), ('character', 4, '7-10')]
    """
    reachable = reachable_pieces(tokenizer)
    unused = use = None
    if evaluation is not None:
        frequencies = evaluation.frequency_array(name or next(iter(evaluation.tokenizers)))
        unused = _unused(tokenizer, reachable, frequencies)
        use = use_table(evaluation, frequencies)
    unreachable = _unreachable(tokenizer, reachable)
    return VocabularyAnalysis(groups_table(tokenizer), lengths_table(tokenizer), unreachable, unused, use)


def groups_table(tokenizer: TrainedTokenizer) -> Table:
    """The paper's table: group, pieces, id ranges, examples."""
    rows = [
        (
            group.name,
            group.count,
            group.count / tokenizer.vocab_size,
            ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in group.ranges),
            len(group.ranges) == 1,
            "  ".join(group.examples),
        )
        for group in vocabulary_groups(tokenizer.piece_texts, piece_columns(tokenizer).groups)
    ]
    return Table.of(["group", "pieces", "share", "ids", "contiguous", "examples"], rows, title="Vocabulary groups")


def lengths_table(tokenizer: TrainedTokenizer) -> Table:
    """The number of pieces of each length in characters, by kind."""
    columns = piece_columns(tokenizer)
    kinds = {"text": columns.are(*_TEXT_GROUPS)} | {
        group: columns.are(group) for group in sorted(GROUP_ORDER) if group not in _TEXT_GROUPS
    }
    rows: list[tuple[str, int, int, int]] = []
    for kind, chosen in kinds.items():
        characters = columns.characters[chosen]
        longest = characters.max(initial=0)
        counted = np.bincount(characters, minlength=longest + 1)
        bare = np.bincount(characters - columns.spaces[chosen], minlength=longest + 1)
        lengths = np.flatnonzero(counted + bare)
        rows += zip(repeat(kind), lengths.tolist(), counted[lengths].tolist(), bare[lengths].tolist())
    names = ["kind", "characters", "pieces_with_space_counted", "pieces_without_space_counted"]
    return Table.of(names, rows, title="Lengths of pieces (with ▁ counted, and without)")


def _unreachable(tokenizer: TrainedTokenizer, reachable: Array) -> Table:
    pieces = [tokenizer.pieces[i] for i in np.flatnonzero(~reachable)]
    ids = {piece.text: piece.id for piece in tokenizer.pieces}
    rows = [
        (piece.id, piece.text, piece.group, _reason(piece, ids))
        for piece in pieces
        if piece.type in ("normal", "user_defined", "byte")
    ]
    return Table.of(["id", "piece", "group", "reason"], rows, title="Unreachable pieces")


def _reason(piece: Piece, ids: dict[str, int]) -> str:
    if piece.type == "byte":
        value = int(piece.text[3:5], 16)
        if value in (0xC0, 0xC1) or value > 0xF4:
            return "UTF-8 has no such byte"
        return "every character with this byte is a piece"
    if piece.type == "user_defined":
        return "another user symbol always matches first"
    if len(piece.text) > 1 and not any(
        piece.text[:i] in ids and piece.text[i:] in ids for i in range(1, len(piece.text))
    ):
        return "no two pieces merge into it"
    return "its characters merge differently"


def _unused(tokenizer: TrainedTokenizer, reachable: Array, frequencies: Array) -> Table:
    unused = np.flatnonzero(reachable & (frequencies.sum(axis=0) == 0))
    rows = ((int(i), tokenizer.pieces[i].text, tokenizer.pieces[i].group) for i in unused)
    return Table.of(["id", "piece", "group"], rows, title="Pieces that never occur in the evaluation text")


def use_table(evaluation: Evaluation, frequencies: Array) -> Table:
    """The pieces that each language uses, and those that only it uses.

    `share_of_use`: each piece that occurs counts as 1, split among the languages in proportion to its frequency per
    token of each language, so that a language with more text does not look larger. The shares add up to 1.
    """
    occurs = frequencies > 0
    languages_of_piece = occurs.sum(axis=0)
    rates = np.nan_to_num(divide(frequencies, frequencies.sum(axis=1, keepdims=True)))
    parts = np.nan_to_num(divide(rates, np.broadcast_to(rates.sum(axis=0), rates.shape)))
    used_by_any = int((languages_of_piece > 0).sum())
    rows = (
        (
            group,
            int(frequencies[number].sum()),
            int(occurs[number].sum()),
            int(occurs[number].sum()) / frequencies.shape[1],
            int((occurs[number] & (languages_of_piece == 1)).sum()),
            float(parts[number].sum()) / used_by_any if used_by_any else None,
        )
        for number, group in enumerate(evaluation.groups)
    )
    names = [evaluation.by, "tokens", "pieces_used", "share_used", "pieces_only_here", "share_of_use"]
    return Table.of(names, rows, title="Use of the vocabulary")
