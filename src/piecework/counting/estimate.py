"""What counting a study would give and cost, from a small sample of its files."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from piecework.common.terms import CleanUp
from piecework.corpus.inputs import InputFile
from piecework.corpus.readers import open_batches
from piecework.corpus.record_languages import LanguageField, RecordLanguages
from piecework.counting.heaps import TableSize, WordTable, table_size
from piecework.counting.machine import MERGE_BYTES, PARENT_BYTES, PROCESS_BYTES, TABLE_COPIES, Budget
from piecework.counting.plan import Plan
from piecework.counting.tables import DocumentCounter
from piecework.counting.worker import encoded

if TYPE_CHECKING:
    from piecework.study.subsets import Subset

__all__ = ["Estimate", "SubsetEstimate", "estimate_counting"]

SAMPLE_FILES = 3
SAMPLE_BATCH_BYTES = 2_000_000
SAMPLE_SECONDS = 3.0
# An evaluation document is counted twice: as it is, and without punctuation.
EVALUATION_COUNTS = 2
START_S = 1.0
LARGER_TEXTS_BYTES = (12e9, 1.2e12)
"""The paper's training sample, and its corpus."""


@dataclass(frozen=True, slots=True)
class SubsetEstimate:
    """What a subset holds, and how much of it would be sampled, roughly."""

    subset: Subset
    sample_bytes: int
    """How much of its files, as stored, the estimate is based on."""
    documents: int
    text_bytes: int
    train_documents: float
    """With copies."""
    eval_documents: float
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """What counting would take, roughly."""

    subsets: tuple[SubsetEstimate, ...]
    memory_bytes: int
    elapsed_s: float
    tables: tuple[TableSize, ...]
    """The table of training words: for this study, and for the amounts of training text in LARGER."""
    exponents: tuple[float, float]
    """The exponent of Heaps' law as fitted: the smallest and the largest of the subsets."""


def estimate_counting(plan: Plan, budget: Budget) -> Estimate:
    """Read and count a little of every subset, and extrapolate."""
    wanted = [subset for subset in plan.subsets if subset.weight]
    sampler = plan.sampler()
    settings = plan.study.recipe.count_settings()
    estimates = []
    tables: list[tuple[WordTable, float]] = []
    table_bytes = 0.0
    for subset in wanted:
        sample = _Sample(subset, seconds=SAMPLE_SECONDS / len(wanted), clean_up=settings.clean_up)
        started = time.process_time()
        sizes = []
        texts = []
        for text, _ in sample.documents():
            sampler.place(text, subset.name)
            sizes.append(len(text))
            texts.append(text)
        # The languages of a field are read together.
        reading_s = (time.process_time() - started) / max(1, sum(each.files == subset.files for each in wanted))
        counter = DocumentCounter(settings)
        started = time.process_time()
        counter.add_training(texts)
        counting_s = time.process_time() - started

        growth = subset.size_bytes / sample.read_bytes if sample.read_bytes else 0.0
        train, evaluation = (float(fraction) for fraction in plan.intended(subset))
        counted = train + EVALUATION_COUNTS * evaluation
        documents = sample.exact_documents if sample.exact_documents is not None else round(len(sizes) * growth)
        estimates.append(
            SubsetEstimate(
                subset=subset,
                sample_bytes=sample.read_bytes,
                documents=documents,
                text_bytes=round(sum(sizes) * growth),
                train_documents=train * documents,
                eval_documents=evaluation * documents,
                cpu_s=(reading_s + counting_s * counted) * growth,
            )
        )
        if table := WordTable.fit(texts, settings):
            tables.append((table, train * sum(sizes) * growth))
            shards = max(1, sum(subset.name in shard.subsets for shard in plan.shards))
            table_bytes = max(table_bytes, counter.memory_bytes * table.law.growth(growth * counted / shards))
    exponents = [table.law.exponent for table, _ in tables]
    counting_bytes = budget.processes * (PROCESS_BYTES + TABLE_COPIES * min(table_bytes, budget.table_bytes))
    return Estimate(
        subsets=tuple(estimates),
        memory_bytes=round(PARENT_BYTES + max(counting_bytes, budget.merging * MERGE_BYTES)),
        elapsed_s=START_S + sum(estimate.cpu_s for estimate in estimates) / budget.processes,
        tables=tuple(table_size(tables, size) for size in (sum(share for _, share in tables), *LARGER_TEXTS_BYTES)),
        exponents=(min(exponents, default=0.0), max(exponents, default=0.0)),
    )


class _Sample:
    """The starts of a few files of a subset, spread evenly over it."""

    def __init__(self, subset: Subset, *, seconds: float, clean_up: CleanUp | None) -> None:
        self.read_bytes = 0
        self.exact_documents: int | None = None
        self._subset = subset
        self._clean_up = clean_up
        self._deadline = time.monotonic() + seconds
        files = [file for file in subset.files if file.size_bytes]
        count = min(len(files), SAMPLE_FILES)
        self._files: list[InputFile] = [files[index * len(files) // count] for index in range(count)]
        if subset.documents == "file" and all(file.format == "text" for file in files):
            self.exact_documents = len(files)

    def documents(self) -> Iterator[tuple[bytes, int]]:
        language, field = self._subset.language, self._subset.language_field
        for file in self._files:
            batches = open_batches(
                [file],
                text_field=self._subset.text_field,
                text_unit=self._subset.documents,
                batch_bytes=SAMPLE_BATCH_BYTES,
                clean_up=self._clean_up,
                languages=None if field is None else RecordLanguages(LanguageField(field, frozenset({language}))),
            )
            for batch in batches:
                self.read_bytes += batch.read_bytes
                documents = batch.documents if field is None else (batch.by_language or {}).get(language, [])
                yield from encoded(documents)
                if len(documents) or time.monotonic() > self._deadline:
                    break
