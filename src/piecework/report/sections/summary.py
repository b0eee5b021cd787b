"""The top of the report: settings, key numbers, and findings in sentences."""

from __future__ import annotations

from dataclasses import dataclass

from piecework.common.terms import OVERALL
from piecework.corpus.languages import CODE
from piecework.report.blocks import Figure
from piecework.report.scales import format_number
from piecework.report.sections.cost import cost_figure
from piecework.report.study_data import StudyData
from piecework.study.byte_level_recipe import ByteLevelRecipe
from piecework.study.recipe import AnyRecipe

__all__ = ["Card", "Finding", "Summary", "make_summary"]

MOST_FINDINGS = 6


@dataclass(frozen=True, slots=True)
class Card:
    """A number with its label and a detail."""

    number: str
    label: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence and its certainty."""

    sentence: str
    certainty: str


@dataclass(frozen=True, slots=True)
class Summary:
    """The top of the report."""

    name: str
    description: str
    facts: tuple[tuple[str, str], ...]
    cards: tuple[Card, ...]
    figure: Figure | None
    findings: tuple[Finding, ...]


def make_summary(data: StudyData) -> Summary:
    """The top of the report, from the study's settings and tables."""
    figure = cost_figure(data)
    # One of the findings is the title of the figure.
    headline = figure.title.replace("\u00a0", " ") + "." if figure is not None else None
    sentences = [row for row in data.rows("summary") if row["sentence"] != headline][:MOST_FINDINGS]
    return Summary(
        data.results.name,
        data.results.study.description,
        tuple(_facts(data)),
        tuple(_cards(data)),
        figure,
        tuple(Finding(row["sentence"], row["certainty"]) for row in sentences),
    )


def _facts(data: StudyData) -> list[tuple[str, str]]:
    study = data.results.study
    sampling, recipe = study.sampling, study.recipe
    versions = data.results.run.get("versions", {})
    sample = (
        f"{100 * float(sampling.train):g}\u00a0% for training, {100 * float(sampling.eval):g}\u00a0% for evaluation"
    )
    base = [f"extends {study.extend.base}"] if study.extend else []
    settings = [*base, f"{recipe.vocab_size:,} pieces", *_settings(recipe)]
    known = [f"{name} {version}" for name, version in versions.items() if name in ("piecework", "python")]
    return [
        ("Seed", str(study.seed)),
        ("Sample", sample),
        ("Weights act on", sampling.weighting),
        ("Recipe", ", ".join(settings)),
        ("Made with", ", ".join(reversed(known))),
    ]


def _settings(recipe: AnyRecipe) -> list[str]:
    if isinstance(recipe, ByteLevelRecipe):
        name, *further = recipe.cut_settings.items()
        return [
            "byte-level BPE",
            " with ".join([f"pre-tokenizer {name[1]}", *(f"{key} = {value}" for key, value in further)]),
            f"special tokens: {', '.join(recipe.special_tokens) or 'none'}",
        ]
    return [
        f"character coverage {recipe.character_coverage:g}",
        "byte fallback" if recipe.byte_fallback else "no byte fallback",
        "split digits" if recipe.split_digits else "digits not split",
        f"whitespace runs: {recipe.whitespace_runs or 'none'}",
    ]


def _cards(data: StudyData) -> list[Card]:
    corpus = data.rows("corpus")
    cards = [Card(f"{data.vocab_size:,}", "pieces", _count(len(data.results.tokenizers), "tokenizer") + " trained")]
    names = [data.inline_name(language) for language in data.languages]
    listed = ", ".join(names) if len(names) <= 8 else ", ".join(names[:7]) + f" and {len(names) - 7} more"
    cards.append(Card(str(len(names)), "language" if len(names) == 1 else "languages", listed))
    if corpus:
        documents = sum(row["train_documents"] for row in corpus)
        cards.append(
            Card(_size(sum(row["train_bytes"] for row in corpus)), "training text", _count(documents, "document"))
        )
    # Tokens per word of all text mean nothing if some languages have no spaces.
    metric, label = ("bytes_per_token", "bytes per token") if data.unspaced else ("fertility", "tokens per word")
    overall = data.estimate(metric, OVERALL)
    if overall.value is not None:
        interval = (
            f"95 % interval {format_number(overall.low)}–{format_number(overall.high)}"
            if overall.low is not None
            else "too few documents for an interval"
        )
        cards.append(
            Card(
                format_number(overall.value),
                f"{label}, all text{' with code' if CODE in data.languages else ''}",
                interval,
            )
        )
    return cards


def _size(size_bytes: int) -> str:
    """A size in a fitting unit.

    >>> _size(12_345), _size(60_612_000), _size(5_240_000_000)
    ('12 kB', '60.6 MB', '5.2 GB')
    """
    units = {"GB": 1e9, "MB": 1e6, "kB": 1e3}
    unit = next((unit for unit, factor in units.items() if size_bytes >= factor), "kB")
    size = size_bytes / units[unit]
    return f"{format_number(size, decimals=0 if size >= 100 or unit == 'kB' else 1)} {unit}"


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
