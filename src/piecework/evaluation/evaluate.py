"""Evaluates tokenizers on counted text: each tokenizer encodes each distinct unit once, for all metrics and sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from piecework.common.threads import in_threads
from piecework.errors import InputError
from piecework.evaluation.curves import Sizes, is_smaller_size
from piecework.evaluation.estimates import estimates
from piecework.evaluation.evaluation import Evaluation, TokenizerResult
from piecework.evaluation.metrics import Metric, find_metrics
from piecework.evaluation.passes import TEXT_TOTALS, Evaluator, PassResult, check_units
from piecework.evaluation.units import EvaluationUnits, GroupBy, UnitSource
from piecework.tokenizer.trained import TrainedTokenizer

__all__ = ["Tokenizers", "evaluate", "evaluate_on", "evaluation_units", "named_tokenizers"]

Tokenizers = Mapping[str, TrainedTokenizer] | Sequence[TrainedTokenizer] | TrainedTokenizer


def evaluate(
    tokenizers: Tokenizers,
    counts: UnitSource,
    *,
    by: GroupBy = "language",
    languages: Sequence[str] | None = None,
    metrics: Iterable[str | Metric] | None = None,
    sizes: Sequence[int] | Mapping[str, Sequence[int]] = (),
    curves: bool = False,
    overall: bool = False,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Evaluates each tokenizer on each language of the counts, with 95 % intervals.

    `sizes` adds estimates for these vocabulary sizes, for all tokenizers or by name. `sizes` or `curves` adds the curve
    over every vocabulary size. `overall` adds all languages together, as a language called `overall`: each document
    counts as it was sampled. `progress(done, wanted)` is called with the number of tokenizers.

    >>> import piecework as pw
    >>> text = ["en rask räv hoppar över en lat hund"] * 9
    >>> tokenizer = pw.train(pw.count_words(text), pw.Recipe(vocab_size=30))
    >>> evaluation = evaluate({"small": tokenizer}, pw.count_units({"sv": text}))
    >>> row = evaluation.metrics.where(metric="word_fertility").rows()[0]
    >>> row["value"], row["numerator"], row["denominator"]
    (2.75, 198.0, 72.0)
    """
    chosen = find_metrics(metrics)
    if not chosen:
        raise InputError("no metric to evaluate")
    if by not in ("language", "subset"):
        raise InputError(f'by is "language" or "subset", not {by!r}')
    units = evaluation_units(counts, chosen, languages, by, overall=overall)
    return evaluate_on(
        units, tokenizers, metrics=chosen, sizes=sizes, curves=curves, threads=threads, progress=progress
    )


def evaluate_on(
    units: EvaluationUnits,
    tokenizers: Tokenizers,
    *,
    metrics: Sequence[Metric],
    sizes: Sequence[int] | Mapping[str, Sequence[int]] = (),
    curves: bool = False,
    passes: Mapping[str, PassResult] | None = None,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Evaluates tokenizers on the units that `evaluation_units` returned for these metrics.

    `passes` has the results of tokenizers that have encoded these units before.
    """
    named = named_tokenizers(tokenizers)
    if threads < 1:
        raise InputError(f"threads must be 1 or more, not {threads}")
    listed = {name: sizes.get(name, ()) if isinstance(sizes, Mapping) else sizes for name in named}
    for name, tokenizer in named.items():
        check_units(name, tokenizer, units.pre_tokenizer)
    larger = _larger(named)
    plans: dict[str, Sizes | None] = {}
    for name, tokenizer in named.items():
        smaller = [named[other].vocab_size for other, base in larger.items() if base == name]
        has_sizes = bool(listed[name] or smaller or curves)
        plans[name] = Sizes.of(tokenizer, [*listed[name], *smaller], name=name) if has_sizes else None
    if not any(text[:, :, TEXT_TOTALS.index("characters")].any() for text in units.text.values()):
        raise InputError(
            f"there is no evaluation text in {', '.join(units.languages) or 'these counts'}; raise the evaluation"
            " fraction (sampling.eval) and count again, or give documents"
        )
    in_blocks = not all(metric.adds_up for metric in metrics)
    together: dict[str, list[str]] = {}  # by tokenizer, itself and its smaller sizes
    for name in named:
        together.setdefault(larger.get(name, name), []).append(name)
    # One tokenizer per thread: threads need not add up their totals, and one computes estimates while others encode.
    at_once = min(threads, len(together))

    def result(name: str, found: PassResult) -> TokenizerResult:
        totals, plan = found.totals_by_table(), plans[name]
        return TokenizerResult(
            totals=totals,
            estimates=estimates(named[name], found, totals, units, metrics),
            sizes=plan,
            listed_sizes=sorted(set(listed[name])),
        )

    def evaluate_base(base: str) -> dict[str, TokenizerResult]:
        evaluator = Evaluator(named[base], name=base, sizes=plans[base], threads=threads // at_once)
        found = (passes or {}).get(base) or evaluator.run(units, in_blocks=in_blocks)
        return {
            name: result(name, found if name == base else evaluator.smaller(found, named[name]))
            for name in together[base]
        }

    results: dict[str, TokenizerResult] = {}
    for found in in_threads(evaluate_base, together, threads=at_once):
        for name in found:
            results[name] = found[name]
            if progress is not None:
                progress(len(results), len(named))
    return Evaluation(named, metrics, units, {name: results[name] for name in named})


def _larger(tokenizers: Mapping[str, TrainedTokenizer]) -> dict[str, str]:
    """Maps each tokenizer that is a smaller size of another one to that one, whose pass gives both results."""
    found = {}
    by_size = sorted(tokenizers, key=lambda name: -tokenizers[name].vocab_size)
    for name in by_size:
        for base in by_size:
            if base not in found and is_smaller_size(tokenizers[name], tokenizers[base]):
                found[name] = base
                break
    return found


def named_tokenizers(tokenizers: Tokenizers) -> dict[str, TrainedTokenizer]:
    """The tokenizers by name. Without names they are "tokenizer 1", "tokenizer 2", …; a single one is "tokenizer"."""
    if isinstance(tokenizers, TrainedTokenizer):
        tokenizers = {"tokenizer": tokenizers}
    elif not isinstance(tokenizers, Mapping):
        tokenizers = {f"tokenizer {number}": each for number, each in enumerate(tokenizers, 1)}
    if not tokenizers:
        raise InputError("no tokenizer to evaluate")
    for name, tokenizer in tokenizers.items():
        if not isinstance(tokenizer, TrainedTokenizer):
            raise InputError(
                f'"{name}" is a {type(tokenizer).__name__}, not a piecework.Tokenizer; '
                "load a BPE model with piecework.Tokenizer.load(path), or piecework.ByteLevelTokenizer.load(path)"
            )
    return dict(tokenizers)


def evaluation_units(
    counts: UnitSource,
    metrics: Sequence[Metric],
    languages: Sequence[str] | None = None,
    by: GroupBy = "language",
    *,
    overall: bool = False,
    by_subset: EvaluationUnits | None = None,
) -> EvaluationUnits:
    """The units that these metrics need; nothing is read yet. `by_subset` are the same units by subset, if known."""
    if languages is None:
        wanted = list(counts.languages)
    else:
        wanted = [languages] if isinstance(languages, str) else list(dict.fromkeys(languages))
        if missing := [language for language in wanted if language not in counts.languages]:
            raise InputError(
                f'no language "{missing[0]}" in these counts; there is {", ".join(counts.languages) or "none"}'
            )
    kinds = sorted({metric.units for metric in metrics})
    in_blocks = {metric.units for metric in metrics if not metric.adds_up}
    return EvaluationUnits(counts, kinds, wanted, by=by, in_blocks=in_blocks, overall=overall, by_subset=by_subset)
