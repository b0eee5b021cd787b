"""The weight of each subset: from the tables of a study, from a CSV, from a temperature, or from UniMax."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any

from piecework.common.mistakes import did_you_mean, listed
from piecework.common.subset_name import SubsetName
from piecework.corpus.inputs import InputFile
from piecework.corpus.readers import open_batches
from piecework.corpus.record_languages import LanguageField, RecordLanguages
from piecework.errors import InputError, Mistake
from piecework.study.csv_weights import read_csv
from piecework.study.schema import StudySettings

__all__ = ["SubsetText", "estimate_text_bytes", "resolve_weights", "temperature_weights", "unimax_weights"]

# Enough to estimate the share of text in a stored file, given JSON and compression.
SAMPLED_FILES = 4
SAMPLED_BYTES = 1 << 20

SMALLEST_WEIGHT = Decimal("0.000001")
SMALLEST_SHARE = Fraction(SMALLEST_WEIGHT)


@dataclass(frozen=True, slots=True)
class SubsetText:
    """The files of a subset, and the fields of its text and language."""

    files: Sequence[InputFile] = ()
    text_field: str = "text"
    language_field: str | None = None


def resolve_weights(
    study: StudySettings, subsets: Mapping[SubsetName, SubsetText], mistakes: list[Mistake]
) -> dict[SubsetName, Fraction]:
    """The weight of each subset. A weight for a missing language, category or subset is a mistake."""
    if study.weights.csv is not None:
        return _weights_of_csv(study, list(subsets), mistakes)
    for preset in ("temperature", "unimax"):
        if getattr(study.weights, preset) is not None:
            try:
                return _weights_by_language(study, subsets)
            except InputError as error:
                mistakes.append(study.mistake(("weights", preset), f"cannot measure the corpus: {error}"))
                return {}
    tables = study.weights
    names = {
        "language": sorted({name.language for name in subsets}),
        "category": sorted({name.category for name in subsets}),
        "subset": list(map(str, subsets)),
    }
    for kind, known in names.items():
        for name in getattr(tables, kind):
            if name not in known:
                mistakes.append(study.mistake(("weights", kind, name), _not_there(kind, name, known)))
    one = Fraction(1)
    return {
        name: tables.category.get(name.category, one)
        * tables.language.get(name.language, one)
        * tables.subset.get(str(name), one)
        for name in subsets
    }


def _not_there(kind: str, name: str, known: Iterable[str], where: str = "[weights]") -> str:
    known = list(known)
    plural = {"language": "languages", "category": "categories", "subset": "subsets"}[kind]
    hint = did_you_mean(name, known)
    return f'{where}: the corpus has no {kind} "{name}"{hint or f"; its {plural} are {listed(known)}"}'


def _weights_of_csv(
    study: StudySettings, subsets: Sequence[SubsetName], mistakes: list[Mistake]
) -> dict[SubsetName, Fraction]:
    """Weights from the CSV. Every subset needs one; a weight for a missing subset is ignored."""
    assert study.weights.csv is not None
    path = study.folder / study.weights.csv
    if not path.is_file():
        key = ("weights", "csv")
        mistakes.append(study.mistake(key, f'csv = "{study.weights.csv}" in [weights]: no such file'))
        return {}
    before = len(mistakes)
    table = read_csv(path, mistakes)
    if len(mistakes) > before and not table.weights:
        return {}
    categories = sorted({name.category for name in subsets})
    languages = sorted({name.language for name in subsets})
    for language, column in table.columns.items():
        if language not in languages:
            mistakes.append(
                Mistake(_not_there("language", language, languages, f"column {column}"), str(path), table.header_line)
            )
    for category, line in table.rows.items():
        if category not in categories:
            mistakes.append(Mistake(_not_there("category", category, categories, "column 1"), str(path), line))
    for category in categories:
        if category not in table.rows:
            mistakes.append(Mistake(f'no row for category "{category}" of the corpus', str(path)))
    for language in languages:
        if language not in table.columns:
            mistakes.append(Mistake(f'no column for language "{language}" of the corpus', str(path)))
    for name in subsets:
        if name.category in table.rows and name.language in table.columns and name not in table.weights:
            cell = f"column {table.columns[name.language]} ({name.language})"
            message = f"{cell} is empty, and the corpus has {name}; give it a weight, 0 to leave it out"
            mistakes.append(Mistake(message, str(path), table.rows[name.category]))
    return table.weights


def _weights_by_language(study: StudySettings, subsets: Mapping[SubsetName, SubsetText]) -> dict[SubsetName, Fraction]:
    """The weights that follow from the amount of text in each language."""
    text_bytes: dict[str, int] = {}
    for name, text in subsets.items():
        field = LanguageField(text.language_field, frozenset({name.language})) if text.language_field else None
        size_bytes = estimate_text_bytes(text.files, text.text_field, language=field)
        text_bytes[name.language] = text_bytes.get(name.language, 0) + size_bytes
    alpha, epochs = study.weights.temperature, study.weights.unimax
    if epochs is not None:
        weights = unimax_weights(text_bytes, epochs)
    else:
        weights = temperature_weights(text_bytes, Fraction(1) if alpha is None else alpha)
    return {name: weights[name.language] for name in subsets}


def temperature_weights(text_bytes: Mapping[str, int], alpha: Fraction) -> dict[str, Fraction]:
    """Weights that give language i the share qᵢ ∝ pᵢ^α of the sample, where pᵢ is its share of the text.

    The weight is qᵢ / pᵢ, so the sample as a whole stays as large as without weights. It is rounded to six decimals,
    and computed in decimal arithmetic, so that it is the same on every machine.

    >>> temperature_weights({"sv": 900, "is": 100}, Fraction(1, 2))
    {'sv': Fraction(833333, 1000000), 'is': Fraction(5, 2)}
    """
    context = Context(prec=50, rounding=ROUND_HALF_EVEN)
    total = Decimal(sum(text_bytes.values()))
    exponent = context.divide(Decimal(alpha.numerator), Decimal(alpha.denominator))
    shares = {name: context.divide(Decimal(size), total) for name, size in text_bytes.items() if size}
    powers = {name: context.power(share, exponent) for name, share in shares.items()}
    sum_of_powers = sum(powers.values(), Decimal(0))
    weights = {}
    for name in text_bytes:
        if name not in shares:
            weights[name] = Fraction(1)  # empty files: any weight will do
            continue
        wanted = context.divide(powers[name], sum_of_powers)
        weight = context.divide(wanted, shares[name]).quantize(SMALLEST_WEIGHT, context=context)
        weights[name] = Fraction(max(weight, SMALLEST_WEIGHT))
    return weights


def unimax_weights(text_bytes: Mapping[str, int], epochs: int) -> dict[str, Fraction]:
    """Weights that give every language the same amount of text, but use no text more than `epochs` times.

    What small languages cannot take is shared by the others (UniMax, Chung et al. 2023). The sample as a whole stays as
    large as without weights. Weights are rounded to six decimals.

    >>> unimax_weights({"sv": 800, "is": 20, "da": 180}, 4)
    {'sv': Fraction(23, 40), 'is': Fraction(4, 1), 'da': Fraction(638889, 250000)}
    """
    left = Fraction(sum(text_bytes.values()))
    weights = dict.fromkeys(text_bytes, Fraction(1))  # empty files: any weight will do
    waiting = sorted((size, name) for name, size in text_bytes.items() if size)
    for number, (size, name) in enumerate(waiting):
        share = min(left / (len(waiting) - number), Fraction(size * epochs))
        left -= share
        weights[name] = max(Fraction(round(share / size / SMALLEST_SHARE)) * SMALLEST_SHARE, SMALLEST_SHARE)
    return weights


def estimate_text_bytes(files: Sequence[InputFile], text_field: str, *, language: LanguageField | None = None) -> int:
    """Estimates the bytes of text in files: their size, times the share of text in a sample of them.

    Languages can be stored in different ways: a .jsonl.zst holds three times the text of a plain file of the same size.
    The sample is one megabyte of at most four files of each format, spread evenly. With `language`, only the text in
    its languages counts.
    """
    by_format: dict[tuple[str, str | None], list[InputFile]] = {}
    for file in files:
        by_format.setdefault((file.format, file.compression), []).append(file)
    total = 0
    for (file_format, compression), alike in by_format.items():
        stored = [file for file in sorted(alike, key=lambda file: str(file.path)) if file.size_bytes]
        size_bytes = sum(file.size_bytes for file in stored)
        if not stored or (file_format == "text" and compression is None):
            total += size_bytes
            continue
        text = read = 0
        for index in range(min(SAMPLED_FILES, len(stored))):
            file = stored[index * len(stored) // min(SAMPLED_FILES, len(stored))]
            languages = None if language is None else RecordLanguages(language)
            batches = open_batches([file], text_field=text_field, batch_bytes=SAMPLED_BYTES, languages=languages)
            batch = next(iter(batches), None)
            if batch is not None:
                text += sum(map(_text_bytes, (batch.documents, *(batch.by_language or {}).values())))
                read += batch.read_bytes
        total += size_bytes * text // max(1, read)
    return total


def _text_bytes(documents: Any) -> int:
    if hasattr(documents, "to_pylist"):  # an Arrow array
        documents = documents.to_pylist()
    return sum(len(document.encode() if isinstance(document, str) else document) for document in documents)
