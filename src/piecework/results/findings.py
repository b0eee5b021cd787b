"""Tests each finding of the paper on a study: whether it holds, and where it does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from piecework.common.terms import MULTILINGUAL
from piecework.corpus.languages import CODE
from piecework.evaluation.evaluation import Evaluation
from piecework.evaluation.overlap import OverlapCurve
from piecework.evaluation.tables import Table

__all__ = ["Check", "check_findings", "is_like_the_paper"]

SCANDINAVIAN = ("da", "no", "sv")
PAPER_LANGUAGES = frozenset({*SCANDINAVIAN, "en", "is"})
METRICS = ("fertility", "continued_words")
SAME_PATTERN = 0.9
"""Two rankings of tokenizers show the same pattern from this rank correlation on."""

Values = Mapping[str, Mapping[str, float]]
"""By language that has text, then by tokenizer."""


@dataclass(frozen=True, slots=True)
class Check:
    """A finding, one case of it, whether it holds there, and the values that show it."""

    finding: str
    case: str
    holds: bool
    evidence: str


def is_like_the_paper(languages: Sequence[str]) -> bool:
    """Whether a study has the paper's languages. Code may be missing.

    >>> is_like_the_paper(["code", "da", "en", "is", "no", "sv"]), is_like_the_paper(["da", "en"])
    (True, False)
    """
    return set(languages) >= PAPER_LANGUAGES


def check_findings(evaluation: Evaluation, overlaps: Mapping[str, OverlapCurve]) -> Table:
    """Tests each finding for each case in the evaluation; languages without spaces are left out.

    The monolingual tokenizers are those named after a language. `overlaps` are the overlaps of the multilingual
    vocabulary with each of them. Nothing is assumed to hold: a finding that does not hold is a row like any other.
    """
    fertility, continued = (_values(evaluation, metric) for metric in METRICS)
    checks = [
        *_own_best(fertility),
        *_same_pattern(fertility, continued),
        *_scandinavian(fertility),
        *_stands_out(fertility),
        *_english_is_easy(fertility),
        *_larger_is_better(evaluation),
        *_gains_shrink(evaluation),
        *_overlap_of_english(overlaps),
        *_overlap_of_icelandic(overlaps),
    ]
    rows = ((check.finding, check.case, check.holds, check.evidence) for check in checks)
    return Table.of(["finding", "case", "holds", "evidence"], rows, title="The paper's findings on this text")


def _values(evaluation: Evaluation, metric: str) -> Values:
    """The values of the multilingual tokenizer and of the monolingual ones."""
    found = {}
    for row in evaluation.matrix(metric).rows():
        language = row.pop(evaluation.by)
        values = {name: value for name, value in row.items() if name == MULTILINGUAL or name in evaluation.groups}
        if all(value is not None for value in values.values()) and language not in evaluation.without_spaces:
            found[language] = values
    return found


def _foreign(values: Values, language: str) -> dict[str, float]:
    """The values of the tokenizers of other languages, the best first."""
    foreign = {name: value for name, value in values[language].items() if name in values and name != language}
    return dict(sorted(foreign.items(), key=lambda item: item[1]))


def _own_best(fertility: Values) -> Iterator[Check]:
    for language, values in fertility.items():
        if language in values and MULTILINGUAL in values:
            order = sorted(values, key=lambda name: values[name])
            yield Check(
                "the monolingual tokenizer is best, the multilingual one second",
                language,
                order[:2] == [language, MULTILINGUAL],
                _listed({name: values[name] for name in order[:3]}),
            )


def _same_pattern(fertility: Values, continued: Values) -> Iterator[Check]:
    """Compares the order of the tokenizers by fertility with that by continued words."""
    for language in fertility:
        names = list(fertility[language])
        if len(names) > 2 and language in continued:
            columns = [[values[language][name] for name in names] for values in (fertility, continued)]
            ranks = [np.argsort(np.argsort(column)) for column in columns]
            # Spearman's formula for ranks without ties.
            differences = float(((ranks[0] - ranks[1]) ** 2).sum())
            correlation = 1 - 6 * differences / (len(names) * (len(names) ** 2 - 1))
            yield Check(
                "both metrics show the same pattern",
                language,
                correlation >= SAME_PATTERN,
                f"rank correlation of the tokenizers {correlation:.2f}",
            )


def _scandinavian(fertility: Values) -> Iterator[Check]:
    for language in SCANDINAVIAN:
        foreign = _foreign(fertility, language) if language in fertility else {}
        if {name for name in SCANDINAVIAN if name != language} <= foreign.keys():
            yield Check(
                "of the foreign tokenizers, those of sv, no and da serve each other best",
                language,
                {*list(foreign)[:2], language} == set(SCANDINAVIAN),
                _listed(foreign),
            )


def _stands_out(fertility: Values) -> Iterator[Check]:
    """Compares Icelandic, and code, with all other languages by the mean fertility of foreign tokenizers."""
    foreign = {language: list(_foreign(fertility, language).values()) for language in fertility}
    means = {language: float(np.mean(values)) for language, values in foreign.items() if values}
    others = {language: mean for language, mean in means.items() if language not in ("is", CODE)}
    for language in ("is", CODE):
        if language in means and others:
            yield Check(
                "Icelandic and code stand out: the tokenizers of other languages serve them worst",
                language,
                means[language] > max(others.values()),
                _listed(dict(sorted(means.items(), key=lambda item: -item[1]))),
            )


def _english_is_easy(fertility: Values) -> Iterator[Check]:
    for name in fertility:
        if "en" in fertility and name != "en" and name in fertility["en"]:
            foreign = {language: fertility[language][name] for language in fertility if language != name}
            order = sorted(foreign, key=lambda language: foreign[language])
            # "Well" is tested as: in the better half of the languages that the tokenizer was not trained on.
            yield Check(
                "English is served well by all",
                name,
                order.index("en") < (len(order) + 1) // 2,
                _listed({language: foreign[language] for language in order}),
            )


def _larger_is_better(evaluation: Evaluation) -> Iterator[Check]:
    for (tokenizer, language), values in _by_size(evaluation).items():
        worse = [size for (_, before), (size, after) in pairwise(values.items()) if after > before]
        evidence = f"worse at {', '.join(f'{size:,}' for size in worse)}" if worse else _listed(values)
        yield Check("a larger vocabulary is never worse", f"{tokenizer} on {language}", not worse, evidence)


def _gains_shrink(evaluation: Evaluation) -> Iterator[Check]:
    for (tokenizer, language), values in _by_size(evaluation).items():
        gains = {
            larger: (before - after) * 1000 / (larger - smaller)
            for (smaller, before), (larger, after) in pairwise(values.items())
        }
        if len(gains) > 1:
            shrink = all(later <= earlier for earlier, later in pairwise(gains.values()))
            case = f"{tokenizer} on {language}"
            yield Check("each further 1,000 pieces bring less", case, shrink, _listed(gains, digits=5))


def _by_size(evaluation: Evaluation) -> dict[tuple[str, str], dict[int, float]]:
    found: dict[tuple[str, str], dict[int, float]] = {}
    for row in evaluation.sizes.where(metric="fertility").rows():
        language = row[evaluation.by]
        if row["value"] is not None and language in evaluation.groups and language not in evaluation.without_spaces:
            found.setdefault((row["tokenizer"], language), {})[row["vocab_size"]] = row["value"]
    return found


def _overlap_of_english(overlaps: Mapping[str, OverlapCurve]) -> Iterator[Check]:
    shares = {language: float(curve.relative_to_other[-1]) for language, curve in overlaps.items()}
    scandinavian = [shares[language] for language in SCANDINAVIAN if language in shares]
    if "en" in shares and scandinavian:
        yield Check(
            "the multilingual vocabulary has less of the English one than of the sv, no and da ones",
            "en",
            shares["en"] < min(scandinavian),
            _listed(dict(sorted(shares.items(), key=lambda item: -item[1]))),
        )


def _overlap_of_icelandic(overlaps: Mapping[str, OverlapCurve]) -> Iterator[Check]:
    """The share of each monolingual vocabulary that the second half of the multilingual one adds."""
    added = {}
    for language, curve in overlaps.items():
        half = int(np.searchsorted(curve.vocab_sizes, curve.vocab_sizes[-1] / 2))
        added[language] = float(curve.relative_to_other[-1] - curve.relative_to_other[half])
    if "is" in added and len(added) > 1:
        yield Check(
            "the overlap with Icelandic flattens: the second half of the vocabulary adds least to it",
            "is",
            added["is"] == min(added.values()),
            _listed(dict(sorted(added.items(), key=lambda item: item[1]))),
        )


def _listed(values: Mapping[str, float] | Mapping[int, float], digits: int = 3) -> str:
    def label(key: str | int) -> str:
        return f"{key:,}" if isinstance(key, int) else key

    return ", ".join(f"{label(key)} {value:.{digits}f}" for key, value in values.items())
