"""Makes all tables of a study from its tokenizers and counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from piecework.common.terms import BASE, MULTILINGUAL, OVERALL
from piecework.corpus.parallel_text import ParallelText
from piecework.evaluation.curves import Sizes
from piecework.evaluation.evaluate import evaluate_on, evaluation_units
from piecework.evaluation.evaluation import Evaluation
from piecework.evaluation.examples import examples
from piecework.evaluation.metrics import Array, all_metrics
from piecework.evaluation.overlap import OverlapCurve, Overlaps
from piecework.evaluation.parallel import evaluate_parallel
from piecework.evaluation.piece_columns import piece_columns
from piecework.evaluation.size_costs import WARNING, SizeCosts, size_costs
from piecework.evaluation.tables import Table
from piecework.evaluation.units import EvaluationUnits
from piecework.evaluation.vocabulary import groups_table, lengths_table, use_table
from piecework.health.check import check
from piecework.health.use import piece_use
from piecework.results.categories import categories_table
from piecework.results.findings import check_findings, is_like_the_paper
from piecework.results.languages import languages_table
from piecework.results.summary import summarise
from piecework.results.table_names import TITLES
from piecework.study.model_shape import ModelShape
from piecework.tokenizer.pieces import GROUP_ORDER
from piecework.tokenizer.reachable import reachable_pieces
from piecework.tokenizer.trained import TrainedTokenizer

if TYPE_CHECKING:
    from piecework.counting.store import Counts

__all__ = ["Passage", "study_tables", "study_units"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a document, shown in tokens in the report."""

    language: str
    category: str
    text: str


def study_tables(
    tokenizers: Mapping[str, TrainedTokenizer],
    counts: Counts,
    passages: Sequence[Passage],
    *,
    units: EvaluationUnits,
    parallel: ParallelText | None = None,
    paper_findings: bool | None = None,
    model: ModelShape | None = None,
    base: TrainedTokenizer | None = None,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Table]:
    """Every table by name. `tokenizers` are `multilingual`, its smaller sizes, and one named after each language.

    `base` is the tokenizer that they extend; tables call it `base`.

    `units` come from `study_units`, prepared or not; their memory is released. Without `paper_findings`, the paper's
    findings are tested if the study has the paper's languages. `progress(done, wanted)` counts steps.
    """
    steps = _Steps(len(tokenizers) + (base is not None) + 3, progress)
    compared = {name: each for name, each in tokenizers.items() if name == MULTILINGUAL or name in counts.languages}
    sizes = sorted({each.vocab_size for name, each in tokenizers.items() if name not in counts.languages})
    before = {} if base is None else {BASE: base}
    evaluation = evaluate_on(
        units,
        {**tokenizers, **before},
        metrics=all_metrics(),
        sizes={MULTILINGUAL: sizes},
        threads=threads,
        progress=lambda _done, _wanted: steps.done(),
    )
    subsets = units.by_subset
    units.release()
    overlaps = Overlaps(compared, evaluation=evaluation)
    overlap = overlaps.table()
    curves = {name: overlaps.curve(MULTILINGUAL, name) for name in compared if name != MULTILINGUAL}
    steps.done()
    tables = {
        "metrics": evaluation.metrics,
        "sizes": _sizes(evaluation),
        "overlap": overlap,
        "overlap_sizes": _overlap_sizes(curves),
    }
    steps.done()
    tables |= {
        "lengths": _of_each(tokenizers, lengths_table),
        "vocabulary": _of_each(tokenizers, groups_table),
        "use": use_table(evaluation, evaluation.frequency_array(MULTILINGUAL)),
        "pieces": _pieces(tokenizers[MULTILINGUAL], evaluation),
        "corpus": _corpus(counts),
        "skipped": _skipped(counts),
        "examples": _examples(compared, passages),
        "languages": languages_table(evaluation),
    }
    if is_like_the_paper(evaluation.groups) if paper_findings is None else paper_findings:
        tables["findings"] = check_findings(evaluation, curves)
    # One pass by subset serves the table of categories and the checks.
    use = piece_use(tokenizers[MULTILINGUAL], counts, units=subsets, threads=threads)
    if (categories := categories_table(tokenizers[MULTILINGUAL], counts, use)) is not None:
        tables["categories"] = categories
    if parallel is not None:
        tables["parallel"] = _parallel({**tokenizers, **before}, parallel, threads=threads)
    tables["health"] = check(tokenizers[MULTILINGUAL], counts, use=use, threads=threads).table()
    if model is not None:
        tables |= _size_costs(size_costs(tokenizers[MULTILINGUAL], counts, model, threads=threads))
    tables["summary"] = summarise(evaluation, overlap, tables.get("parallel"))
    steps.done()
    return {name: Table(tables[name].to_arrow(), title=title) for name, title in TITLES.items() if name in tables}


def _size_costs(costs: SizeCosts) -> dict[str, Table]:
    advice = costs.advice
    low, high = advice.interval or (None, None)
    row = (advice.size, low, high, advice.least, advice.still_falls, advice.reason, advice.certainty, WARNING)
    names = ["vocab_size", "low", "high", "least", "still_falls", "reason", "certainty", "warning"]
    types: dict[str, pa.DataType] = dict.fromkeys(names[:4], pa.int64()) | {"still_falls": pa.bool_()}
    types |= dict.fromkeys(names[5:], pa.string())
    return {"size_costs": costs.table(), "size_advice": Table.of(names, [row], types=types)}


def study_units(counts: Counts) -> EvaluationUnits:
    """The evaluation units of a study; nothing is read yet."""
    by_subset = evaluation_units(counts, all_metrics(), by="subset")
    return evaluation_units(counts, all_metrics(), overall=True, by_subset=by_subset)


class _Steps:
    """Counts finished steps."""

    def __init__(self, wanted: int, progress: Callable[[int, int], None] | None) -> None:
        self._done, self._wanted, self._progress = 0, wanted, progress

    def done(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._wanted)


def _of_each(tokenizers: Mapping[str, TrainedTokenizer], table_of: Callable[[TrainedTokenizer], Table]) -> Table:
    """One table of all tokenizers; the name and size of the tokenizer are the first columns."""
    parts = []
    for name, tokenizer in tokenizers.items():
        part = table_of(tokenizer).to_arrow()
        part = part.add_column(0, "vocab_size", pa.repeat(pa.scalar(tokenizer.vocab_size), len(part)))
        parts.append(part.add_column(0, "tokenizer", pa.repeat(pa.scalar(name), len(part))))
    return Table(pa.concat_tables(parts))


def _parallel(tokenizers: Mapping[str, TrainedTokenizer], text: ParallelText, *, threads: int) -> Table:
    """Premiums of the multilingual tokenizer, at each of its sizes; the column `pivot` names the pivot."""
    sizes = {name: each for name, each in tokenizers.items() if name.startswith(MULTILINGUAL) or name == BASE}
    table = evaluate_parallel(sizes, text.lines, pivot=text.pivot, threads=threads).to_arrow()
    return Table(table.append_column("pivot", pa.repeat(pa.scalar(text.pivot), len(table))))


def _sizes(evaluation: Evaluation) -> Table:
    """The multilingual tokenizer at every size: a row for each language and size, a column for each metric."""
    metrics = [metric for metric in evaluation.metric_list if metric.has_curve]
    parts = []
    for language in (*evaluation.groups, OVERALL):
        curves = {metric.name: evaluation.curve(MULTILINGUAL, language, metric) for metric in metrics}
        sizes = next(iter(curves.values())).vocab_sizes
        columns: dict[str, Any] = {"language": pa.repeat(pa.scalar(language), len(sizes)), "vocab_size": sizes}
        parts.append(pa.table(columns | {name: _column(curve.values) for name, curve in curves.items()}))
    return Table(pa.concat_tables(parts))


def _overlap_sizes(curves: Mapping[str, OverlapCurve]) -> Table:
    """The multilingual vocabulary at every size: its overlap with each monolingual one, at full and at equal size."""
    names = ["vocab_size", "pieces", "shared", "relative", "relative_to_other", "jaccard", "weighted"]
    types: dict[str, pa.DataType] = {"language": pa.string()} | dict.fromkeys(names, pa.float64())
    types |= dict.fromkeys(names[:3], pa.int64()) | {"relative_at_equal_size": pa.float64()}
    schema = pa.schema(types)
    parts = [schema.empty_table()]
    for language, curve in curves.items():
        columns = {name: _column(getattr(curve, name)) for name in names[1:]}
        at_equal = curve.shared_at_equal_size
        columns["relative_at_equal_size"] = _column(
            np.full(len(curve.vocab_sizes), np.nan) if at_equal is None else at_equal / np.maximum(curve.pieces, 1)
        )
        names_column = pa.repeat(pa.scalar(language), len(curve.vocab_sizes))
        table = pa.table({"language": names_column, "vocab_size": curve.vocab_sizes, **columns})
        parts.append(table.cast(schema))
    return Table(pa.concat_tables(parts))


def _column(values: Array) -> pa.Array[Any]:
    """A column in which NaN is null."""
    missing = np.isnan(values)
    return pa.array(values, mask=missing if missing.any() else None)


def _pieces(tokenizer: TrainedTokenizer, evaluation: Evaluation) -> Table:
    """Each piece: the first size that has it, whether it is reachable, and its tokens in each language."""
    sizes = Sizes.of(tokenizer)
    ranks = np.full(tokenizer.vocab_size, -1)
    ranks[sizes.merges] = np.arange(len(sizes.merges))
    pieces = piece_columns(tokenizer)
    columns: dict[str, Any] = {
        "id": np.arange(tokenizer.vocab_size),
        "piece": pieces.texts,
        "score": tokenizer._scores,
        "type": tokenizer._types,
        "group": pa.array(GROUP_ORDER).take(pieces.groups),
        "characters": pieces.characters,
        "rank": pa.array(ranks, mask=ranks < 0),
        "since_size": sizes.smallest + 1 + ranks,
        "reachable": reachable_pieces(tokenizer),
    }
    frequencies = evaluation.frequency_array(MULTILINGUAL)
    columns["tokens"] = frequencies.sum(axis=0)
    columns |= {f"tokens_{language}": frequencies[row] for row, language in enumerate(evaluation.groups)}
    return Table(pa.table(columns))


def _corpus(counts: Counts) -> Table:
    subsets = counts.subsets
    names = [f"{row['category']}_{row['language']}" for row in subsets.to_pylist()]
    return Table(subsets.add_column(0, "subset", pa.array(names, pa.string())))


def _skipped(counts: Counts) -> Table:
    text = pa.string()
    types = {"language": text, "category": text, "reason": text, "records": pa.int64(), "first": text}
    rows = [
        (row["language"], row["category"], row["reason"], row["records"], "\n".join(row["first"]))
        for row in counts.description["skipped"]
    ]
    return Table.of(types, rows, types=types)


def _examples(tokenizers: Mapping[str, TrainedTokenizer], passages: Sequence[Passage]) -> Table:
    """Each passage, split by the multilingual tokenizer and by that of its language."""
    rows = []
    for passage in passages:
        names = [name for name in (MULTILINGUAL, passage.language) if name in tokenizers]
        for example in examples({name: tokenizers[name] for name in names}, {"": passage.text}):
            rows.append(
                (
                    passage.language,
                    passage.category,
                    example.tokenizer,
                    passage.text,
                    len(example.tokens),
                    example.ids,
                    example.pieces,
                    [start for start, _ in example.offsets],
                    [end for _, end in example.offsets],
                    tokenizers[example.tokenizer].decode(example.ids),
                )
            )
    numbers, texts = pa.list_(pa.int64()), pa.list_(pa.string())
    types: dict[str, pa.DataType] = dict.fromkeys(["language", "category", "tokenizer", "text"], pa.string())
    types |= {"tokens": pa.int64()}
    types |= {"ids": numbers, "pieces": texts, "starts": numbers, "ends": numbers, "decoded": pa.string()}
    return Table.of(types, rows, types=types)
