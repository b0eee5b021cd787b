"""Tests each finding of the paper on a study: whether it holds, and where it does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

from piecework.evaluation.evaluation import Evaluation
from piecework.evaluation.overlap import vocabulary_overlap
from piecework.evaluation.tables import Table

__all__ = ["Check", "check_findings"]

SCANDINAVIAN = ("da", "no", "sv")


@dataclass(frozen=True, slots=True)
class Check:
    """A finding, one case of it, whether it holds there, and the values that show it."""

    finding: str
    case: str
    holds: bool
    figures: str


def check_findings(
    evaluation: Evaluation, *, multilingual: str = "multilingual", overlap: Table | None = None
) -> Table:
    """Each finding of the paper for each case in the evaluation, by fertility.

    Monolingual tokenizers are those called after a language. Nothing is assumed to hold: a finding that does not is a
    row like any other. `overlap` is that of the vocabularies, where it is known already.
    """
    checks = [*_own_best(evaluation, multilingual), *_larger_is_better(evaluation), *_curves_flatten(evaluation)]
    checks += [*_neighbours_help(evaluation), *_english_is_easy(evaluation), *_neighbours_overlap(evaluation, overlap)]
    rows = ((check.finding, check.case, check.holds, check.figures) for check in checks)
    return Table.of(["finding", "case", "holds", "figures"], rows, title="The paper's findings on this text")


def _fertility(evaluation: Evaluation, multilingual: str = "") -> dict[str, dict[str, float]]:
    """By language that has text, then by tokenizer: the monolingual ones, and the multilingual one if it is named."""
    found = {}
    for row in evaluation.matrix("fertility").rows():
        language = row.pop(evaluation.by)
        values = {name: value for name, value in row.items() if name == multilingual or name in evaluation.groups}
        if all(value is not None for value in row.values()):
            found[language] = values
    return found


def _own_best(evaluation: Evaluation, multilingual: str) -> Iterator[Check]:
    for language, values in _fertility(evaluation, multilingual).items():
        if language not in values or multilingual not in values:
            continue
        order = sorted(values, key=lambda name: values[name])
        yield Check(
            "the monolingual tokenizer is best, the multilingual one second",
            language,
            order[:2] == [language, multilingual],
            _listed({name: values[name] for name in order[:3]}),
        )


def _larger_is_better(evaluation: Evaluation) -> Iterator[Check]:
    for (tokenizer, language), values in _by_size(evaluation).items():
        worse = [size for (_, before), (size, after) in pairwise(values.items()) if after > before]
        figures = f"worse at {', '.join(f'{size:,}' for size in worse)}" if worse else _listed(values)
        yield Check("a larger vocabulary is never worse", f"{tokenizer} on {language}", not worse, figures)


def _curves_flatten(evaluation: Evaluation) -> Iterator[Check]:
    for (tokenizer, language), values in _by_size(evaluation).items():
        gains = {
            larger: (before - after) * 1000 / (larger - smaller)
            for (smaller, before), (larger, after) in pairwise(values.items())
        }
        if len(gains) > 1:
            falling = all(later <= earlier for earlier, later in pairwise(gains.values()))
            yield Check(
                "each further 1,000 pieces bring less", f"{tokenizer} on {language}", falling, _listed(gains, digits=5)
            )


def _by_size(evaluation: Evaluation) -> dict[tuple[str, str], dict[int, float]]:
    found: dict[tuple[str, str], dict[int, float]] = {}
    for row in evaluation.sizes.rows():
        if row["metric"] == "fertility" and row["value"] is not None:
            found.setdefault((row["tokenizer"], row[evaluation.by]), {})[row["vocab_size"]] = row["value"]
    return found


def _neighbours_help(evaluation: Evaluation) -> Iterator[Check]:
    fertility = _fertility(evaluation)
    for language in SCANDINAVIAN:
        foreign = {
            name: value for name, value in fertility.get(language, {}).items() if name in fertility and name != language
        }
        if {name for name in SCANDINAVIAN if name != language} <= foreign.keys():
            order = sorted(foreign, key=lambda name: foreign[name])
            yield Check(
                "of the foreign tokenizers, those of sv, no and da serve each other best",
                language,
                set(order[:2]) | {language} == set(SCANDINAVIAN),
                _listed({name: foreign[name] for name in order}),
            )


def _english_is_easy(evaluation: Evaluation) -> Iterator[Check]:
    fertility = _fertility(evaluation)
    for name in evaluation.tokenizers:
        if "en" in fertility and name in fertility and name != "en":
            foreign = {language: values[name] for language, values in fertility.items() if language != name}
            order = sorted(foreign, key=lambda language: foreign[language])
            # "Well" is put to the test as: in the better half of the languages that the tokenizer was not trained on.
            holds = order.index("en") < (len(order) + 1) // 2
            yield Check(
                "English is served well by all",
                name,
                holds,
                _listed({language: foreign[language] for language in order}),
            )


def _neighbours_overlap(evaluation: Evaluation, overlap: Table | None) -> Iterator[Check]:
    monolingual = {name: each for name, each in evaluation.tokenizers.items() if name in evaluation.groups}
    if set(SCANDINAVIAN) <= monolingual.keys():
        pairs = {(row["first"], row["second"]): row for row in (overlap or vocabulary_overlap(monolingual)).rows()}
        jaccard = {
            (first, second): row["jaccard"]
            for (first, second), row in pairs.items()
            if first < second and {first, second} <= monolingual.keys()
        }
        order = sorted(jaccard, key=lambda pair: -jaccard[pair])
        yield Check(
            "vocabularies overlap most between sv, no and da",
            "all pairs",
            set(order[:3]) == set(combinations(SCANDINAVIAN, 2)),
            _listed({"-".join(pair): jaccard[pair] for pair in order[:6]}),
        )


def _listed(values: dict[str, float] | dict[int, float], digits: int = 3) -> str:
    def label(key: str | int) -> str:
        return f"{key:,}" if isinstance(key, int) else key

    return ", ".join(f"{label(key)} {value:.{digits}f}" for key, value in values.items())
