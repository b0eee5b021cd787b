"""What a vocabulary size costs a language model: parameters, memory and FLOPs per byte of text, at every size.

With N parameters in the blocks, width d and V pieces, the model multiplies each token with N + V·d parameters (input
embeddings are looked up). Serving takes 2 FLOPs for each, training 6. More pieces make a text shorter and each token
more expensive. FLOPs of attention over the context are left out: they depend on the length of the context.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from piecework.evaluation import intervals
from piecework.evaluation.curves import Sizes
from piecework.evaluation.evaluate import evaluate
from piecework.evaluation.metrics import Array
from piecework.evaluation.passes import SIZE_TOTALS
from piecework.evaluation.tables import Table
from piecework.evaluation.units import UnitSource
from piecework.study.model_shape import ModelShape
from piecework.tokenizer.trained import TrainedTokenizer

__all__ = ["WARNING", "SizeAdvice", "SizeCosts", "size_costs"]

SLACK = 0.01
"""The smallest size within 1 % of the least FLOPs is recommended: FLOPs hardly change there, but memory does."""
STEP = 128
GRID = 96
WARNING = "Compression is not model quality: train a small model at two sizes before you decide."


@dataclass(frozen=True, slots=True)
class SizeAdvice:
    """The recommended size, why, and how sure that is."""

    size: int
    least: int
    """The size with the least FLOPs per byte."""
    interval: tuple[int, int] | None
    """Of the recommended size: 95 % of resamples of the documents; None with too few documents."""
    still_falls: bool
    """Whether FLOPs per byte are least at the full size, so that a larger vocabulary may be better."""
    reason: str
    certainty: str


@dataclass(frozen=True, slots=True, eq=False)
class SizeCosts:
    """The costs at every vocabulary size."""

    model: ModelShape
    vocab_sizes: Array
    tokens_per_byte: Array
    advice: SizeAdvice

    @property
    def embedding_parameters(self) -> Array:
        """V·d, and twice that if the output has its own matrix."""
        return self.vocab_sizes * self.model.d_model * (1 if self.model.tied else 2)

    @property
    def memory_bytes(self) -> Array:
        """The memory of the embeddings."""
        return self.embedding_parameters * self.model.bytes_per_parameter

    @property
    def serving_flops_per_byte(self) -> Array:
        """2·(N + V·d) FLOPs for each token, times tokens per byte."""
        return 2 * _multiplied(self.model, self.vocab_sizes) * self.tokens_per_byte

    @property
    def training_flops_per_byte(self) -> Array:
        """6·(N + V·d) FLOPs for each token, times tokens per byte."""
        return 3 * self.serving_flops_per_byte

    def table(self) -> Table:
        """A row for each size; `multiple_of` is 128, 64 or 1."""
        import pyarrow as pa

        sizes = self.vocab_sizes
        columns = {
            "vocab_size": sizes,
            "multiple_of": np.where(sizes % 128 == 0, 128, np.where(sizes % 64 == 0, 64, 1)),
            "tokens_per_byte": self.tokens_per_byte,
            "embedding_parameters": self.embedding_parameters,
            "embedding_share": self.embedding_parameters / (self.embedding_parameters + self.model.block_parameters),
            "memory_bytes": self.memory_bytes,
            "training_flops_per_byte": self.training_flops_per_byte,
            "serving_flops_per_byte": self.serving_flops_per_byte,
        }
        return Table(pa.table(columns), title="What a vocabulary size costs the model")


def size_costs(tokenizer: TrainedTokenizer, counts: UnitSource, model: ModelShape, *, threads: int = 1) -> SizeCosts:
    """The costs of every size of a tokenizer on the evaluation text of the counts, and the size to choose.

    >>> import piecework as pw
    >>> text = ["en rask räv hoppar över en lat hund"] * 9
    >>> tokenizer = pw.train(pw.count_words(text), pw.Recipe(vocab_size=40))
    >>> costs = size_costs(tokenizer, pw.count_units({"sv": text}), ModelShape(d_model=8, layers=1))
    >>> int(costs.embedding_parameters[-1]), round(float(costs.serving_flops_per_byte[-1] / costs.tokens_per_byte[-1]))
    (320, 2176)
    """
    smallest = Sizes.of(tokenizer).smallest
    grid = _grid(smallest, tokenizer.vocab_size)
    evaluation = evaluate(
        {"tokenizer": tokenizer}, counts, metrics=["bytes_per_token"], sizes=grid, overall=True, threads=threads
    )
    curve = evaluation.curve("tokenizer", "overall", "bytes_per_token")
    tokens_per_byte = curve.denominators / np.maximum(curve.numerators, 1)
    counted = evaluation._result("tokenizer").totals["eval"].sizes
    assert counted is not None
    bucket_tokens = counted[-1][:, :, SIZE_TOTALS.index("tokens")]  # all languages: [32][grid]
    advice = _advice(model, curve.vocab_sizes, tokens_per_byte, np.array(grid), bucket_tokens)
    return SizeCosts(model, curve.vocab_sizes, tokens_per_byte, advice)


def _grid(smallest: int, full: int) -> list[int]:
    """Multiples of 128, and the full size."""
    step = STEP * max(1, -(-(full - smallest) // (STEP * GRID)))
    return sorted({*range(-(-smallest // step) * step, full + 1, step), full})


def _multiplied(model: ModelShape, sizes: Array) -> Array:
    return model.block_parameters + sizes.astype(float) * model.d_model


def _chosen(costs: Array) -> Array:
    """For each row, the index of the first size whose cost is within the slack of the least."""
    return np.asarray((costs <= (1 + SLACK) * costs.min(axis=-1, keepdims=True)).argmax(axis=-1))


def _advice(model: ModelShape, sizes: Array, tokens: Array, grid: Array, bucket_tokens: Array) -> SizeAdvice:
    costs = _multiplied(model, sizes) * tokens
    least = int(sizes[costs.argmin()])
    is_wanted = sizes % STEP == 0 if (sizes % STEP == 0).any() else np.ones(len(sizes), bool)
    affordable = sizes[is_wanted & (costs <= (1 + SLACK) * costs.min())]
    # No multiple of 128 is as cheap as the best size: then the cheapest of them.
    size = int(affordable[0]) if len(affordable) else int(sizes[is_wanted][costs[is_wanted].argmin()])
    interval = _interval(model, grid, bucket_tokens)
    still_falls = bool(least >= sizes[-1] - STEP)
    size_memory, least_memory = (_written(model, each) for each in (size, least))
    reason = (
        f"Take {size:,} pieces: with d_model {model.d_model:,} and {model.layers} layers, a byte of text costs at most"
        f" {SLACK:.0%} more FLOPs than the least, at {least:,} pieces, and the embeddings take {size_memory}"
        f" instead of {least_memory}."
    ).replace("%", " %")
    if interval is None:
        certainty = "There are too few documents to say how sure this is."
    else:
        certainty = f"In 95 % of resamples of the documents this size lies between {interval[0]:,} and {interval[1]:,}."
    if still_falls:
        certainty += " FLOPs still fall at the full size: a larger vocabulary may be better, so train one to see."
    return SizeAdvice(size, least, interval, still_falls, reason, certainty)


def _written(model: ModelShape, size: int) -> str:
    """The memory of the embeddings in MB, or in GB from 1 GB on."""
    megabytes = size * model.d_model * (1 if model.tied else 2) * model.bytes_per_parameter / 1e6
    return f"{megabytes / 1000:.2f} GB" if megabytes >= 1000 else f"{megabytes:.3g} MB"


def _interval(model: ModelShape, grid: Array, bucket_tokens: Array) -> tuple[int, int] | None:
    """The interval of the recommended size, to the step of the grid: buckets of documents are resampled."""
    occupied = bucket_tokens[bucket_tokens[:, 0] > 0].astype(float)
    if len(occupied) < intervals.FEWEST_BUCKETS:
        return None
    resampled = intervals.bootstrap_weights(len(occupied)) @ occupied
    chosen = np.sort(grid[_chosen(resampled * _multiplied(model, grid))])
    share = intervals.tail(len(occupied))
    low, high = (chosen[round(each * (len(chosen) - 1))] for each in (share, 1 - share))
    return int(low), int(high)
