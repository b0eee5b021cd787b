"""Samples documents for training and evaluation by a hash of the text and the seed, and by nothing else.

Copies of a document are used in the same way. The order of files, their layout and the number of threads have no
effect.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Literal

from piecework import _core
from piecework.common.subset_name import SubsetName

__all__ = ["BUCKETS", "Placement", "Sampler", "Weighting"]

Weighting = Literal["documents", "counts"]

BUCKETS = 32
_ONE = 1 << 64  # hashes are whole numbers below this; u = hash / _ONE


@dataclass(frozen=True, slots=True)
class Placement:
    """How a document is used: copies for training, or once for evaluation, or not at all."""

    copies: int
    evaluation: bool
    bucket: int
    rank: int = 0
    """The hash of the document, which orders documents independently of their files."""


@dataclass(frozen=True, slots=True)
class _Limits:
    """A subset's limits: a hash below `train` is for training, a hash from `evaluation` on is for evaluation."""

    train: int
    evaluation: int
    exact_train: Fraction


class Sampler:
    """Decides how each document is used, with exact fractions and weights.

    With u in [0, 1) from the hash, a document of subset x is for evaluation if u ≥ 1 - Wₓ·p_eval. Otherwise it is used
    for training as often as there are k ≥ 0 with u + k·(1 - e*) < Wₓ·p_train, where e* is the largest Wₓ·p_eval of the
    study. With u ≥ 1 - e* it is never used for training, so that no document is on both sides, whatever its subset.

    >>> name = SubsetName("books", "sv")
    >>> sampler = Sampler(seed=1, train=Fraction(1, 2), evaluation=Fraction(1, 10), weights={name: Fraction(1)})
    >>> sampler.place("Det var en gång".encode(), name)
    Placement(copies=1, evaluation=False, bucket=17, rank=7787262809648541673)
    """

    def __init__(
        self,
        *,
        seed: int,
        train: Fraction,
        evaluation: Fraction,
        weights: Mapping[SubsetName, Fraction],
        weighting: Weighting = "documents",
    ) -> None:
        """With `weighting="counts"` subsets with a weight above 0 are sampled alike, and weighted later."""
        self._key = seed.to_bytes(8, "little")
        if weighting == "counts":
            weights = {name: Fraction(weight > 0) for name, weight in weights.items()}
        reserved = max((weight * evaluation for weight in weights.values()), default=Fraction(0))
        if reserved > Fraction(1, 2):
            raise ValueError(f"the largest weight times the evaluation fraction is {float(reserved):g}, above 0.5")
        # For whole hashes and any fraction x, u < x is hash < ceil(x·2⁶⁴).
        self._period = (1 - reserved) * _ONE
        self._trainable = ceil(self._period)
        self._seed = seed
        self._limits = {
            name: _Limits(
                train=ceil(weight * train * _ONE),
                evaluation=ceil((1 - weight * evaluation) * _ONE),
                exact_train=weight * train * _ONE,
            )
            for name, weight in weights.items()
        }

    def placer(self, subset: SubsetName) -> _core.Placer:
        """Decides the same for whole batches of documents of this subset, in the core."""
        limits = self._limits[subset]
        # Hashes below the period train ceil((exact - hash) / period) times. That is one of two numbers: `fewer`, or one
        # more where the hash is less than the rest.
        fewer = max(ceil(limits.exact_train / self._period) - 1, 0)
        rest = ceil(limits.exact_train - fewer * self._period)
        return _core.Placer(
            self._seed,
            last_not_evaluated=limits.evaluation - 1,
            last_trainable=self._trainable - 1,
            last_of_more=max(rest - 1, 0),
            more_copies=fewer + (rest > 0),
            fewer_copies=fewer,
        )

    def bucket(self, text: bytes) -> int:
        """The bucket of the document with this UTF-8 text. It depends on the text and the seed alone."""
        return self._digest(text)[15] % BUCKETS

    def _digest(self, text: bytes) -> bytes:
        return hashlib.blake2b(text, digest_size=16, key=self._key).digest()

    def place(self, text: bytes, subset: SubsetName) -> Placement:
        """How the document with this UTF-8 text in this subset is used."""
        digest = self._digest(text)
        number = int.from_bytes(digest[:8], "little")
        bucket = digest[15] % BUCKETS
        limits = self._limits[subset]
        if number >= limits.evaluation:
            return Placement(copies=0, evaluation=True, bucket=bucket, rank=number)
        if number >= limits.train or number >= self._trainable:
            return Placement(copies=0, evaluation=False, bucket=bucket, rank=number)
        if limits.train <= self._trainable:
            return Placement(copies=1, evaluation=False, bucket=bucket, rank=number)
        # The weight asks for more documents than there are.
        return Placement(
            ceil((limits.exact_train - number) / self._period), evaluation=False, bucket=bucket, rank=number
        )
