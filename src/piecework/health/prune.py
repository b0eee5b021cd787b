"""Prunes pieces that are only steps to longer pieces: the next merges of the same training take their ids.

SentencePiece merges through a piece of type UNUSED and takes it apart again if it is left at the end. So a step can
become unused: longer pieces are still merged from it, and no text encodes to it. Unused pieces are put behind all
others. A model needs embeddings for the ids before them only. The next merges of a larger vocabulary from the same
training take the freed ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from piecework.common.pre_tokenizer import PreTokenizer
from piecework.common.subset_name import SubsetName
from piecework.counting.store import Counts
from piecework.errors import InputError
from piecework.evaluation.curves import Sizes, is_smaller_size
from piecework.evaluation.evaluate import evaluate
from piecework.evaluation.metrics import Array
from piecework.evaluation.passes import Evaluator
from piecework.evaluation.units import EvaluationUnits
from piecework.tokenizer.edit import _entries, _make_tokenizer
from piecework.tokenizer.pieces import SPACE, Piece
from piecework.tokenizer.steps import piece_halves
from piecework.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Pruned", "PrunedPiece", "prune"]

CHOICES = 12
"""The number of amounts that are tried, from a few pruned pieces up to as many as there are further merges."""


@dataclass(frozen=True, slots=True)
class PrunedPiece:
    """A piece that is unused now, and what that costs on the training text."""

    piece: Piece
    """With its old id, or its id in the larger vocabulary if it is new there."""
    tokens: int
    """How often it was a token."""
    cost: int
    """The extra tokens that its text takes now."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """A pruned tokenizer: `active_size` ids that texts use, then the unused steps."""

    tokenizer: Tokenizer
    active_size: int
    """No text gets ids from here on: the embeddings need no rows for them."""
    mapping: tuple[int, ...]
    """The new id of each old id."""
    pruned: tuple[PrunedPiece, ...]
    """The cheapest first."""
    filled: tuple[Piece, ...]
    """The next merges, with their new ids."""
    tokens_before: int
    """Tokens of the evaluation text, which did not take part in choosing."""
    tokens_after: int

    @property
    def saving(self) -> float:
        """The share of the evaluation text's tokens that pruning saves; negative if it costs tokens."""
        return (self.tokens_before - self.tokens_after) / max(self.tokens_before, 1)


def prune(tokenizer: Tokenizer, counts: Counts, *, larger: Tokenizer | None = None, threads: int = 1) -> Pruned:
    """Makes steps unused, and fills their ids with the next merges of `larger`, from the same training.

    The number of exchanged pieces is the one that saves the most tokens on the training text of the counts. Without
    `larger`, the pieces that are never a token of this text become unused, and nothing takes their ids.
    """
    size = tokenizer.vocab_size
    if larger is not None and not is_smaller_size(tokenizer, larger):
        raise InputError(
            f"the larger vocabulary of {larger.vocab_size:,} pieces is not from the same training: resized to {size:,}"
            " pieces it differs from the model; train it on the same counts with the same recipe"
        )
    base = larger if larger is not None else tokenizer
    if not base._is_as_trained:
        raise InputError("only a vocabulary as training makes it can be pruned; this one was edited, or has no merges")
    text = _TrainingText(counts)
    if larger is None:
        tokens = _piece_tokens(tokenizer, text, [], threads=threads)[size]
        chosen = _cheapest(tokenizer, tokens, int(((tokens == 0) & _is_merge(tokenizer)).sum()))
        return _finish(tokenizer, tokenizer, chosen, tokens, counts, threads=threads)
    room = larger.vocab_size - size
    amounts = sorted({max(1, round(room * (number / CHOICES) ** 2)) for number in range(1, CHOICES + 1)})
    found = _piece_tokens(larger, text, [size + amount for amount in amounts], threads=threads)
    options = []
    for amount in amounts:
        grown = larger.resize(size + amount)
        tokens = found[grown.vocab_size]
        chosen = _cheapest(grown, tokens, amount)
        total = int(tokens.sum()) + int(_costs(grown, tokens, chosen)[chosen].sum())
        options.append((total, amount, grown, tokens, chosen))
    _, _, grown, tokens, chosen = min(options, key=lambda each: each[:2])
    return _finish(tokenizer, grown, chosen, tokens, counts, threads=threads)


class _TrainingText:
    """The training words of counts as units of one language; a word at the start of a line opens a document."""

    def __init__(self, counts: Counts) -> None:
        if counts.pre_tokenizer is not None:
            raise InputError(
                "the counts are of pre-tokens for byte-level tokenizers; prune with the counts of the model"
            )
        self._counts = counts
        self.languages = ["training"]
        self.pre_tokenizer: PreTokenizer | None = None

    def evaluation_batches(
        self, _language: object = None, _category: object = None, *, plain: bool = False
    ) -> Iterator[tuple[SubsetName, pa.RecordBatch]]:
        import pyarrow as pa
        from pyarrow import compute

        assert not plain
        table = self._counts.training().to_arrow()
        # An empty word is a line that starts with a space.
        table = table.filter(compute.greater(compute.binary_length(table.column(0)), pa.scalar(0)))
        words = table.column(0).cast(pa.large_string())
        rows = pa.table(
            {
                "bucket": pa.array(np.zeros(len(table), np.uint8)),
                "opens": compute.invert(compute.starts_with(words, SPACE)).cast(pa.uint8()),
                "unit": compute.replace_substring(words, SPACE, " "),
                "count": table.column(1).cast(pa.uint64()),
            }
        )
        return ((SubsetName("", "training"), batch) for batch in rows.to_batches())

    def evaluation_subsets(self, _language: object, *, plain: bool = False) -> set[SubsetName]:
        assert not plain
        return {SubsetName("", "training")}

    def evaluation(self, *_arguments: object, **_options: object) -> pa.Table:
        raise NotImplementedError  # nothing here asks for rows


def _piece_tokens(tokenizer: Tokenizer, text: _TrainingText, sizes: Sequence[int], *, threads: int) -> dict[int, Array]:
    """By vocabulary size, how often each piece is a token; all sizes from one pass."""
    units = EvaluationUnits(text, ["eval"], text.languages, by="language")
    plan = Sizes.of(tokenizer, sizes)
    evaluator = Evaluator(tokenizer, name="the tokenizer", sizes=plan, threads=threads)
    found = evaluator.run(units, in_blocks=False)
    passes = {size: evaluator.smaller(found, tokenizer.resize(size)) for size in sizes if size < tokenizer.vocab_size}
    passes[tokenizer.vocab_size] = found
    return {size: each.by_block()["eval"].sum(axis=(0, 1), dtype=np.int64) for size, each in passes.items()}


def _is_merge(tokenizer: Tokenizer) -> Array:
    return np.array([group == "regular" for group in tokenizer._groups])


def _cheapest(tokenizer: Tokenizer, tokens: Array, amount: int) -> Array:
    """The ids of the merges that are tokens least often, of equal ones the last."""
    merges = np.flatnonzero(_is_merge(tokenizer))
    return merges[np.lexsort((-merges, tokens[merges]))][:amount]


def _costs(tokenizer: Tokenizer, tokens: Array, chosen: Array) -> Array:
    """For each id, the additional tokens of its text if the chosen pieces are taken apart."""
    halves = piece_halves(tokenizer)
    parts = np.ones(tokenizer.vocab_size, np.int64)
    is_chosen = np.zeros(tokenizer.vocab_size, bool)
    is_chosen[chosen] = True
    lengths = np.array([len(text) for text in tokenizer._texts])
    for number in sorted(
        chosen.tolist(), key=lambda each: int(lengths[each])
    ):  # halves are shorter, so they come first
        parts[number] = parts[halves[number]].sum() if halves[number, 0] >= 0 else 1
    return tokens * (parts - 1) * is_chosen


def _finish(
    tokenizer: Tokenizer, grown: Tokenizer, chosen: Array, tokens: Array, counts: Counts, *, threads: int
) -> Pruned:
    """The pruned tokenizer, measured on the evaluation text."""
    entries = _entries(grown)
    gone = set(chosen.tolist())
    kept = [entry for number, entry in enumerate(entries) if number not in gone]
    steps = [replace(entry, type="unused") for number, entry in enumerate(entries) if number in gone]
    ordered = [*kept, *steps]
    pruned = _make_tokenizer(grown, ordered, [entry.score for entry in ordered])
    new_ids = {entry.text: number for number, entry in enumerate(ordered)}
    costs = _costs(grown, tokens, chosen)
    old_texts = set(tokenizer._texts)
    evaluation = evaluate({"before": tokenizer, "after": pruned}, counts, metrics=["bytes_per_token"], threads=threads)
    before, after = (int(evaluation.bucket_totals(name)["tokens"].sum()) for name in ("before", "after"))
    return Pruned(
        pruned,
        len(kept),
        tuple(new_ids[text] for text in tokenizer._texts),
        tuple(
            PrunedPiece(grown.pieces[number], int(tokens[number]), int(costs[number]))
            for number in sorted(gone, key=lambda each: (int(costs[each]), each))
        ),
        tuple(piece for piece in pruned.pieces[: len(kept)] if piece.text not in old_texts),
        before,
        after,
    )
